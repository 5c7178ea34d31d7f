/*
 * calls_names.c: the process's memory of resolved directories: the text as
 * given -> the text without links. /proc is never kept: it differs by process.
 *
 * One table for all threads under a lock that nobody waits for: who finds it
 * taken (another thread, or a signal handler above its owner) goes without.
 */
#include "calls.h"
#include "calls_names.h"

#define ENTRIES 1024u
#define TEXT (128u * 1024)

struct entry {
    uint32_t hash;
    uint32_t key, real;               /* offsets in text */
    uint16_t key_length, real_length; /* 0: empty */
};
struct names {
    uint32_t used, text_used;
    struct entry entry[ENTRIES];
    char text[TEXT];
};
static struct names *names;
static char taken;

static int take(void) {
    return !__atomic_test_and_set(&taken, __ATOMIC_ACQUIRE);
}

static void leave(void) {
    __atomic_clear(&taken, __ATOMIC_RELEASE);
}

void names_forked(void) {
    leave(); /* its owner may be a thread that does not exist here */
}

static uint32_t hash_of(const char *text, size_t length) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static int equal(const char *a, const char *b, size_t length) {
    while (length && *a == *b) a++, b++, length--;
    return !length;
}

static struct entry *find(const char *text, size_t length, uint32_t hash) {
    uint32_t i = hash % ENTRIES;
    while (names->entry[i].key_length) {
        struct entry *e = &names->entry[i];
        if (e->hash == hash && e->key_length == length && equal(names->text + e->key, text, length)) return e;
        i = (i + 1) % ENTRIES;
    }
    return &names->entry[i];
}

size_t names_get(const char *text, size_t length, char *out, size_t room) {
    size_t n = 0;
    if (!length || length > 4096 || !names || !take()) return 0;
    struct entry *e = find(text, length, hash_of(text, length));
    if (e->key_length && e->real_length < room) {
        n = e->real_length;
        pv_copy(out, names->text + e->real, n);
        out[n] = 0;
    }
    leave();
    return n;
}

int names_is_plain(const char *text, size_t length) {
    if (!length || length > 4096 || !names || !take()) return 0;
    struct entry *e = find(text, length, hash_of(text, length));
    int plain = e->key_length && e->real_length == length && equal(names->text + e->real, text, length);
    leave();
    return plain;
}

static uint32_t keep(const char *text, size_t length) {
    uint32_t at = names->text_used;
    pv_copy(names->text + at, text, length);
    names->text_used += (uint32_t)length;
    return at;
}

void names_put(const char *text, size_t length, const char *real, size_t real_length) {
    if (!length || length > 4096 || real_length > 4096 || pv_starts(text, "/proc") ||
        pv_starts(real, "/proc"))
        return;
    if (!names) {
        struct names *fresh = calls_memory(sizeof *fresh), *none = NULL;
        if (!fresh) return;
        __atomic_compare_exchange_n(&names, &none, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    if (!take()) return;
    if (names->used > ENTRIES / 2 || names->text_used + length + real_length > TEXT) {
        pv_zero(names->entry, sizeof names->entry);
        names->used = names->text_used = 0;
    }
    uint32_t hash = hash_of(text, length);
    struct entry *e = find(text, length, hash);
    if (!e->key_length) {
        e->hash = hash;
        e->key = keep(text, length);
        e->key_length = (uint16_t)length;
        names->used++;
    }
    e->real = keep(real, real_length);
    e->real_length = (uint16_t)real_length;
    leave();
}

void names_forget(void) {
    if (!names || !take()) return;
    pv_zero(names->entry, sizeof names->entry);
    names->used = names->text_used = 0;
    leave();
}
