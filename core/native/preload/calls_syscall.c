/*
 * calls_syscall.c: libc's syscall(): the number says what happened; the same
 * bookkeeping as in the wrapper of that call, around the real syscall(), which
 * is no cancellation point. Numbers that are not listed pass through.
 */
#include "calls_note.h"

#include <stdarg.h>

struct request {
    long nr, a, b, c, d, e, f;
};

static long pass(const struct request *q) {
    return pv_real.syscall(q->nr, q->a, q->b, q->c, q->d, q->e, q->f);
}

static long transfer(const struct request *q, int direction, int64_t offset) {
    struct pv_thread *t = pv_thread();
    uint64_t begin = t ? account_begin(t, (int)q->a, direction) : 0;
    long r = pass(q);
    account_end((int)q->a, direction, begin, offset, r);
    return r;
}

static long opened(const struct request *q, int dirfd, const char *path, int flags) {
    struct pv_opening o;
    opening_begin(&o, dirfd, path, flags);
    long r = pass(q);
    opening_end(&o, (int)r);
    return r;
}

static long closed(const struct request *q) {
    struct pv_thread *t = pv_thread();
    struct pv_closing c;
    if (t && slot_find((int)q->a)) {
        closing_begin(t, (int)q->a, &c);
        slot_clear(t, (int)q->a, c.known ? &c.st : NULL);
    }
    return pass(q);
}

static long closed_range(const struct request *q) {
    struct pv_thread *t = pv_thread();
    unsigned limit = (unsigned)slot_limit(), last = (unsigned)q->b;
    for (unsigned fd = (unsigned)q->a; t && !(q->c & 4) && fd <= last && fd < limit; fd++) {
        struct pv_closing c;
        closing_begin(t, (int)fd, &c);
        slot_clear(t, (int)fd, c.known ? &c.st : NULL);
    }
    return pass(q);
}

static long duplicated(const struct request *q) {
    long r = pass(q);
    struct pv_thread *t = pv_thread();
    if (!t || r < 0) return r;
    if (q->a != r) slot_foreign(t, (int)r);
    calls_duped(t, (int)q->a, (int)r);
    return r;
}

static long sought(const struct request *q) {
    long r = pass(q);
    if (r >= 0) offset_set(pv_thread(), (int)q->a, (uint64_t)r);
    return r;
}

static long removed(const struct request *q, int op, int dirfd, const char *path) {
    struct pv_note note;
    struct stat st;
    struct pv_thread *t = note_begin(&note, op);
    if (t && path && stat_at(dirfd, path, AT_SYMLINK_NOFOLLOW, &st)) note_identity(&note, &st);
    if (t) note_path(t, &note, dirfd, path);
    long r = pass(q);
    note_end(&note, r);
    return r;
}

static long renamed(const struct request *q, int from_dir, const char *from, int to_dir, const char *to,
                    unsigned flags) {
    struct pv_note note;
    struct stat st;
    struct pv_thread *t = note_begin(&note, flags & RENAME_EXCHANGE ? PROVIO_OP_EXCHANGE : PROVIO_OP_RENAME);
    if (t) {
        note_path(t, &note, from_dir, from);
        note.path2 = name_at(t, to_dir, to, PV_NOFOLLOW).path;
        if (from && stat_at(from_dir, from, AT_SYMLINK_NOFOLLOW, &st)) note_identity(&note, &st);
        if (to && stat_at(to_dir, to, AT_SYMLINK_NOFOLLOW, &st)) note.ino2 = st.st_ino;
    }
    long r = pass(q);
    note_end(&note, r);
    if (t) names_forget();
    return r;
}

static long made(const struct request *q, int op, int dirfd, const char *path) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, op);
    long r = pass(q);
    if (t) note_path(t, &note, dirfd, path);
    note_end(&note, r);
    return r;
}

static long ring(const struct request *q) {
    static char told;
    struct pv_thread *t = pv_thread();
    if (t && !__atomic_test_and_set(&told, __ATOMIC_RELAXED)) pv_gap(t, PROVIO_GAP_IO_URING, NULL, 0);
    return pass(q);
}

/* Old calls that newer machines do not have. */
static long dispatch_old(const struct request *q) {
    switch (q->nr) {
#ifdef SYS_open
    case SYS_open:
        return opened(q, AT_FDCWD, (const char *)q->a, (int)q->b);
    case SYS_creat:
        return opened(q, AT_FDCWD, (const char *)q->a, O_CREAT | O_WRONLY | O_TRUNC);
    case SYS_dup2:
        return duplicated(q);
    case SYS_unlink:
        return removed(q, PROVIO_OP_UNLINK, AT_FDCWD, (const char *)q->a);
    case SYS_rmdir:
        return removed(q, PROVIO_OP_RMDIR, AT_FDCWD, (const char *)q->a);
    case SYS_rename:
        return renamed(q, AT_FDCWD, (const char *)q->a, AT_FDCWD, (const char *)q->b, 0);
    case SYS_mkdir:
        return made(q, PROVIO_OP_MKDIR, AT_FDCWD, (const char *)q->a);
    case SYS_stat:
        return made(q, PROVIO_OP_STAT, AT_FDCWD, (const char *)q->a);
    case SYS_access:
        return made(q, PROVIO_OP_ACCESS, AT_FDCWD, (const char *)q->a);
#endif
    default:
        return pass(q);
    }
}

static long dispatch(const struct request *q) {
    switch (q->nr) {
    case SYS_read:
    case SYS_readv:
        return transfer(q, PV_READ, PV_AT_CURSOR);
    case SYS_write:
    case SYS_writev:
        return transfer(q, PV_WRITE, PV_AT_CURSOR);
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        return transfer(q, PV_READ, q->d);
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        return transfer(q, PV_WRITE, q->d);
    case SYS_openat:
        return opened(q, (int)q->a, (const char *)q->b, (int)q->c);
    case SYS_openat2:
        return opened(q, (int)q->a, (const char *)q->b, q->c ? (int)*(const uint64_t *)q->c : 0);
    case SYS_close:
        return closed(q);
    case SYS_close_range:
        return closed_range(q);
    case SYS_dup:
    case SYS_dup3:
        return duplicated(q);
    case SYS_lseek:
        return sought(q);
    case SYS_unlinkat:
        return removed(q, q->c & AT_REMOVEDIR ? PROVIO_OP_RMDIR : PROVIO_OP_UNLINK, (int)q->a,
                       (const char *)q->b);
#ifdef SYS_renameat
    case SYS_renameat:
        return renamed(q, (int)q->a, (const char *)q->b, (int)q->c, (const char *)q->d, 0);
#endif
    case SYS_renameat2:
        return renamed(q, (int)q->a, (const char *)q->b, (int)q->c, (const char *)q->d, (unsigned)q->e);
    case SYS_mkdirat:
        return made(q, PROVIO_OP_MKDIR, (int)q->a, (const char *)q->b);
    case SYS_io_uring_setup:
        return ring(q);
    case SYS_seccomp:
        if (q->a <= 1) pv_sandboxed(); /* the others only ask */
        return pass(q);
    default:
        return dispatch_old(q);
    }
}

PV_EXPORT long syscall(long nr, ...) {
    va_list ap;
    va_start(ap, nr);
    struct request q = {.nr = nr};
    q.a = va_arg(ap, long);
    q.b = va_arg(ap, long);
    q.c = va_arg(ap, long);
    q.d = va_arg(ap, long);
    q.e = va_arg(ap, long);
    q.f = va_arg(ap, long);
    va_end(ap);
    return pv_thread() ? dispatch(&q) : pass(&q);
}
