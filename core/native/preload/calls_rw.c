/*
 * calls_rw.c: read, write and their p, v and fortified forms. All are
 * cancellation points: nothing of ours is held over the real call.
 */
#include "calls.h"

static inline uint64_t begin_of(int fd, int direction) {
    struct pv_thread *t = pv_thread();
    return PV_LIKELY(t != NULL) ? account_begin(t, fd, direction) : 0;
}

PV_EXPORT ssize_t read(int fd, void *buffer, size_t size) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.read(fd, buffer, size);
    account_end(fd, PV_READ, begin, PV_AT_CURSOR, r);
    return r;
}
PV_ALIAS(__read, read);

PV_EXPORT ssize_t write(int fd, const void *buffer, size_t size) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.write(fd, buffer, size);
    account_end(fd, PV_WRITE, begin, PV_AT_CURSOR, r);
    return r;
}
PV_ALIAS(__write, write);

PV_EXPORT ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.pread(fd, buffer, size, offset);
    account_end(fd, PV_READ, begin, offset, r);
    return r;
}
PV_ALIAS(pread64, pread);
PV_ALIAS(__pread64, pread);

PV_EXPORT ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.pwrite(fd, buffer, size, offset);
    account_end(fd, PV_WRITE, begin, offset, r);
    return r;
}
PV_ALIAS(pwrite64, pwrite);
PV_ALIAS(__pwrite64, pwrite);

PV_EXPORT ssize_t readv(int fd, const struct iovec *iov, int count) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.readv(fd, iov, count);
    account_end(fd, PV_READ, begin, PV_AT_CURSOR, r);
    return r;
}

PV_EXPORT ssize_t writev(int fd, const struct iovec *iov, int count) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.writev(fd, iov, count);
    account_end(fd, PV_WRITE, begin, PV_AT_CURSOR, r);
    return r;
}

PV_EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.preadv(fd, iov, count, offset);
    account_end(fd, PV_READ, begin, offset, r);
    return r;
}
PV_ALIAS(preadv64, preadv);

PV_EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.pwritev(fd, iov, count, offset);
    account_end(fd, PV_WRITE, begin, offset, r);
    return r;
}
PV_ALIAS(pwritev64, pwritev);

/* Offset -1 means the descriptor's own. */
PV_EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.preadv2(fd, iov, count, offset, flags);
    account_end(fd, PV_READ, begin, offset == -1 ? PV_AT_CURSOR : offset, r);
    return r;
}
PV_ALIAS(preadv64v2, preadv2);

PV_EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.pwritev2(fd, iov, count, offset, flags);
    account_end(fd, PV_WRITE, begin, offset == -1 ? PV_AT_CURSOR : offset, r);
    return r;
}
PV_ALIAS(pwritev64v2, pwritev2);

PV_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.__read_chk(fd, buffer, size, room);
    account_end(fd, PV_READ, begin, PV_AT_CURSOR, r);
    return r;
}

PV_EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.__pread_chk(fd, buffer, size, offset, room);
    account_end(fd, PV_READ, begin, offset, r);
    return r;
}
PV_ALIAS(__pread64_chk, __pread_chk);

PV_EXPORT off_t lseek(int fd, off_t offset, int whence) {
    pv_thread();
    off_t r = pv_real.lseek(fd, offset, whence);
    struct pv_thread *t = pv_thread();
    if (r >= 0 && t) offset_set(t, fd, (uint64_t)r);
    return r;
}
PV_ALIAS(lseek64, lseek);
PV_ALIAS(__lseek, lseek);
