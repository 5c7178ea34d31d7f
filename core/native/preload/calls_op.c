/*
 * calls_op.c: one OP record from a filled-in note, and the raw stat calls that
 * give operations their identity. Also for vfork children, whose records go to
 * the suspended parent's thread with PROVIO_OPF_CHILD.
 */
#include "calls.h"

struct pv_thread *op_thread(uint16_t *flags) {
    struct pv_thread *t = pv_thread();
    *flags = 0;
    if (PV_LIKELY(t != NULL)) return t;
    t = pv_vforked();
    if (t) *flags = PROVIO_OPF_CHILD;
    return t;
}

void note_identity(struct pv_note *note, const struct stat *st) {
    note->flags |= PROVIO_OPF_IDENTITY;
    if (S_ISDIR(st->st_mode)) note->flags |= PROVIO_OPF_DIRECTORY;
    note->dev = st->st_dev;
    note->ino = st->st_ino;
    note->size = (uint64_t)st->st_size;
    note->mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    note->ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

void op_note(struct pv_thread *t, const struct pv_note *note) {
    struct provio_op_rec *op = pv_reserve(t, sizeof *op);
    if (!op) return;
    uint64_t now = pv_now();
    op->err = note->result < 0 ? (uint16_t)pv_errno() : 0;
    op->flags = note->flags;
    op->t = now;
    op->dur = note->begin ? (uint32_t)(now - note->begin > UINT32_MAX ? UINT32_MAX : now - note->begin) : 0;
    op->arg = note->arg;
    op->path = note->path;
    op->path2 = note->path2;
    op->handle = note->handle;
    op->result = note->result;
    op->dev = note->dev;
    op->ino = note->ino;
    op->ino2 = note->ino2;
    op->size = note->size;
    op->mtime = note->mtime;
    op->ctime = note->ctime;
    pv_publish(t, op, PROVIO_REC_OP, note->op);
}

/* The kernel's struct stat is libc's on the machines that we support. */
int stat_at(int dirfd, const char *path, int flags, struct stat *st) {
    return pv_sys(SYS_newfstatat, (long)dirfd, path, st, (long)flags) == 0;
}

int stat_fd(int fd, struct stat *st) {
    return pv_sys(SYS_fstat, (long)fd, st) == 0;
}
