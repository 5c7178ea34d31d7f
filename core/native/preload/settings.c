/*
 * settings.c: takes LD_PRELOAD (our entry) and the PROVIO_ variables of the
 * wire out of the environment, so that no program sees them; environ.c puts
 * them back.
 *
 * Works on the array and the strings that the kernel laid out, before anything
 * else can read them. Nothing here allocates.
 */
#include <elf.h>

#include "internal.h"

static char values[12288]; /* not in the structure: that is initialised, and so would be this */
struct pv_settings pv_settings = {.value = {"", "", "", "", "", "", "", "", ""}};
const char *const pv_wire_names[PV_WIRES] = {
    "PROVIO_TASK=",   "PROVIO_SPOOL=", "PROVIO_TRACE=", "PROVIO_ARENA=", "PROVIO_ENV_ALLOW=",
    "PROVIO_REDACT=", "PROVIO_FROM=",  "PROVIO_FDS=",   "PROVIO_PAD=",
};

/* Keep the value and wipe the original, which /proc/self/environ would show. */
static int take(char *variable, struct pv_text *text) {
    for (int i = 0; i < PV_WIRES; i++) {
        if (!pv_starts(variable, pv_wire_names[i])) continue;
        size_t name = pv_length(pv_wire_names[i]), length = pv_length(variable);
        if ((size_t)(text->end - text->at) > length - name) {
            pv_settings.value[i] = text->at;
            pv_text_bytes(text, variable + name, length - name + 1);
        }
        pv_zero(variable, length);
        return 1;
    }
    return 0;
}

/* Cuts our path out of a LD_PRELOAD value in place; returns the length of what is left. */
size_t pv_preload_without_us(char *value, const char *own) {
    char *out = value;
    size_t length = pv_length(own);
    for (char *at = value; *at;) {
        size_t n = 0;
        while (at[n] && at[n] != ':' && at[n] != ' ') n++;
        char *next = at + n + (at[n] != 0);
        if (n && !(n == length && pv_same(at, own, n))) {
            if (out != value) *out++ = ':';
            for (size_t i = 0; i < n; i++) *out++ = at[i];
        }
        at = next;
    }
    size_t left = (size_t)(out - value);
    while (*out) *out++ = '\0';
    return left;
}

/*
 * Some programs find the auxiliary vector behind the environment's NULL, so no
 * hole may be left there: an even one is filled with entries to be ignored, an
 * odd one ends the vector, after which they ask /proc. (Ours are made even.)
 */
static void fill_hole(char **from, char **to) {
    size_t n = (size_t)(to - from);
    for (size_t i = 0; i < n; i++) from[i] = NULL;
    for (size_t i = 0; n % 2 == 0 && i < n; i += 2) from[i] = (char *)(uintptr_t)AT_IGNORE;
}

/* Without a task nothing is ours here, and the environment stays as it is. */
static int carries_task(char **envp) {
    for (; *envp; envp++)
        if (pv_starts(*envp, pv_wire_names[PV_WIRE_TASK])) return 1;
    return 0;
}

int pv_settings_recorded(void) {
    const char *const *value = pv_settings.value;
    return pv_settings.enabled && !pv_equal(value[PV_WIRE_ARENA], "off") &&
           !pv_equal(value[PV_WIRE_TRACE], "off");
}

void pv_settings_take(char **envp) {
    struct pv_text text = pv_text_on(values, sizeof values);
    const char *own = pv_own_path();
    char **out = envp, **at = envp;
    int preloaded = 0; /* the user's own LD_PRELOAD stood before ours */
    if (!carries_task(envp)) return;
    for (; *at; at++) {
        if (pv_starts(*at, "PROVIO_") && take(*at, &text)) continue;
        if (pv_starts(*at, "LD_PRELOAD=")) {
            if (pv_find(*at, own) && (!pv_preload_without_us(*at + 11, own) || preloaded)) {
                pv_zero(*at, pv_length(*at));
                continue;
            }
            preloaded = 1;
        }
        *out++ = *at;
    }
    *out = NULL;
    if (out != at) fill_hole(out + 1, at + 1);
    const char *const *value = pv_settings.value;
    pv_settings.enabled = value[PV_WIRE_TASK][0] && value[PV_WIRE_SPOOL][0] == '/';
    pv_full = pv_equal(value[PV_WIRE_TRACE], "full");
}
