/*
 * calls_dir.c: listings. A listing is an input: one LISTDIR record with the
 * number of entries delivered, when the end was reached or the directory was
 * closed. Trees and patterns are walked inside libc; what their results tell
 * (each directory that was visited) is recorded.
 */
#include "calls_note.h"

#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>

static int directory_fd(DIR *dir) {
    return pv_real.dirfd(dir);
}

PV_EXPORT DIR *opendir(const char *path) {
    if (!pv_thread()) return pv_real.opendir(path);
    struct pv_opening o;
    opening_begin(&o, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = pv_real.opendir(path);
    opening_end(&o, dir ? directory_fd(dir) : -1);
    return dir;
}

static struct pv_file *listed_file(struct pv_thread *t, DIR *dir) {
    struct pv_open *open = t && dir ? handle_of(t, directory_fd(dir)) : NULL;
    return open ? open->file : NULL;
}

static void listed(struct pv_thread *t, struct pv_file *file, int fd) {
    struct pv_note note = {.op = PROVIO_OP_LISTDIR, .flags = PROVIO_OPF_DIRECTORY, .size = file->offset};
    note.handle = handle_ref(t, fd);
    file->offset = 0; /* a directory's offset is not used otherwise */
    file->bits |= PV_LISTED;
    op_note(t, &note);
}

static void read_one(DIR *dir, int more) {
    struct pv_thread *t = pv_thread();
    struct pv_file *file = listed_file(t, dir);
    if (!file) return;
    if (file->offset == PV_UNKNOWN) file->offset = 0;
    if (more)
        file->offset++, file->bits &= ~(uint32_t)PV_LISTED;
    else if (!(file->bits & PV_LISTED))
        listed(t, file, directory_fd(dir));
}

PV_EXPORT struct dirent *readdir(DIR *dir) {
    pv_thread();
    struct dirent *r = pv_real.readdir(dir);
    read_one(dir, r != NULL);
    return r;
}
PV_ALIAS(readdir64, readdir);

PV_EXPORT int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result) {
    pv_thread();
    int error = pv_real.readdir_r(dir, entry, result);
    if (!error) read_one(dir, *result != NULL);
    return error;
}
PV_ALIAS(readdir64_r, readdir_r);

PV_EXPORT int closedir(DIR *dir) {
    struct pv_thread *t = pv_thread();
    if (t) {
        int fd = directory_fd(dir);
        const struct pv_slot *slot = slot_find(fd);
        struct pv_file *file = slot ? slot->file : NULL;
        if (file && file->offset != PV_UNKNOWN && file->offset > 0 && !(file->bits & PV_LISTED))
            listed(t, file, fd);
        slot_clear(t, fd, NULL);
    }
    return pv_real.closedir(dir);
}

static void listed_at(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path, int r) {
    if (!t) return;
    note->flags |= PROVIO_OPF_DIRECTORY;
    note_path(t, note, dirfd, path);
    struct stat st;
    if (r >= 0 && path && stat_at(dirfd, path, 0, &st)) note_identity(note, &st);
    note->size = r >= 0 ? (uint64_t)r : 0;
    note_end(note, r);
}

typedef int (*filter)(const struct dirent *);
typedef int (*order)(const struct dirent **, const struct dirent **);

PV_EXPORT int scandir(const char *restrict path, struct dirent ***restrict list, filter keep, order compare) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTDIR);
    int r = pv_real.scandir(path, list, keep, compare);
    listed_at(t, &note, AT_FDCWD, path, r);
    return r;
}
PV_ALIAS(scandir64, scandir);

PV_EXPORT int scandirat(int dirfd, const char *restrict path, struct dirent ***restrict list, filter keep,
                        order compare) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTDIR);
    int r = pv_real.scandirat(dirfd, path, list, keep, compare);
    listed_at(t, &note, dirfd, path, r);
    return r;
}
PV_ALIAS(scandirat64, scandirat);

