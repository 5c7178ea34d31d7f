/*
 * lookup.c: finds symbols as ld.so does, without calling it. dlsym would need
 * libc (a versioned symbol of ours), take ld.so's lock and could allocate.
 *
 * _r_debug, which ld.so exports for debuggers, leads to the list of loaded
 * objects in search order. "Next" means: behind our own entry. Reads only;
 * may be called anywhere, at the earliest by the first wrapped call.
 *
 * The weak references are the library's only undefined symbols; they have no
 * version, so that any glibc can load it. Where they are absent nothing is traced.
 */
#include <elf.h>
#include <link.h>

#include "internal.h"

extern struct r_debug pv_r_debug __asm__("_r_debug") __attribute__((weak));
extern void *pv_stack_end __asm__("__libc_stack_end") __attribute__((weak));
extern ElfW(Dyn) pv_own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

struct pv_real_table pv_real;
int (*pv_vdso_clock)(int, struct timespec *);

/* Where an object keeps its symbols; NULL fields: it has none. */
struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    const uint16_t *versions;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    ElfW(Addr) base;
};

static struct link_map *own_map(void) {
    struct link_map *map = &pv_r_debug ? pv_r_debug.r_map : NULL;
    while (map && map->l_ld != pv_own_dynamic) map = map->l_next;
    return map;
}

