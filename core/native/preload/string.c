/*
 * string.c: interned strings, and the absolute form of a path.
 *
 * The table maps a hash to a reference; the bytes are compared in the arena, so
 * a collision only costs a second copy. Threads race freely: an entry is one
 * 64-bit store. A forked child keeps the table, because the file is the same
 * (not in layout BLOCKS, where it is forgotten). The first entries live in a
 * page of their own: most programs have few strings.
 */
#include "internal.h"

#define FEW 128u
#define MANY 16384u
#define PROBES 4u
#define LONGEST 65536u /* a record must fit a block */

static uint64_t few[FEW]; /* hash << 32 | reference */
static uint64_t many[MANY];
static int spilled; /* `many` holds something */

static uint32_t hash_of(const char *bytes, size_t length) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

static int is_string(uint32_t ref, const char *bytes, size_t length) {
    const struct provio_string *s = pv_arena_at(ref);
    return s && s->length == length && pv_same(s->bytes, bytes, length);
}

static uint32_t known(const uint64_t *table, uint32_t size, uint32_t hash, const char *bytes, size_t length) {
    for (uint32_t i = 0; i < PROBES; i++) {
        uint64_t entry = __atomic_load_n(&table[(hash + i) % size], __ATOMIC_RELAXED);
        if (!entry) return 0;
        if (entry >> 32 == hash && is_string((uint32_t)entry, bytes, length)) return (uint32_t)entry;
    }
    return 0;
}

static int remember(uint64_t *table, uint32_t size, uint32_t hash, uint32_t ref) {
    for (uint32_t i = 0; i < PROBES; i++) {
        uint64_t none = 0, entry = (uint64_t)hash << 32 | ref;
        if (__atomic_compare_exchange_n(&table[(hash + i) % size], &none, entry, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

void pv_strings_forget(void) {
    pv_zero(few, sizeof few);
    if (spilled) pv_zero(many, sizeof many);
    spilled = 0;
}

uint32_t pv_string(struct pv_thread *t, const char *bytes, size_t length) {
    if (!bytes) return 0;
    int cut = length > LONGEST;
    if (cut) length = LONGEST;
    uint32_t hash = hash_of(bytes, length), ref = known(few, FEW, hash, bytes, length);
    if (!ref && spilled) ref = known(many, MANY, hash, bytes, length);
    if (ref) return ref;
    struct provio_string *s = pv_reserve(t, (sizeof *s + length + 15) & ~(size_t)15);
    if (!s) return 0;
    s->length = (uint32_t)length;
    pv_copy(s->bytes, bytes, length);
    pv_publish(t, s, PROVIO_REC_STRING, cut ? PROVIO_STRING_TRUNCATED : 0);
    ref = pv_ref(s);
    if (!remember(few, FEW, hash, ref)) spilled |= remember(many, MANY, hash, ref);
    return ref;
}

/* --- paths --- */

size_t pv_absolute(int dirfd, const char *path, char *out) {
    struct pv_text text = pv_text_on(out, PV_PATH);
    if (path[0] != '/') {
        long n;
        if (dirfd == AT_FDCWD) {
            n = pv_sys(SYS_getcwd, out, (long)PV_PATH) - 1;
        } else {
            char link[40];
            struct pv_text name = pv_text_on(link, sizeof link);
            pv_text_add(&name, "/proc/self/fd/");
            pv_text_number(&name, (uint64_t)(unsigned)dirfd);
            pv_text_end(&name);
            n = pv_sys(SYS_readlinkat, (long)AT_FDCWD, link, out, (long)PV_PATH);
        }
        if (n <= 0 || n >= PV_PATH - 2 || out[0] != '/') return 0;
        text.at += n;
        if (n > 1) pv_text_add(&text, "/");
    }
    pv_text_add(&text, path);
    pv_text_end(&text);
    return (size_t)(text.at - out);
}
