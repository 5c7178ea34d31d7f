/*
 * limits.c: calls by which a program limits itself. Our mappings must not
 * exhaust its limits, nor our system calls break its sandbox.
 */
#include <sys/prctl.h>

#include "internal.h"

PV_EXPORT int mlockall(int flags) {
    if (pv_thread()) {
        pv_arena_small();
        pv_arena_trim();
    }
    return pv_real.mlockall(flags);
}

static void before_limit(int resource, int limited) {
    if (!pv_thread() || !limited || (resource != RLIMIT_AS && resource != RLIMIT_MEMLOCK)) return;
    pv_arena_small();
    pv_arena_trim();
}

PV_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    before_limit((int)resource, limit && limit->rlim_cur != RLIM_INFINITY);
    return pv_real.setrlimit(resource, limit);
}

PV_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    before_limit((int)resource, limit && limit->rlim_cur != RLIM64_INFINITY);
    return pv_real.setrlimit64(resource, limit);
}

PV_EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit,
                      struct rlimit *old) {
    before_limit((int)resource, limit && limit->rlim_cur != RLIM_INFINITY);
    return pv_real.prlimit(pid, resource, limit, old);
}

PV_EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
                        struct rlimit64 *old) {
    before_limit((int)resource, limit && limit->rlim_cur != RLIM64_INFINITY);
    return pv_real.prlimit64(pid, resource, limit, old);
}

/* A filter may kill for system calls that only we make: what was recorded stays, the rest is a gap. */
void pv_sandboxed(void) {
    struct pv_thread *t = pv_thread();
    if (!t) return;
    pv_gap(t, PROVIO_GAP_LIMIT, NULL, 22 /* PR_SET_SECCOMP */);
    pv_stop();
}

PV_EXPORT int prctl(int option, ...) {
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    pv_thread();
    if (option == PR_SET_SECCOMP) pv_sandboxed();
    return pv_real.prctl(option, a, b, c, d);
}

static void left(const char *where, uint32_t what, int failed) {
    struct pv_thread *t = failed ? NULL : pv_thread();
    if (t) pv_gap(t, PROVIO_GAP_UNSHARED, where, what);
}

PV_EXPORT int chroot(const char *path) {
    pv_thread();
    int r = pv_real.chroot(path);
    left(path, 0, r);
    return r;
}

PV_EXPORT int unshare(int flags) {
    pv_thread();
    int r = pv_real.unshare(flags);
    left(NULL, (uint32_t)flags, r);
    return r;
}

PV_EXPORT int setns(int fd, int type) {
    pv_thread();
    int r = pv_real.setns(fd, type);
    left(NULL, (uint32_t)type, r);
    return r;
}
