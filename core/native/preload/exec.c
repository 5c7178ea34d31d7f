/*
 * exec.c: the exec family. Before the call: is the program one that can take
 * our library, the OP_EXEC record, the end of this image, the environment.
 * After a failed call: say so.
 *
 * Runs in vfork children too: there only records are written, in the parent's
 * name, and the image does not end.
 */
#include <unistd.h>

#include "internal.h"

enum exec_kind { BY_PATH, BY_SEARCH, BY_FD, AT_DIRECTORY };

struct exec_call {
    enum exec_kind kind;
    int dirfd, flags;
    const char *path;
    char *const *argv, *const *envp;
};

char ***pv_environ(void) {
    static char ***place;
    if (!place) place = pv_lookup_global("__environ");
    if (!place) place = pv_lookup_global("environ");
    return place;
}

static char *const *own_environment(void) {
    return pv_environ() ? *pv_environ() : NULL;
}

static int raw_execveat(const struct exec_call *call, char *const *envp) {
    const char *path = call->kind == BY_FD ? "" : call->path;
    int flags = call->kind == BY_FD ? AT_EMPTY_PATH : call->flags;
    return pv_fail((int)-pv_sys(SYS_execveat, (long)call->dirfd, path, call->argv, envp, (long)flags));
}

static int really(const struct exec_call *call, char *const *envp) {
    switch (call->kind) {
    case BY_PATH:
        return pv_real.execve(call->path, call->argv, envp);
    case BY_SEARCH:
        return pv_real.execvpe(call->path, call->argv, envp);
    case BY_FD:
        if (pv_real.fexecve) return pv_real.fexecve(call->dirfd, call->argv, envp);
        break;
    case AT_DIRECTORY:
        if (pv_real.execveat) return pv_real.execveat(call->dirfd, call->path, call->argv, envp, call->flags);
        break;
    }
    return raw_execveat(call, envp);
}

static int is_program(int dirfd, const char *path) {
    return pv_sys(SYS_faccessat, (long)dirfd, path, 1L /* X_OK */) == 0;
}

/* As execvp looks for it: PATH, or the system's default. */
static int search(const char *name, char *out) {
    const char *path = "/bin:/usr/bin";
    for (char *const *at = own_environment(); at && *at; at++)
        if (pv_starts(*at, "PATH=")) path = *at + 5;
    for (;;) {
        struct pv_text text = pv_text_on(out, PV_PATH);
        size_t n = 0;
        while (path[n] && path[n] != ':') n++;
        pv_text_bytes(&text, path, n);
        if (n) pv_text_add(&text, "/");
        pv_text_add(&text, name);
        pv_text_end(&text);
        if (!text.cut && is_program(AT_FDCWD, out)) return 1;
        if (!path[n]) return 0;
        path += n + 1;
    }
}

int pv_program_of(const char *file, int searched, char *out) {
    struct pv_text text = pv_text_on(out, PV_PATH);
    if (searched && !pv_find(file, "/")) return search(file, out);
    pv_text_add(&text, file);
    pv_text_end(&text);
    return !text.cut && is_program(AT_FDCWD, out);
}

static int locate(const struct exec_call *call, char *out) {
    if (call->kind == BY_FD) {
        struct pv_text text = pv_text_on(out, PV_PATH);
        pv_text_add(&text, "/proc/self/fd/");
        pv_text_number(&text, (uint64_t)(unsigned)call->dirfd);
        pv_text_end(&text);
        return 1;
    }
    if (call->kind == AT_DIRECTORY)
        return pv_absolute(call->dirfd, call->path, out) && is_program(AT_FDCWD, out);
    return pv_program_of(call->path, call->kind == BY_SEARCH, out);
}

struct provio_op_rec *pv_program_op(struct pv_thread *t, const char *path, int child) {
    char absolute[PV_PATH];
    size_t length = path ? pv_absolute(AT_FDCWD, path, absolute) : 0;
    uint32_t name = length ? pv_string(t, absolute, length) : 0;
    struct provio_op_rec *op = pv_op(t);
    if (!op) return NULL;
    op->path = name;
    op->t = pv_now();
    op->flags = child ? PROVIO_OPF_CHILD : 0;
    return op;
}

/* A program that was looked for and is not there: a failed look-up, no exec to prepare. */
static int absent(const struct exec_call *call, struct pv_thread *t, struct pv_thread *parent) {
    int r = really(call, call->envp), error = pv_errno();
    struct pv_thread *by = t ? t : parent;
    struct provio_op_rec *op = by && call->path ? pv_program_op(by, call->path, !t) : NULL;
    if (op) {
        op->err = (uint16_t)error;
        op->result = -1;
        pv_publish(by, op, PROVIO_REC_OP, PROVIO_OP_EXEC);
    }
    pv_fail(error);
    return r;
}

