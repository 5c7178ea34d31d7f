/*
 * environ.c: the environment of a program that is about to be executed: what
 * the caller gave plus, at its end, LD_PRELOAD and the PROVIO_ variables, which
 * settings.c cuts off again. A user's own LD_PRELOAD stays where it is; ld.so
 * takes the last one, which is ours with theirs behind it.
 *
 * Callable in a vfork child: the memory is its parent's, who releases it.
 */
#include "internal.h"

static __thread struct pv_scratch *current;

static size_t count(char *const envp[]) {
    size_t n = 0;
    while (envp && envp[n]) n++;
    return n;
}

struct pv_scratch *pv_scratch_new(char *const envp[]) {
    size_t size = sizeof(struct pv_scratch) + (count(envp) + PV_WIRES + 3) * sizeof(char *);
    long at = pv_sys(SYS_mmap, 0L, size, (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS),
                     -1L, 0L);
    if (at < 0 && at > -4096) return NULL;
    current = (struct pv_scratch *)at;
    current->size = size;
    return current;
}

void pv_scratch_free(struct pv_scratch *scratch) {
    if (!scratch) return;
    if (current == scratch) current = NULL;
    pv_sys(SYS_munmap, scratch, scratch->size);
}

void pv_scratch_abandoned(void) {
    pv_scratch_free(current);
}

/* What the caller gave, apart from what is ours. */
struct given {
    const char *wire[PV_WIRES];
    const char *preload;
    size_t kept;
};

static int take_wire(struct given *given, const char *variable) {
    for (int i = 0; i < PV_WIRES; i++)
        if (pv_starts(variable, pv_wire_names[i])) {
            given->wire[i] = variable + pv_length(pv_wire_names[i]);
            return 1;
        }
    return 0;
}

/* A LD_PRELOAD that names us as well (an engine put it there) is copied without us; NULL if nothing is left.
 */
static char *preload_of_user(char *variable, struct pv_text *text) {
    if (!pv_find(variable, pv_own_path())) return variable;
    char *copy = text->at;
    pv_text_add(text, variable);
    pv_text_bytes(text, "", 1);
    return text->cut || !pv_preload_without_us(copy + 11, pv_own_path()) ? NULL : copy;
}

static struct given sort_out(struct pv_scratch *scratch, char *const envp[], struct pv_text *text) {
    struct given given = {.preload = NULL};
    for (size_t i = 0; envp && envp[i]; i++) {
        char *variable = envp[i];
        if (pv_starts(variable, "PROVIO_") && take_wire(&given, variable)) continue;
        if (pv_starts(variable, "LD_PRELOAD=")) {
            variable = preload_of_user(variable, text);
            if (!variable) continue;
            given.preload = variable + 11;
        }
        scratch->envp[given.kept++] = variable;
    }
    return given;
}

static void append(struct pv_scratch *scratch, size_t *n, struct pv_text *text, const char *name,
                   const char *value) {
    scratch->envp[(*n)++] = text->at;
    pv_text_add(text, name);
    pv_text_add(text, value);
    pv_text_bytes(text, "", 1);
}

static void append_preload(struct pv_scratch *scratch, size_t *n, struct pv_text *text, const char *theirs) {
    scratch->envp[(*n)++] = text->at;
    pv_text_add(text, "LD_PRELOAD=");
    pv_text_add(text, pv_own_path());
    if (theirs && *theirs) {
        pv_text_add(text, ":");
        pv_text_add(text, theirs);
    }
    pv_text_bytes(text, "", 1);
}

/* See read_from() in process.c. */
static void append_from(struct pv_scratch *scratch, size_t *n, struct pv_text *text) {
    const struct pv_identity *who = pv_process_identity();
    uint64_t numbers[] = {pv_execs(), who->nspid, who->start_ticks, who->pidns, who->pid};
    scratch->envp[(*n)++] = text->at;
    pv_text_add(text, pv_wire_names[PV_WIRE_FROM]);
    pv_text_add(text, pv_arena_name());
    pv_text_add(text, ":");
    pv_text_hex(text, pv_image, 8);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        pv_text_add(text, ":");
        pv_text_number(text, numbers[i]);
    }
    pv_text_bytes(text, "", 1);
}

static void append_descriptors(struct pv_scratch *scratch, size_t *n, struct pv_text *text) {
    scratch->envp[(*n)++] = text->at;
    pv_text_add(text, pv_wire_names[PV_WIRE_FDS]);
    text->at += calls_handoff(text->at, (size_t)(text->end - text->at) / 2);
    pv_text_bytes(text, "", 1);
}

static void append_task(struct pv_scratch *scratch, size_t *n, struct pv_text *text, const char *given) {
    char own[80];
    const struct pv_task *task = pv_task_of_thread();
    if (!given && task && pv_task_is_live() && pv_task_text(task, own, sizeof own)) given = own;
    append(scratch, n, text, pv_wire_names[PV_WIRE_TASK], given ? given : pv_settings.value[PV_WIRE_TASK]);
}

char *const *pv_environ_for(struct pv_scratch *scratch, char *const envp[], int inject) {
    struct pv_text text = pv_text_on(scratch->text, sizeof scratch->text);
    struct given given = sort_out(scratch, envp, &text);
    size_t n = given.kept;
    if (inject) {
        append_preload(scratch, &n, &text, given.preload);
        append_task(scratch, &n, &text, given.wire[PV_WIRE_TASK]);
        for (int i = PV_WIRE_SPOOL; i <= PV_WIRE_REDACT; i++) {
            const char *value = given.wire[i] ? given.wire[i] : pv_settings.value[i];
            if (*value) append(scratch, &n, &text, pv_wire_names[i], value);
        }
        if (pv_image) append_from(scratch, &n, &text);
        if (pv_image) append_descriptors(scratch, &n, &text);
        if ((n - given.kept) % 2) append(scratch, &n, &text, pv_wire_names[PV_WIRE_PAD], "");
    }
    if (text.cut) n = given.kept; /* no room: the program runs untraced */
    scratch->envp[n] = NULL;
    return scratch->envp;
}
