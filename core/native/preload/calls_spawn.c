/*
 * calls_spawn.c: the file actions of posix_spawn. libc runs them in the child,
 * unseen; so what was asked for is kept here (a fixed table, no malloc) and
 * recorded as CHILD handles when the spawn has succeeded.
 */
#include "calls_note.h"

#include <spawn.h>

#define ACTIONS 64
struct action {
    const void *of; /* posix_spawn_file_actions_t; NULL: free */
    int fd, flags;
    mode_t mode;
    char path[480];
};
static struct action actions[ACTIONS];

static void forget(const void *of) {
    for (int i = 0; i < ACTIONS; i++)
        if (actions[i].of == of) __atomic_store_n(&actions[i].of, NULL, __ATOMIC_RELEASE);
}

PV_EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict of, int fd,
                                               const char *restrict path, int flags, mode_t mode) {
    struct pv_thread *t = pv_thread();
    int error = pv_real.posix_spawn_file_actions_addopen(of, fd, path, flags, mode);
    size_t length = pv_length(path);
    if (error || !t || length >= sizeof actions[0].path) return error;
    for (int i = 0; i < ACTIONS; i++) {
        const void *none = NULL;
        if (!__atomic_compare_exchange_n(&actions[i].of, &none, (const void *)of, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        actions[i].fd = fd;
        actions[i].flags = flags;
        actions[i].mode = mode;
        pv_copy(actions[i].path, path, length + 1);
        return error;
    }
    pv_gap(t, PROVIO_GAP_LIMIT, path, 1);
    return error;
}

PV_EXPORT int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *of) {
    pv_thread();
    forget(of);
    return pv_real.posix_spawn_file_actions_destroy(of);
}

static void opened_by_action(struct pv_thread *t, const struct action *a, uint64_t begin) {
    struct pv_file file = {
        .flags = PROVIO_HANDLE_CHILD, .fd = a->fd, .oflags = (uint32_t)a->flags, .t_open = begin};
    struct stat st;
    struct pv_name name = name_at(t, AT_FDCWD, a->path, PV_FOLLOW);
    file.path = name.path;
    file.given = name.given;
    if (stat_at(AT_FDCWD, a->path, 0, &st)) file_identity(&file, &st);
    if (a->flags & O_TRUNC) file.flags |= PROVIO_HANDLE_TRUNCATED;
    struct provio_handle *h = pv_reserve(t, sizeof *h);
    if (!h) return;
    handle_template(h, &file);
    h->epoch = t->epoch;
    h->tid = t->tid;
    pv_publish(t, h, PROVIO_REC_HANDLE, (uint8_t)file.kind);
}

/* After a posix_spawn that succeeded, with its file actions (or NULL) and the time of the call. */
void calls_spawn_actions(struct pv_thread *t, const void *of, uint64_t begin) {
    for (int i = 0; of && i < ACTIONS; i++)
        if (actions[i].of == of) opened_by_action(t, &actions[i], begin);
}