static int failed(struct pv_thread *t, struct pv_thread *by, struct provio_op_rec *op, int r) {
    int error = pv_errno();
    if (op) {
        __atomic_store_n(&op->err, (uint16_t)error, __ATOMIC_RELAXED);
        __atomic_store_n(&op->result, -1, __ATOMIC_RELAXED);
        pv_touched(by, op, sizeof *op);
    }
    if (t) pv_process_end(PROVIO_END_FAILED_EXEC, -1);
    pv_fail(error);
    return r;
}

static int execute(const struct exec_call *call) {
    struct pv_thread *t = pv_thread(), *parent = t ? NULL : pv_vforked(), *by = t ? t : parent;
    struct pv_scratch *scratch = pv_settings.enabled ? pv_scratch_new(call->envp) : NULL;
    if (!scratch) return really(call, call->envp);
    if (!locate(call, scratch->path)) {
        pv_scratch_free(scratch);
        return absent(call, t, parent);
    }
    int gap = call->kind == BY_FD ? pv_program_gap(call->dirfd, "") : pv_program_gap(AT_FDCWD, scratch->path);
    if (gap && by) pv_gap(by, (enum provio_gap)gap, scratch->path, 0);
    struct provio_op_rec *op = by ? pv_program_op(by, scratch->path, !t) : NULL;
    if (op) pv_publish(by, op, PROVIO_REC_OP, PROVIO_OP_EXEC);
    if (t) pv_process_end(PROVIO_END_EXEC, -1);
    int r = really(call, pv_environ_for(scratch, call->envp, !gap));
    r = failed(t, by, op, r);
    pv_scratch_free(scratch);
    return r;
}

PV_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    return execute(&(struct exec_call){BY_PATH, AT_FDCWD, 0, path, argv, envp});
}

PV_EXPORT int execv(const char *path, char *const argv[]) {
    return execute(&(struct exec_call){BY_PATH, AT_FDCWD, 0, path, argv, own_environment()});
}

PV_EXPORT int execvp(const char *file, char *const argv[]) {
    return execute(&(struct exec_call){BY_SEARCH, AT_FDCWD, 0, file, argv, own_environment()});
}

PV_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    return execute(&(struct exec_call){BY_SEARCH, AT_FDCWD, 0, file, argv, envp});
}

PV_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    return execute(&(struct exec_call){BY_FD, fd, 0, NULL, argv, envp});
}

PV_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags) {
    if ((flags & AT_EMPTY_PATH) && path && !*path)
        return execute(&(struct exec_call){BY_FD, dirfd, flags, NULL, argv, envp});
    return execute(&(struct exec_call){AT_DIRECTORY, dirfd, flags, path, argv, envp});
}

static size_t count_arguments(va_list list) {
    size_t n = 1;
    while (va_arg(list, char *)) n++;
    return n;
}

/* argv from a variable argument list; the array has room for what count_arguments() said. */
static void collect(char **argv, const char *first, va_list list) {
    *argv++ = (char *)first;
    if (!first) return;
    while ((*argv++ = va_arg(list, char *))) continue;
}

PV_EXPORT int execl(const char *path, const char *argument, ...) {
    va_list list, again;
    va_start(list, argument);
    va_copy(again, list);
    char *argv[(argument ? count_arguments(list) : 0) + 2];
    collect(argv, argument, again);
    va_end(again);
    va_end(list);
    return execute(&(struct exec_call){BY_PATH, AT_FDCWD, 0, path, argv, own_environment()});
}

PV_EXPORT int execlp(const char *file, const char *argument, ...) {
    va_list list, again;
    va_start(list, argument);
    va_copy(again, list);
    char *argv[(argument ? count_arguments(list) : 0) + 2];
    collect(argv, argument, again);
    va_end(again);
    va_end(list);
    return execute(&(struct exec_call){BY_SEARCH, AT_FDCWD, 0, file, argv, own_environment()});
}

PV_EXPORT int execle(const char *path, const char *argument, ...) {
    va_list list, again;
    va_start(list, argument);
    va_copy(again, list);
    char *argv[(argument ? count_arguments(list) : 0) + 2];
    collect(argv, argument, again);
    va_end(again);
    va_end(list);
    va_start(list, argument);
    if (argument)
        while (va_arg(list, char *)) continue;
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execute(&(struct exec_call){BY_PATH, AT_FDCWD, 0, path, argv, envp});
}
