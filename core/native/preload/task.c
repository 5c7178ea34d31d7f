/*
 * task.c: for whom a thread works: the attempt that the process carried from
 * its exec, or the one that provio_task_set() named since. A change is an
 * EPOCH record. Async-signal-safe like the rest, though nobody calls it there.
 */
#include "internal.h"

uint32_t pv_image_epoch;
static struct pv_task carried;
static int carried_ok;
static __thread struct pv_task live;
static __thread enum { CARRIED = 0, LIVE, ENGINE } which;
static const struct pv_task engine; /* zero: the engine itself; run is filled when asked */

static int parse(const char *text, struct pv_task *task) {
    if (pv_length(text) != 65 || text[32] != '/') return 0;
    return pv_parse_id(text, task->run) && pv_parse_id(text + 33, task->attempt);
}

const struct pv_task *pv_task_of_thread(void) {
    if (which != CARRIED) return &live;
    if (!carried_ok) carried_ok = parse(pv_settings.value[PV_WIRE_TASK], &carried);
    return carried_ok ? &carried : NULL;
}

int pv_task_is_live(void) {
    return which != CARRIED;
}

size_t pv_task_text(const struct pv_task *task, char *out, size_t room) {
    struct pv_text text = pv_text_on(out, room);
    for (int i = 0; i < 16; i++) pv_text_hex(&text, task->run[i], 2);
    pv_text_add(&text, "/");
    for (int i = 0; i < 16; i++) pv_text_hex(&text, task->attempt[i], 2);
    pv_text_end(&text);
    return (size_t)(text.at - out);
}

uint32_t pv_epoch_write(struct pv_thread *t, const struct pv_task *task, uint32_t tid, int how) {
    struct provio_epoch *epoch = pv_reserve(t, sizeof *epoch);
    if (!epoch) return t->epoch;
    epoch->image = pv_image;
    epoch->tid = tid;
    epoch->previous = t->epoch;
    epoch->t = pv_now();
    pv_copy(epoch->run, task->run, 16);
    pv_copy(epoch->attempt, task->attempt, 16);
    pv_publish(t, epoch, PROVIO_REC_EPOCH, how ? 2 : 1);
    return pv_ref(epoch);
}

/*
 * From here on this thread works for another attempt, "<run>/<attempt>" in
 * hexadecimal, or for the engine itself (NULL). Children that it starts carry
 * it on. Returns 0, or -1 where nothing is traced or the text is no task.
 */
PV_EXPORT int provio_task_set(const char *task) {
    struct pv_thread *t = pv_thread();
    struct pv_task wanted = engine;
    if (!t || (task && !parse(task, &wanted))) return -1;
    if (!task) pv_copy(wanted.run, pv_task_of_thread()->run, 16);
    live = wanted;
    which = task ? LIVE : ENGINE;
    t->epoch = pv_epoch_write(t, &live, t->tid, 1);
    calls_epoch_changed(t);
    return 0;
}

/* The task of this thread as provio_task_set() takes it; returns its length, 0 where there is none. */
PV_EXPORT size_t provio_task_get(char *out, size_t room) {
    (void)pv_thread();
    const struct pv_task *task = pv_settings.enabled ? pv_task_of_thread() : NULL;
    return task && room > 65 ? pv_task_text(task, out, room) : 0;
}

/* The directory of the spool that this process was told to record into; returns its length or 0. */
PV_EXPORT size_t provio_spool_get(char *out, size_t room) {
    (void)pv_thread();
    const char *spool = pv_settings.value[PV_WIRE_SPOOL];
    size_t length = pv_length(spool);
    if (!pv_settings.enabled || length + 1 > room) return 0;
    pv_copy(out, spool, length + 1);
    return length;
}
