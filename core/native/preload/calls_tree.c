/*
 * calls_tree.c: names come, move and go: rename, link, symlink, unlink, mkdir,
 * rmdir, mknod, chdir. What a call removes or replaces is looked at just
 * before it, because afterwards nobody can.
 */
#include "calls_note.h"

/* Identity of a name that is about to change; tells whether names must be forgotten. */
static int identify(struct pv_note *note, int dirfd, const char *path) {
    struct stat st;
    if (!path || !stat_at(dirfd, path, AT_SYMLINK_NOFOLLOW, &st)) return 0;
    note_identity(note, &st);
    return !S_ISREG(st.st_mode);
}

static struct pv_thread *rename_begin(struct pv_note *note, int from_dir, const char *from, int to_dir,
                                      const char *to, int *forget) {
    struct pv_thread *t = note_begin(note, PROVIO_OP_RENAME);
    struct stat st;
    if (!t) return NULL;
    note->path = name_at(t, from_dir, from, PV_NOFOLLOW).path;
    note->path2 = name_at(t, to_dir, to, PV_NOFOLLOW).path;
    *forget = identify(note, from_dir, from);
    if (to && stat_at(to_dir, to, AT_SYMLINK_NOFOLLOW, &st)) note->ino2 = st.st_ino;
    return t;
}

static int renamed(struct pv_thread *t, struct pv_note *note, int forget, int r) {
    if (!t) return r;
    note_end(note, r);
    if (forget) names_forget();
    return r;
}

PV_EXPORT int rename(const char *from, const char *to) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = rename_begin(&note, AT_FDCWD, from, AT_FDCWD, to, &forget);
    return renamed(t, &note, forget, pv_real.rename(from, to));
}

PV_EXPORT int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = rename_begin(&note, from_dir, from, to_dir, to, &forget);
    return renamed(t, &note, forget, pv_real.renameat(from_dir, from, to_dir, to));
}

PV_EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = rename_begin(&note, from_dir, from, to_dir, to, &forget);
    note.arg = flags;
    if (t && (flags & RENAME_EXCHANGE)) note.op = PROVIO_OP_EXCHANGE;
    return renamed(t, &note, forget || (flags & RENAME_EXCHANGE),
                   pv_real.renameat2(from_dir, from, to_dir, to, flags));
}

/* N of "/proc/self/fd/N" or "/dev/fd/N"; -1: something else. */
static int fd_of_path(const char *path) {
    const char *at = pv_starts(path, "/proc/self/fd/") ? path + 14
                     : pv_starts(path, "/dev/fd/")     ? path + 8
                                                       : NULL;
    int fd = 0;
    if (!at || !*at) return -1;
    for (; *at; at++) {
        if (*at < '0' || *at > '9' || fd > 100000000) return -1;
        fd = fd * 10 + (*at - '0');
    }
    return fd;
}

static void linked(struct pv_thread *t, struct pv_note *note, int from_dir, const char *from, int to_dir,
                   const char *to, int flags, int r) {
    if (!t) return;
    struct stat st;
    int fd = (flags & AT_EMPTY_PATH) && from && !*from ? from_dir : from ? fd_of_path(from) : -1;
    if (fd >= 0) {
        note_fd(t, note, fd);
        note->path = name_of_fd(t, fd).path;
    } else {
        note_path(t, note, from_dir, from);
    }
    note->path2 = name_at(t, to_dir, to, PV_NOFOLLOW).path;
    if (r == 0 && stat_at(to_dir, to, AT_SYMLINK_NOFOLLOW, &st)) note_identity(note, &st);
    note_end(note, r);
}

PV_EXPORT int link(const char *from, const char *to) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LINK);
    int r = pv_real.link(from, to);
    linked(t, &note, AT_FDCWD, from, AT_FDCWD, to, 0, r);
    return r;
}

PV_EXPORT int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LINK);
    int r = pv_real.linkat(from_dir, from, to_dir, to, flags);
    linked(t, &note, from_dir, from, to_dir, to, flags, r);
    return r;
}

static void symlinked(struct pv_thread *t, struct pv_note *note, const char *text, int dirfd,
                      const char *path, int r) {
    if (!t) return;
    struct stat st;
    note->path = name_text(t, text);
    note->path2 = name_at(t, dirfd, path, PV_NOFOLLOW).path;
    note->flags |= PROVIO_OPF_NOFOLLOW;
    if (r == 0 && stat_at(dirfd, path, AT_SYMLINK_NOFOLLOW, &st)) note->ino2 = st.st_ino;
    note_end(note, r);
}

PV_EXPORT int symlink(const char *text, const char *path) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_SYMLINK);
    int r = pv_real.symlink(text, path);
    symlinked(t, &note, text, AT_FDCWD, path, r);
    return r;
}