/* The directory that the first wildcard of a pattern lists, as a path. */
static void pattern_base(const char *pattern, char *out, size_t room) {
    size_t slash = 0, n = 0;
    while (pattern[n] && n + 1 < room && pattern[n] != '*' && pattern[n] != '?' && pattern[n] != '[') {
        if (pattern[n] == '/') slash = n + 1;
        n++;
    }
    pv_copy(out, pattern, slash);
    if (!slash) out[slash++] = '.';
    out[slash] = 0;
}

static void globbed(struct pv_thread *t, struct pv_note *note, const char *pattern, size_t count, int r) {
    char base[512];
    if (!t || !pattern) return;
    pattern_base(pattern, base, sizeof base);
    note->path2 = name_text(t, pattern);
    if (r == 0)
        listed_at(t, note, AT_FDCWD, base, (int)count);
    else if (r == GLOB_NOMATCH)
        listed_at(t, note, AT_FDCWD, base, 0);
}

PV_EXPORT int glob(const char *restrict pattern, int flags, int (*failed)(const char *, int),
                   glob_t *restrict result) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTDIR);
    int r = pv_real.glob(pattern, flags, failed, result);
    globbed(t, &note, pattern, r == 0 ? result->gl_pathc : 0, r);
    return r;
}
PV_ALIAS(glob64, glob);

/* The walk's callback has no room for ours: nested walks save and restore it. */
static __thread int (*ftw_visit)(const char *, const struct stat *, int);
static __thread int (*nftw_visit)(const char *, const struct stat *, int, struct FTW *);

static void visited(const char *path, const struct stat *st, int directory) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, directory ? PROVIO_OP_LISTDIR : PROVIO_OP_STAT);
    if (!t) return;
    note_path(t, &note, AT_FDCWD, path);
    if (st) note_identity(&note, st);
    if (directory) note.size = 0;
    note_end(&note, 0);
}

static int ftw_step(const char *path, const struct stat *st, int what) {
    visited(path, what == FTW_NS ? NULL : st, what == FTW_D);
    return ftw_visit(path, st, what);
}

PV_EXPORT int ftw(const char *path, int (*visit)(const char *, const struct stat *, int), int descriptors) {
    if (!pv_thread()) return pv_real.ftw(path, (void *)visit, descriptors);
    int (*outer)(const char *, const struct stat *, int) = ftw_visit;
    ftw_visit = visit;
    int r = pv_real.ftw(path, (void *)ftw_step, descriptors);
    ftw_visit = outer;
    return r;
}
PV_ALIAS(ftw64, ftw);

static int nftw_step(const char *path, const struct stat *st, int what, struct FTW *state) {
    visited(path, what == FTW_NS ? NULL : st, what == FTW_D || what == FTW_DP);
    return nftw_visit(path, st, what, state);
}

/* With FTW_CHDIR the names are relative to the start, not to where we are: not recorded. */
PV_EXPORT int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *),
                   int descriptors, int flags) {
    if (!pv_thread() || (flags & FTW_CHDIR)) return pv_real.nftw(path, (void *)visit, descriptors, flags);
    int (*outer)(const char *, const struct stat *, int, struct FTW *) = nftw_visit;
    nftw_visit = visit;
    int r = pv_real.nftw(path, (void *)nftw_step, descriptors, flags);
    nftw_visit = outer;
    return r;
}
PV_ALIAS(nftw64, nftw);

PV_EXPORT FTSENT *fts_read(FTS *tree) {
    FTSENT *e = ((void)pv_thread(), pv_real.fts_read(tree));
    if (!e || e->fts_info == FTS_DP) return e;
    visited(e->fts_accpath, e->fts_info == FTS_NS || e->fts_info == FTS_NSOK ? NULL : e->fts_statp,
            e->fts_info == FTS_D);
    return e;
}
PV_ALIAS(fts64_read, fts_read);
