/*
 * calls_attr.c: what is said about a file beside its bytes: mode, owner,
 * times, length, extended attributes, durability.
 */
#include "calls_note.h"

#include <sys/time.h>
#include <utime.h>

/* A call that changed something about a name: its identity afterwards. */
static int changed(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path, int flags, int r) {
    struct stat st;
    if (!t) return r;
    if (flags & AT_SYMLINK_NOFOLLOW) note->flags |= PROVIO_OPF_NOFOLLOW;
    if (path)
        note_path(t, note, dirfd, path);
    else
        note_fd(t, note, dirfd);
    int known = r == 0 && (path ? stat_at(dirfd, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH), &st)
                                : stat_fd(dirfd, &st));
    uint64_t size = note->size;
    if (known) note_identity(note, &st);
    if (note->op == PROVIO_OP_TRUNCATE || note->op == PROVIO_OP_FALLOCATE) note->size = size;
    note_end(note, r);
    return r;
}

static struct pv_thread *begin(struct pv_note *note, int op, uint32_t arg) {
    struct pv_thread *t = note_begin(note, op);
    note->arg = arg;
    return t;
}

PV_EXPORT int chmod(const char *path, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHMOD, mode);
    return changed(t, &note, AT_FDCWD, path, 0, pv_real.chmod(path, mode));
}

PV_EXPORT int fchmod(int fd, mode_t mode) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHMOD, mode);
    return changed(t, &note, fd, NULL, 0, pv_real.fchmod(fd, mode));
}

PV_EXPORT int fchmodat(int dirfd, const char *path, mode_t mode, int flags) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHMOD, mode);
    return changed(t, &note, dirfd, path, flags, pv_real.fchmodat(dirfd, path, mode, flags));
}

PV_EXPORT int chown(const char *path, uid_t uid, gid_t gid) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHOWN, uid);
    return changed(t, &note, AT_FDCWD, path, 0, pv_real.chown(path, uid, gid));
}

PV_EXPORT int lchown(const char *path, uid_t uid, gid_t gid) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHOWN, uid);
    return changed(t, &note, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, pv_real.lchown(path, uid, gid));
}

PV_EXPORT int fchown(int fd, uid_t uid, gid_t gid) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHOWN, uid);
    return changed(t, &note, fd, NULL, 0, pv_real.fchown(fd, uid, gid));
}

PV_EXPORT int fchownat(int dirfd, const char *path, uid_t uid, gid_t gid, int flags) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_CHOWN, uid);
    return changed(t, &note, dirfd, path, flags, pv_real.fchownat(dirfd, path, uid, gid, flags));
}

PV_EXPORT int utime(const char *path, const struct utimbuf *times) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, AT_FDCWD, path, 0, pv_real.utime(path, times));
}

PV_EXPORT int utimes(const char *path, const struct timeval times[2]) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, AT_FDCWD, path, 0, pv_real.utimes(path, times));
}

PV_EXPORT int lutimes(const char *path, const struct timeval times[2]) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, pv_real.lutimes(path, times));
}

PV_EXPORT int futimes(int fd, const struct timeval times[2]) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, fd, NULL, 0, pv_real.futimes(fd, times));
}

PV_EXPORT int futimesat(int dirfd, const char *path, const struct timeval times[2]) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, dirfd, path, 0, pv_real.futimesat(dirfd, path, times));
}

PV_EXPORT int futimens(int fd, const struct timespec times[2]) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, fd, NULL, 0, pv_real.futimens(fd, times));
}

PV_EXPORT int utimensat(int dirfd, const char *path, const struct timespec times[2], int flags) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_UTIME, 0);
    return changed(t, &note, dirfd, path, flags, pv_real.utimensat(dirfd, path, times, flags));
}

PV_EXPORT int truncate(const char *path, off_t size) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_TRUNCATE, 0);
    note.size = (uint64_t)size;
    return changed(t, &note, AT_FDCWD, path, 0, pv_real.truncate(path, size));
}
PV_ALIAS(truncate64, truncate);

PV_EXPORT int ftruncate(int fd, off_t size) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_TRUNCATE, 0);
    note.size = (uint64_t)size;
    return changed(t, &note, fd, NULL, 0, pv_real.ftruncate(fd, size));
}
PV_ALIAS(ftruncate64, ftruncate);

PV_EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FALLOCATE, (uint32_t)mode);
    note.size = (uint64_t)(offset + length);
    return changed(t, &note, fd, NULL, 0, pv_real.fallocate(fd, mode, offset, length));
}
PV_ALIAS(fallocate64, fallocate);

/* Returns the error instead of setting errno. */
PV_EXPORT int posix_fallocate(int fd, off_t offset, off_t length) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FALLOCATE, 0);
    note.size = (uint64_t)(offset + length);
    int error = pv_real.posix_fallocate(fd, offset, length);
    if (!error) changed(t, &note, fd, NULL, 0, 0);
    return error;
}
PV_ALIAS(posix_fallocate64, posix_fallocate);

static int synced(struct pv_thread *t, struct pv_note *note, int fd, int r) {
    if (!t) return r;
    note_fd(t, note, fd);
    note_end(note, r);
    return r;
}

PV_EXPORT int fsync(int fd) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FSYNC, 0);
    return synced(t, &note, fd, pv_real.fsync(fd));
}

PV_EXPORT int fdatasync(int fd) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FSYNC, 1);
    return synced(t, &note, fd, pv_real.fdatasync(fd));
}

PV_EXPORT int syncfs(int fd) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FSYNC, 2);
    return synced(t, &note, fd, pv_real.syncfs(fd));
}

PV_EXPORT int sync_file_range(int fd, off_t offset, off_t length, unsigned flags) {
    struct pv_note note;
    struct pv_thread *t = begin(&note, PROVIO_OP_FSYNC, 3);
    return synced(t, &note, fd, pv_real.sync_file_range(fd, offset, length, flags));
}
