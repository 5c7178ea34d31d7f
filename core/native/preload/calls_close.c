/*
 * calls_close.c: close, close_range, closefrom, dup*, fcntl: descriptors come
 * to share an open file and go away. What a file was like at its end is read
 * just before its last descriptor closes.
 */
#include "calls.h"

#include <stdarg.h>

void closing_begin(struct pv_thread *t, int fd, struct pv_closing *c) {
    c->known = 0;
    const struct pv_slot *slot = slot_find(fd);
    if (!slot || !slot->file || slot->file->refs != 1 || !slot->file->opens) return;
    if (slot->file->kind == PROVIO_KIND_FILE) c->known = stat_fd(fd, &c->st);
    if (c->known) account_check(t, fd, slot->file, &c->st);
}

/* The slot goes before the descriptor: once close returns, another thread may own the number. */
PV_EXPORT int close(int fd) {
    struct pv_thread *t = pv_thread();
    struct pv_closing c;
    if (t && slot_find(fd)) {
        closing_begin(t, fd, &c);
        slot_clear(t, fd, c.known ? &c.st : NULL);
    }
    return pv_real.close(fd);
}
PV_ALIAS(__close, close);

static void close_all(struct pv_thread *t, unsigned first, unsigned last) {
    unsigned limit = (unsigned)slot_limit();
    for (unsigned fd = first; fd <= last && fd < limit; fd++) {
        struct pv_closing c;
        if (!slot_find((int)fd)) continue;
        closing_begin(t, (int)fd, &c);
        slot_clear(t, (int)fd, c.known ? &c.st : NULL);
    }
}

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif
PV_EXPORT int close_range(unsigned first, unsigned last, int flags) {
    struct pv_thread *t = pv_thread();
    if (t && first <= last && !(flags & CLOSE_RANGE_CLOEXEC)) close_all(t, first, last);
    return pv_real.close_range(first, last, flags);
}

PV_EXPORT void closefrom(int first) {
    struct pv_thread *t = pv_thread();
    if (t) close_all(t, first < 0 ? 0 : (unsigned)first, ~0u);
    pv_real.closefrom(first);
}

void calls_duped(struct pv_thread *t, int from, int to) {
    if (from == to) return;
    struct pv_slot *slot = slot_find(from);
    if (!slot) {
        struct pv_file *adopted = file_adopt(t, from); /* its record waits for its first use */
        if (adopted) slot_set(t, from, adopted);
        slot = slot_find(from);
    }
    if (slot && slot->file)
        slot_set(t, to, slot->file);
    else
        slot_foreign(t, to);
}

PV_EXPORT int dup(int fd) {
    pv_thread();
    int made = pv_real.dup(fd);
    struct pv_thread *t = pv_thread();
    if (t && made >= 0) calls_duped(t, fd, made);
    return made;
}

static int duplicate(int from, int to, int flags, int three) {
    struct pv_thread *t = pv_thread();
    struct pv_closing c = {.known = 0};
    if (t && from != to) closing_begin(t, to, &c);
    int made = three ? pv_real.dup3(from, to, flags) : pv_real.dup2(from, to);
    if (t && made >= 0 && from != to) {
        slot_clear(t, to, c.known ? &c.st : NULL);
        calls_duped(t, from, to);
    }
    return made;
}

PV_EXPORT int dup2(int from, int to) {
    return duplicate(from, to, 0, 0);
}
PV_ALIAS(__dup2, dup2);

PV_EXPORT int dup3(int from, int to, int flags) {
    return duplicate(from, to, flags, 1);
}

static void locked(struct pv_thread *t, int fd, int type, int result) {
    struct pv_note note = {
        .op = PROVIO_OP_LOCK, .arg = (uint32_t)type, .handle = handle_ref(t, fd), .result = result};
    op_note(t, &note);
}

static void controlled(struct pv_thread *t, int fd, int command, void *argument, int result) {
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if (result >= 0) calls_duped(t, fd, result);
        break;
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        if (argument) locked(t, fd, ((struct flock *)argument)->l_type, result);
        break;
    case F_SETFL: {
        struct pv_slot *slot = slot_find(fd);
        if (result < 0 || !slot || !slot->file) break;
        if ((uintptr_t)argument & O_APPEND)
            slot->file->bits |= PV_APPEND;
        else
            slot->file->bits &= ~(uint32_t)PV_APPEND;
        break;
    }
    default:
        break;
    }
}

/* The argument is a pointer or an integer; as a pointer it is passed on whole. */
PV_EXPORT int fcntl(int fd, int command, ...) {
    va_list ap;
    va_start(ap, command);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    pv_thread();
    int r = pv_real.fcntl(fd, command, argument);
    struct pv_thread *t = pv_thread();
    if (t) controlled(t, fd, command, argument, r);
    return r;
}
PV_ALIAS(fcntl64, fcntl);
PV_ALIAS(__fcntl, fcntl);

PV_EXPORT int flock(int fd, int operation) {
    pv_thread();
    int r = pv_real.flock(fd, operation);
    struct pv_thread *t = pv_thread();
    if (t) locked(t, fd, operation | 1 << 16, r);
    return r;
}

PV_EXPORT int lockf(int fd, int command, off_t length) {
    pv_thread();
    int r = pv_real.lockf(fd, command, length);
    struct pv_thread *t = pv_thread();
    if (t) locked(t, fd, command, r);
    return r;
}
PV_ALIAS(lockf64, lockf);
