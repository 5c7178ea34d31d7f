/*
 * spawn.c: posix_spawn, and the calls of libc that run a shell (system, popen,
 * wordexp). libc creates those children inside itself, so their environment is
 * passed by an exchange of `environ` around the call; other threads may see our
 * variables meanwhile, nothing else can be done without replacing the call.
 */
#include "internal.h"

static void spawned(struct pv_thread *t, const char *path, uint64_t begin, pid_t pid) {
    struct provio_op_rec *op = pv_program_op(t, path, 0);
    if (!op) return;
    op->t = begin;
    op->arg = (uint32_t)pid;
    pv_publish(t, op, PROVIO_REC_OP, PROVIO_OP_SPAWN);
}

static void spawn_failed(struct pv_thread *t, const char *path, int error) {
    struct provio_op_rec *op = t ? pv_program_op(t, path, 0) : NULL;
    if (!op) return;
    op->err = (uint16_t)error;
    op->result = -1;
    pv_publish(t, op, PROVIO_REC_OP, PROVIO_OP_SPAWN);
}

struct spawn_call {
    int searched;
    pid_t *pid;
    const char *path;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
    char *const *argv, *const *envp;
};

static int really(const struct spawn_call *c, pid_t *pid, char *const *envp) {
    return c->searched ? pv_real.posix_spawnp(pid, c->path, c->actions, c->attributes, c->argv, envp)
                       : pv_real.posix_spawn(pid, c->path, c->actions, c->attributes, c->argv, envp);
}

static int spawn(const struct spawn_call *c) {
    struct pv_thread *t = pv_thread();
    struct pv_scratch *scratch = pv_settings.enabled ? pv_scratch_new(c->envp) : NULL;
    if (!scratch) return really(c, c->pid, c->envp);
    int found = pv_program_of(c->path, c->searched, scratch->path);
    int gap = found ? pv_program_gap(AT_FDCWD, scratch->path) : 0;
    if (gap && t) pv_gap(t, (enum provio_gap)gap, scratch->path, 0);
    pid_t own;
    pid_t *pid = c->pid ? c->pid : &own;
    pv_forking();
    uint64_t begin = pv_now();
    int error = really(c, pid, pv_environ_for(scratch, c->envp, !gap));
    if (error)
        spawn_failed(t, c->path, error);
    else if (t) {
        spawned(t, scratch->path, begin, *pid);
        calls_spawn_actions(t, c->actions, begin);
    }
    pv_scratch_free(scratch);
    return error;
}

PV_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    return spawn(&(struct spawn_call){0, pid, path, actions, attributes, argv, envp});
}

PV_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    return spawn(&(struct spawn_call){1, pid, file, actions, attributes, argv, envp});
}

/* --- a shell inside libc --- */

struct exchange {
    struct pv_scratch *scratch;
    char **before;
};

static struct exchange exchange_begin(struct pv_thread *t, const char *program) {
    struct exchange e = {NULL, NULL};
    char ***place = pv_environ();
    if (!pv_settings.enabled || !place || pv_program_gap(AT_FDCWD, program)) return e;
    e.scratch = pv_scratch_new(*place);
    if (!e.scratch) return e;
    e.before = *place;
    pv_forking();
    if (t) spawned(t, program, pv_now(), 0);
    *place = (char **)pv_environ_for(e.scratch, e.before, 1);
    return e;
}

/* Somebody called setenv meanwhile: libc copied our array, so take our strings out of the copy. */
static void remove_ours(char **list, const struct pv_scratch *scratch) {
    char **out = list;
    for (; *list; list++)
        if (*list < scratch->text || *list >= scratch->text + sizeof scratch->text) *out++ = *list;
    *out = NULL;
}

static void exchange_end(struct exchange *e) {
    char ***place = pv_environ();
    if (!e->scratch) return;
    if (*place == e->scratch->envp)
        *place = e->before;
    else
        remove_ours(*place, e->scratch);
    pv_scratch_free(e->scratch);
}

PV_EXPORT int system(const char *command) {
    struct pv_thread *t = pv_thread();
    if (!command) return pv_real.system(command);
    struct exchange e = exchange_begin(t, "/bin/sh");
    int r = pv_real.system(command);
    exchange_end(&e);
    return r;
}

FILE *pv_popen(struct pv_thread *t, const char *command, const char *type) {
    struct exchange e = exchange_begin(t, "/bin/sh");
    FILE *stream = pv_real.popen(command, type);
    exchange_end(&e);
    return stream;
}

PV_EXPORT int wordexp(const char *restrict words, wordexp_t *restrict to, int flags) {
    struct pv_thread *t = pv_thread();
    int shell = !(flags & WRDE_NOCMD) && (pv_find(words, "$(") || pv_find(words, "`"));
    struct exchange e = {NULL, NULL};
    if (shell) e = exchange_begin(t, "/bin/sh");
    int r = pv_real.wordexp(words, to, flags);
    exchange_end(&e);
    return r;
}
