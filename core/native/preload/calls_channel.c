/*
 * calls_channel.c: pipes and sockets: who wrote, who read, how much. Both ends
 * of a pipe carry its inode, which is how readers join them over processes.
 */
#include "calls_note.h"

#include <sys/socket.h>

static void piped(const int fds[2], int flags, int r) {
    struct pv_thread *t = pv_thread();
    struct stat st;
    if (r != 0 || !t) return;
    calls_opened(t, fds[0], PROVIO_KIND_PIPE, O_RDONLY | flags, 0, NULL);
    calls_opened(t, fds[1], PROVIO_KIND_PIPE, O_WRONLY | flags, 0, NULL);
    struct pv_note note = {.op = PROVIO_OP_PIPE, .handle = handle_ref(t, fds[0])};
    if (stat_fd(fds[0], &st)) note.ino = st.st_ino, note.dev = st.st_dev;
    op_note(t, &note);
}

PV_EXPORT int pipe(int fds[2]) {
    pv_thread();
    int r = pv_real.pipe(fds);
    piped(fds, 0, r);
    return r;
}

PV_EXPORT int pipe2(int fds[2], int flags) {
    pv_thread();
    int r = pv_real.pipe2(fds, flags);
    piped(fds, flags, r);
    return r;
}

PV_EXPORT int socketpair(int domain, int type, int protocol, int fds[2]) {
    pv_thread();
    int r = pv_real.socketpair(domain, type, protocol, fds);
    struct pv_thread *t = pv_thread();
    struct stat a, b;
    if (r != 0 || !t) return r;
    calls_opened(t, fds[0], PROVIO_KIND_SOCKET, O_RDWR, 0, NULL);
    calls_opened(t, fds[1], PROVIO_KIND_SOCKET, O_RDWR, 0, NULL);
    struct pv_note note = {.op = PROVIO_OP_SOCKETPAIR, .handle = handle_ref(t, fds[0])};
    if (stat_fd(fds[0], &a) && stat_fd(fds[1], &b)) {
        note.dev = a.st_dev;
        note.ino = a.st_ino;
        note.ino2 = b.st_ino;
    }
    op_note(t, &note);
    return r;
}

/* Network sockets are not opened files, but their number may have been one. */
PV_EXPORT int socket(int domain, int type, int protocol) {
    struct pv_thread *t = pv_thread();
    int fd = pv_real.socket(domain, type, protocol);
    slot_foreign(t, fd);
    return fd;
}

PV_EXPORT int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
    pv_thread();
    int made = pv_real.accept(fd, address, length);
    slot_foreign(pv_thread(), made);
    return made;
}

PV_EXPORT int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags) {
    pv_thread();
    int made = pv_real.accept4(fd, address, length, flags);
    slot_foreign(pv_thread(), made);
    return made;
}

static inline uint64_t begin_of(int fd, int direction) {
    struct pv_thread *t = pv_thread();
    return t ? account_begin(t, fd, direction) : 0;
}

PV_EXPORT ssize_t send(int fd, const void *data, size_t size, int flags) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.send(fd, data, size, flags);
    account_end(fd, PV_WRITE, begin, -1, r);
    return r;
}

PV_EXPORT ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
                         socklen_t length) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.sendto(fd, data, size, flags, address, length);
    account_end(fd, PV_WRITE, begin, -1, r);
    return r;
}

PV_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    uint64_t begin = begin_of(fd, PV_WRITE);
    ssize_t r = pv_real.sendmsg(fd, message, flags);
    account_end(fd, PV_WRITE, begin, -1, r);
    return r;
}

/* Peeked bytes are received again later. */
PV_EXPORT ssize_t recv(int fd, void *data, size_t size, int flags) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.recv(fd, data, size, flags);
    if (!(flags & MSG_PEEK)) account_end(fd, PV_READ, begin, -1, r);
    return r;
}

PV_EXPORT ssize_t recvfrom(int fd, void *restrict data, size_t size, int flags,
                           struct sockaddr *restrict address, socklen_t *restrict length) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.recvfrom(fd, data, size, flags, address, length);
    if (!(flags & MSG_PEEK)) account_end(fd, PV_READ, begin, -1, r);
    return r;
}

PV_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    uint64_t begin = begin_of(fd, PV_READ);
    ssize_t r = pv_real.recvmsg(fd, message, flags);
    if (!(flags & MSG_PEEK)) account_end(fd, PV_READ, begin, -1, r);
    return r;
}
