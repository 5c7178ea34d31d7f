/*
 * calls_stat.c: looking at files: stat, access, readlink. A look-up that fails
 * is recorded too: a file that was looked for and absent is a dependency.
 *
 * The last component is not followed for the record's path (a system call
 * more per stat); device and inode say which file it was. Looking at an open
 * descriptor asks about no name and is not recorded.
 */
#include "calls_note.h"

#include <sys/sysmacros.h>

static void looked(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path, int flags,
                   const struct stat *st, int r) {
    if (!t || !path) return;
    if (!*path && (flags & AT_EMPTY_PATH)) return;
    note_path(t, note, dirfd, path);
    if (flags & AT_SYMLINK_NOFOLLOW) note->flags |= PROVIO_OPF_NOFOLLOW;
    if (r == 0 && st) note_identity(note, st);
    note_end(note, r);
}

PV_EXPORT int stat(const char *restrict path, struct stat *restrict st) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.stat(path, st);
    looked(t, &note, AT_FDCWD, path, 0, st, r);
    return r;
}
PV_ALIAS(stat64, stat);

PV_EXPORT int lstat(const char *restrict path, struct stat *restrict st) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.lstat(path, st);
    looked(t, &note, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, st, r);
    return r;
}
PV_ALIAS(lstat64, lstat);

PV_EXPORT int fstatat(int dirfd, const char *restrict path, struct stat *restrict st, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.fstatat(dirfd, path, st, flags);
    looked(t, &note, dirfd, path, flags, st, r);
    return r;
}
PV_ALIAS(fstatat64, fstatat);

/* Before glibc 2.33 programs called these. `version` says which struct stat is meant: ours. */
int __xstat(int version, const char *path, struct stat *st);
PV_EXPORT int __xstat(int version, const char *path, struct stat *st) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.__xstat(version, path, st);
    looked(t, &note, AT_FDCWD, path, 0, st, r);
    return r;
}
PV_ALIAS(__xstat64, __xstat);

int __lxstat(int version, const char *path, struct stat *st);
PV_EXPORT int __lxstat(int version, const char *path, struct stat *st) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.__lxstat(version, path, st);
    looked(t, &note, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, st, r);
    return r;
}
PV_ALIAS(__lxstat64, __lxstat);

int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
PV_EXPORT int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.__fxstatat(version, dirfd, path, st, flags);
    looked(t, &note, dirfd, path, flags, st, r);
    return r;
}
PV_ALIAS(__fxstatat64, __fxstatat);

static void from_statx(struct stat *st, const struct statx *x) {
    pv_zero(st, sizeof *st);
    st->st_dev = makedev(x->stx_dev_major, x->stx_dev_minor);
    st->st_ino = x->stx_ino;
    st->st_mode = x->stx_mode;
    st->st_size = (off_t)x->stx_size;
    st->st_mtim.tv_sec = x->stx_mtime.tv_sec;
    st->st_mtim.tv_nsec = x->stx_mtime.tv_nsec;
    st->st_ctim.tv_sec = x->stx_ctime.tv_sec;
    st->st_ctim.tv_nsec = x->stx_ctime.tv_nsec;
}

PV_EXPORT int statx(int dirfd, const char *restrict path, int flags, unsigned mask,
                    struct statx *restrict x) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_STAT);
    int r = pv_real.statx(dirfd, path, flags, mask, x);
    struct stat st;
    int whole = r == 0 && (x->stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS;
    if (t && whole) from_statx(&st, x);
    looked(t, &note, dirfd, path, flags, whole ? &st : NULL, r);
    return r;
}

PV_EXPORT int access(const char *path, int mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_ACCESS);
    int r = pv_real.access(path, mode);
    note.arg = (uint32_t)mode;
    looked(t, &note, AT_FDCWD, path, 0, NULL, r);
    return r;
}

PV_EXPORT int faccessat(int dirfd, const char *path, int mode, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_ACCESS);
    int r = pv_real.faccessat(dirfd, path, mode, flags);
    note.arg = (uint32_t)mode;
    looked(t, &note, dirfd, path, flags, NULL, r);
    return r;
}

PV_EXPORT int euidaccess(const char *path, int mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_ACCESS);
    int r = pv_real.euidaccess(path, mode);
    note.arg = (uint32_t)mode;
    looked(t, &note, AT_FDCWD, path, 0, NULL, r);
    return r;
}
PV_ALIAS(eaccess, euidaccess);

static void link_read(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path,
                      const char *text, ssize_t r) {
    if (!t) return;
    note_path(t, note, dirfd, path);
    note->flags |= PROVIO_OPF_NOFOLLOW;
    if (r > 0) note->path2 = pv_string(t, text, (size_t)r);
    note_end(note, r);
}

PV_EXPORT ssize_t readlink(const char *restrict path, char *restrict text, size_t room) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    ssize_t r = pv_real.readlink(path, text, room);
    link_read(t, &note, AT_FDCWD, path, text, r);
    return r;
}

PV_EXPORT ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict text, size_t room) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    ssize_t r = pv_real.readlinkat(dirfd, path, text, room);
    link_read(t, &note, dirfd, path, text, r);
    return r;
}

ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room);
PV_EXPORT ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    ssize_t r = pv_real.__readlink_chk(path, text, size, room);
    link_read(t, &note, AT_FDCWD, path, text, r);
    return r;
}

ssize_t __readlinkat_chk(int dirfd, const char *path, char *text, size_t size, size_t room);
PV_EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *text, size_t size, size_t room) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    ssize_t r = pv_real.__readlinkat_chk(dirfd, path, text, size, room);
    link_read(t, &note, dirfd, path, text, r);
    return r;
}

/* Resolves links inside libc; what it answered is what was looked up. */
static void resolved(struct pv_thread *t, struct pv_note *note, const char *path, const char *real) {
    if (!t || !path) return;
    note_path(t, note, AT_FDCWD, path);
    note->path2 = name_text(t, real);
    note_end(note, real ? 0 : -1);
}

PV_EXPORT char *realpath(const char *restrict path, char *restrict out) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    char *r = pv_real.realpath(path, out);
    resolved(t, &note, path, r);
    return r;
}

char *__realpath_chk(const char *path, char *out, size_t room);
PV_EXPORT char *__realpath_chk(const char *path, char *out, size_t room) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    char *r = pv_real.__realpath_chk(path, out, room);
    resolved(t, &note, path, r);
    return r;
}

PV_EXPORT char *canonicalize_file_name(const char *path) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_READLINK);
    char *r = pv_real.canonicalize_file_name(path);
    resolved(t, &note, path, r);
    return r;
}