PV_EXPORT int symlinkat(const char *text, int dirfd, const char *path) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_SYMLINK);
    int r = pv_real.symlinkat(text, dirfd, path);
    symlinked(t, &note, text, dirfd, path, r);
    return r;
}

static struct pv_thread *removal_begin(struct pv_note *note, int op, int dirfd, const char *path,
                                       int *forget) {
    struct pv_thread *t = note_begin(note, op);
    if (!t) return NULL;
    note->flags |= PROVIO_OPF_NOFOLLOW;
    *forget = identify(note, dirfd, path);
    note_path(t, note, dirfd, path);
    return t;
}

PV_EXPORT int unlink(const char *path) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = removal_begin(&note, PROVIO_OP_UNLINK, AT_FDCWD, path, &forget);
    return renamed(t, &note, forget, pv_real.unlink(path));
}

PV_EXPORT int unlinkat(int dirfd, const char *path, int flags) {
    struct pv_note note;
    int forget = 0, op = flags & AT_REMOVEDIR ? PROVIO_OP_RMDIR : PROVIO_OP_UNLINK;
    struct pv_thread *t = removal_begin(&note, op, dirfd, path, &forget);
    return renamed(t, &note, forget, pv_real.unlinkat(dirfd, path, flags));
}

PV_EXPORT int rmdir(const char *path) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = removal_begin(&note, PROVIO_OP_RMDIR, AT_FDCWD, path, &forget);
    return renamed(t, &note, forget, pv_real.rmdir(path));
}

/* Removes a file or an empty directory: which of them, the identity says. */
PV_EXPORT int remove(const char *path) {
    struct pv_note note;
    int forget = 0;
    struct pv_thread *t = removal_begin(&note, PROVIO_OP_UNLINK, AT_FDCWD, path, &forget);
    if (t && (note.flags & PROVIO_OPF_DIRECTORY)) note.op = PROVIO_OP_RMDIR;
    return renamed(t, &note, forget, pv_real.remove(path));
}

/* A name that a call has just made. */
static void made(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path, uint32_t mode,
                 int r) {
    if (!t) return;
    struct stat st;
    note->arg = mode;
    note_path(t, note, dirfd, path);
    if (r == 0 && stat_at(dirfd, path, AT_SYMLINK_NOFOLLOW, &st)) note_identity(note, &st);
    note_end(note, r);
}

PV_EXPORT int mkdir(const char *path, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKDIR);
    int r = pv_real.mkdir(path, mode);
    made(t, &note, AT_FDCWD, path, mode, r);
    return r;
}

PV_EXPORT int mkdirat(int dirfd, const char *path, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKDIR);
    int r = pv_real.mkdirat(dirfd, path, mode);
    made(t, &note, dirfd, path, mode, r);
    return r;
}

PV_EXPORT char *mkdtemp(char *template) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKDIR);
    char *r = pv_real.mkdtemp(template);
    made(t, &note, AT_FDCWD, template, 0700, r ? 0 : -1);
    return r;
}

PV_EXPORT int mkfifo(const char *path, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKNOD);
    int r = pv_real.mkfifo(path, mode);
    made(t, &note, AT_FDCWD, path, mode | S_IFIFO, r);
    return r;
}

PV_EXPORT int mkfifoat(int dirfd, const char *path, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKNOD);
    int r = pv_real.mkfifoat(dirfd, path, mode);
    made(t, &note, dirfd, path, mode | S_IFIFO, r);
    return r;
}

PV_EXPORT int mknod(const char *path, mode_t mode, dev_t device) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKNOD);
    int r = pv_real.mknod(path, mode, device);
    made(t, &note, AT_FDCWD, path, mode, r);
    return r;
}

PV_EXPORT int mknodat(int dirfd, const char *path, mode_t mode, dev_t device) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MKNOD);
    int r = pv_real.mknodat(dirfd, path, mode, device);
    made(t, &note, dirfd, path, mode, r);
    return r;
}

static void entered(struct pv_thread *t, struct pv_note *note, int fd, int r) {
    if (!t) return;
    note->path = r == 0 ? name_at(t, AT_FDCWD, ".", PV_NOFOLLOW).path : 0;
    if (!note->path && fd >= 0) note->path = name_of_fd(t, fd).path;
    note_end(note, r);
}

PV_EXPORT int chdir(const char *path) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_CHDIR);
    if (t) note.path2 = name_at(t, AT_FDCWD, path, PV_NOFOLLOW).path;
    int r = pv_real.chdir(path);
    if (t && r != 0)
        note.path = note.path2, note_end(&note, r);
    else
        entered(t, &note, -1, r);
    return r;
}

PV_EXPORT int fchdir(int fd) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_CHDIR);
    int r = pv_real.fchdir(fd);
    entered(t, &note, fd, r);
    return r;
}