/* ld.so relocates the pointers in most dynamic sections, but not in read-only ones (the vDSO). */
static const void *object_address(const struct link_map *map, ElfW(Addr) value) {
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static struct symbols symbols_of(const struct link_map *map) {
    struct symbols s = {.base = map->l_addr};
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        const void *at = object_address(map, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            s.table = at;
        else if (d->d_tag == DT_STRTAB)
            s.names = at;
        else if (d->d_tag == DT_VERSYM)
            s.versions = at;
        else if (d->d_tag == DT_GNU_HASH)
            s.gnu_hash = at;
        else if (d->d_tag == DT_HASH)
            s.sysv_hash = at;
    }
    return s;
}

static uint32_t gnu_hash(const char *name) {
    uint32_t h = 5381;
    while (*name) h = h * 33 + (unsigned char)*name++;
    return h;
}

static uint32_t sysv_hash(const char *name) {
    uint32_t h = 0;
    while (*name) {
        h = (h << 4) + (unsigned char)*name++;
        h ^= h >> 24 & 0xf0;
    }
    return h & 0x0fffffff;
}

/* A definition in its default version: what a program linked today would get. */
static int is_definition(const struct symbols *s, uint32_t i, const char *name) {
    unsigned type = ELF64_ST_TYPE(s->table[i].st_info), bind = ELF64_ST_BIND(s->table[i].st_info);
    if (s->table[i].st_shndx == SHN_UNDEF || type == STT_TLS) return 0;
    if (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE) return 0;
    if (s->versions && (s->versions[i] & 0x8000)) return 0;
    return pv_equal(s->names + s->table[i].st_name, name);
}

static const ElfW(Sym) * find_gnu(const struct symbols *s, const char *name, uint32_t hash) {
    const uint32_t *h = s->gnu_hash;
    uint32_t buckets = h[0], first = h[1], bloom_words = h[2], shift = h[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(h + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
    const unsigned bits = sizeof(ElfW(Addr)) * 8;
    ElfW(Addr) word = bloom[hash / bits & (bloom_words - 1)];
    if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1)) return NULL;
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    if (i < first) return NULL;
    for (const uint32_t *chain = bucket + buckets + (i - first);; chain++, i++) {
        if ((*chain | 1) == (hash | 1) && is_definition(s, i, name)) return &s->table[i];
        if (*chain & 1) return NULL;
    }
}

static const ElfW(Sym) * find_sysv(const struct symbols *s, const char *name) {
    uint32_t buckets = s->sysv_hash[0];
    const uint32_t *bucket = s->sysv_hash + 2, *chain = bucket + buckets;
    if (!buckets) return NULL;
    for (uint32_t i = bucket[sysv_hash(name) % buckets]; i; i = chain[i])
        if (is_definition(s, i, name)) return &s->table[i];
    return NULL;
}

static void *resolve(const struct symbols *s, const ElfW(Sym) * symbol) {
    void *at = (void *)(s->base + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC) return at;
    uint64_t hwcap = 0; /* aarch64 passes AT_HWCAP with a flag that says so; x86-64 passes nothing */
    return ((void *(*)(uint64_t, void *))at)(hwcap, NULL);
}

static void *find_in(const struct symbols *s, const char *name, uint32_t hash) {
    const ElfW(Sym) *found = NULL;
    if (!s->table || !s->names) return NULL;
    if (s->gnu_hash)
        found = find_gnu(s, name, hash);
    else if (s->sysv_hash)
        found = find_sysv(s, name);
    return found ? resolve(s, found) : NULL;
}

#define NEXT_OBJECTS 256

/* The objects behind ours, most programs have fewer than ten. */
static size_t next_objects(struct symbols *out) {
    size_t n = 0;
    struct link_map *own = own_map();
    for (struct link_map *map = own ? own->l_next : NULL; map && n < NEXT_OBJECTS; map = map->l_next)
        out[n++] = symbols_of(map);
    return n;
}

static void *find_next(const struct symbols *objects, size_t n, const char *name) {
    uint32_t hash = gnu_hash(name);
    for (size_t i = 0; i < n; i++) {
        void *found = find_in(&objects[i], name, hash);
        if (found) return found;
    }
    return NULL;
}

static void find_vdso(void) {
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    for (struct link_map *map = &pv_r_debug ? pv_r_debug.r_map : NULL; map; map = map->l_next) {
        if (!map->l_name || !pv_starts(map->l_name, "linux-vdso")) continue;
        struct symbols s = symbols_of(map);
        for (int i = 0; i < 2 && !pv_vdso_clock; i++)
            pv_vdso_clock = (int (*)(int, struct timespec *))find_in(&s, names[i], gnu_hash(names[i]));
    }
}

/*
 * The names of the table's fields in their order, one after the other: text
 * needs no relocation, which an array of pointers would at every start.
 * Only stores pointers that are always the same, so two threads may race here.
 */
void pv_lookup_real(void) {
    static const char names[] =
#define PV_REAL(result, name, arguments) #name "\0"
#include "real_calls.def"
#include "real_process.def"
#undef PV_REAL
        ;
    struct symbols objects[NEXT_OBJECTS];
    size_t n = next_objects(objects);
    void **field = (void **)&pv_real;
    for (const char *name = names; *name; name += pv_length(name) + 1) *field++ = find_next(objects, n, name);
    find_vdso();
}

void *pv_lookup_global(const char *name) {
    uint32_t hash = gnu_hash(name);
    for (struct link_map *map = &pv_r_debug ? pv_r_debug.r_map : NULL; map; map = map->l_next) {
        struct symbols s = symbols_of(map);
        void *found = find_in(&s, name, hash);
        if (found) return found;
    }
    return NULL;
}

const char *pv_own_path(void) {
    struct link_map *own = own_map();
    return own && own->l_name ? own->l_name : "";
}

size_t pv_loaded_objects(char *out, size_t room, int skip, int *count) {
    struct pv_text text = pv_text_on(out, room);
    *count = 0;
    for (struct link_map *map = &pv_r_debug ? pv_r_debug.r_map : NULL; map; map = map->l_next) {
        if ((*count)++ < skip || !map->l_name || map->l_name[0] != '/' || map->l_ld == pv_own_dynamic)
            continue;
        if (text.at != out) pv_text_bytes(&text, "", 1);
        pv_text_add(&text, map->l_name);
    }
    return (size_t)(text.at - out);
}

static int is_secure(char **envp) {
    while (*envp) envp++;
    for (const ElfW(auxv_t) *aux = (const ElfW(auxv_t) *)(envp + 1); aux->a_type != AT_NULL; aux++)
        if (aux->a_type == AT_SECURE) return aux->a_un.a_val != 0;
    return 0;
}

const struct pv_start *pv_startup(void) {
    static struct pv_start start;
    if (!&pv_stack_end || !pv_stack_end || !&pv_r_debug) return NULL;
    if (!start.argv) {
        long *top = pv_stack_end;
        char **argv = (char **)(top + 1);
        start.envp = argv + top[0] + 1;
        start.secure = is_secure(start.envp);
        start.argv = argv;
    }
    return &start;
}
