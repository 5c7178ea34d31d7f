/*
 * calls_copy.c: bytes that the kernel moves between descriptors, maps into
 * memory or clones. Both handles count them, and one COPY_RANGE record ties
 * them together.
 */
#include "calls_note.h"

#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

struct ends {
    int in, out;
    int64_t from, to; /* PV_AT_CURSOR: the descriptor's own offset */
    uint64_t begin;
};

static struct ends ends_of(int in, const off_t *from, int out, const off_t *to) {
    struct ends e = {in, out, from ? *from : PV_AT_CURSOR, to ? *to : PV_AT_CURSOR, 0};
    struct pv_thread *t = pv_thread();
    if (!t) return e;
    handle_of(t, in); /* before the call: an unknown descriptor is adopted as it is now */
    handle_of(t, out);
    e.begin = pv_now();
    return e;
}

static ssize_t copied(const struct ends *e, ssize_t r) {
    struct pv_thread *t = pv_thread();
    if (!t || r < 0 || !e->begin) return r;
    account_bytes(t, e->in, PV_READ, e->begin, e->from, (uint64_t)r);
    account_bytes(t, e->out, PV_WRITE, e->begin, e->to, (uint64_t)r);
    struct pv_note note = {.op = PROVIO_OP_COPY_RANGE,
                           .handle = handle_ref(t, e->in),
                           .arg = handle_ref(t, e->out),
                           .size = (uint64_t)r,
                           .result = r,
                           .begin = e->begin};
    if (r > 0) op_note(t, &note);
    return r;
}

PV_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    struct ends e = ends_of(in, offset, out, NULL);
    return copied(&e, pv_real.sendfile(out, in, offset, size));
}
PV_ALIAS(sendfile64, sendfile);

PV_EXPORT ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    struct ends e = ends_of(in, from, out, to);
    return copied(&e, pv_real.copy_file_range(in, from, out, to, size, flags));
}

PV_EXPORT ssize_t splice(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    struct ends e = ends_of(in, from, out, to);
    return copied(&e, pv_real.splice(in, from, out, to, size, flags));
}

PV_EXPORT ssize_t tee(int in, int out, size_t size, unsigned flags) {
    struct ends e = ends_of(in, NULL, out, NULL);
    return copied(&e, pv_real.tee(in, out, size, flags));
}

/* Into a pipe's writing end, or out of its reading end. */
PV_EXPORT ssize_t vmsplice(int fd, const struct iovec *iov, size_t count, unsigned flags) {
    struct pv_thread *t = pv_thread();
    long mode = t ? pv_sys(SYS_fcntl, (long)fd, (long)F_GETFL, 0L) : 0;
    int direction = (mode & O_ACCMODE) == O_RDONLY ? PV_READ : PV_WRITE;
    uint64_t begin = t ? account_begin(t, fd, direction) : 0;
    ssize_t r = pv_real.vmsplice(fd, iov, count, flags);
    account_end(fd, direction, begin, PV_AT_CURSOR, r);
    return r;
}

static void mapped(int fd, size_t size, int prot, int flags, off_t offset, int failed) {
    struct pv_thread *t = pv_thread();
    if (!t || failed) return;
    struct pv_note note = {.op = PROVIO_OP_MMAP,
                           .arg = (uint32_t)prot | (uint32_t)flags << 16,
                           .handle = handle_ref(t, fd),
                           .size = size,
                           .result = offset};
    op_note(t, &note);
}

PV_EXPORT void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset) {
    pv_thread();
    void *r = pv_real.mmap(address, size, prot, flags, fd, offset);
    if (PV_UNLIKELY(fd >= 0 && !(flags & MAP_ANONYMOUS)))
        mapped(fd, size, prot, flags, offset, r == MAP_FAILED);
    return r;
}
PV_ALIAS(mmap64, mmap);

/* Which file it is, the reader tells by the program's mappings; the call itself has only an address. */
PV_EXPORT int msync(void *address, size_t size, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_MSYNC);
    int r = pv_real.msync(address, size, flags);
    if (!t) return r;
    note.size = size;
    note.arg = (uint32_t)flags;
    note_end(&note, r);
    return r;
}

static void cloned(struct pv_thread *t, int out, unsigned long request, void *argument, int r) {
    int in =
        request == FICLONE ? (int)(intptr_t)argument : (int)((struct file_clone_range *)argument)->src_fd;
    struct pv_note note = {
        .op = PROVIO_OP_IOCTL, .handle = handle_ref(t, in), .arg = handle_ref(t, out), .result = r};
    if (request == FICLONERANGE) note.size = ((struct file_clone_range *)argument)->src_length;
    struct stat st;
    if (request == FICLONE && r == 0 && stat_fd(in, &st)) note.size = (uint64_t)st.st_size;
    op_note(t, &note);
}

PV_EXPORT int ioctl(int fd, unsigned long request, ...) {
    va_list ap;
    va_start(ap, request);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    pv_thread();
    int r = pv_real.ioctl(fd, request, argument);
    if (PV_LIKELY(request != FICLONE && request != FICLONERANGE)) return r;
    struct pv_thread *t = pv_thread();
    if (t && (request == FICLONE || argument)) cloned(t, fd, request, argument, r);
    return r;
}
