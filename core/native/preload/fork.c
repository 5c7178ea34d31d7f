/*
 * fork.c: the calls that copy or end a process. A fork leaves no record in the
 * parent; the child's image record, made at its first use, says when it was.
 * vfork is vfork.S.
 */
#include <sched.h>

#include "internal.h"

static pid_t in_child(pid_t pid) {
    if (pid == 0) pv_forked_child();
    return pid;
}

PV_EXPORT pid_t fork(void) {
    pv_thread();
    pv_forking();
    return in_child(pv_real.fork());
}

PV_EXPORT pid_t __fork(void) {
    return fork();
}

PV_EXPORT pid_t _Fork(void) {
    pv_thread();
    pv_forking();
    if (pv_real._Fork) return in_child(pv_real._Fork());
    return in_child(pv_real.fork());
}

PV_EXPORT pid_t forkpty(int *terminal, char *name, const void *settings, const void *size) {
    pv_thread();
    pv_forking();
    return in_child(pv_real.forkpty(terminal, name, settings, size));
}

PV_EXPORT int daemon(int no_chdir, int no_close) {
    pv_thread();
    pv_forking();
    int r = pv_real.daemon(no_chdir, no_close);
    pv_forked_child();
    return r;
}

/* int clone(int (*fn)(void *), void *stack, int flags, void *arg, pid_t *parent, void *tls, pid_t *child) */
PV_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...) {
    va_list list;
    va_start(list, argument);
    void *parent = va_arg(list, void *), *tls = va_arg(list, void *), *child = va_arg(list, void *);
    va_end(list);
    pv_thread();
    pv_forking();
    int shared = (flags & CLONE_VM) && (flags & CLONE_VFORK) && !(flags & CLONE_SETTLS);
    if (shared) pv_vfork_enter();
    int r = pv_real.clone(function, stack, flags, argument, parent, tls, child);
    if (shared) pv_vfork_leave();
    return r;
}

PV_EXPORT __attribute__((noreturn)) void _exit(int status) {
    pv_thread();
    pv_process_end(PROVIO_END_EXIT, status);
    for (;;) pv_real._exit(status);
}

PV_EXPORT __attribute__((noreturn)) void _Exit(int status) {
    _exit(status);
}

PV_EXPORT __attribute__((noreturn)) void quick_exit(int status) {
    pv_thread();
    pv_process_end(PROVIO_END_EXIT, status);
    for (;;) pv_real.quick_exit(status);
}
