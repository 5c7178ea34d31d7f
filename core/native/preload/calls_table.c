/*
 * calls_table.c: which open file is behind which descriptor, and the private
 * memory that this needs. Nothing here is in the arena.
 *
 * Signal- and fork-safe. Threads: a slot is written by the thread that opens
 * or closes the descriptor; its key is stored last, so a reader sees either
 * nothing or the whole. Memory is never unmapped and goes back to the pool of
 * the thread that freed it, first in first out, so that a thread that closes a
 * file under another thread's read cannot make that thread write elsewhere.
 */
#include "calls.h"

#include <sys/mman.h>

static struct pv_slot first_chunk[PV_SLOTS];
struct pv_slot *pv_slots[PV_CHUNKS] = {first_chunk};
uint32_t pv_forks;
static int highest = -1; /* descriptor that was ever known */

#define POOL_CHUNK (64 * 1024)
struct pool {
    char *at, *end;
    struct pv_file *oldest_file, *newest_file;
    struct pv_open *oldest_open, *newest_open;
    unsigned files, opens;
};
#define POOL_QUARANTINE 64
static __thread struct pool pool;

static void *map_pages(size_t size) {
    long at = pv_sys(SYS_mmap, 0L, (long)size, (long)(PROT_READ | PROT_WRITE),
                     (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

void *calls_memory(size_t size) {
    size = (size + 63) & ~(size_t)63;
    if (size > POOL_CHUNK) return map_pages(size);
    if (!pool.at || pool.at + size > pool.end) {
        char *chunk = map_pages(POOL_CHUNK);
        if (!chunk) return NULL;
        pool.at = chunk;
        pool.end = chunk + POOL_CHUNK;
    }
    void *taken = pool.at;
    pool.at += size;
    return taken;
}

struct pv_file *file_new(void) {
    struct pv_file *file = pool.oldest_file;
    if (pool.files <= POOL_QUARANTINE || !file) return calls_memory(sizeof *file);
    pool.oldest_file = file->next;
    pool.files--;
    pv_zero(file, sizeof *file);
    return file;
}

static void file_free(struct pv_file *file) {
    file->next = NULL;
    if (pool.newest_file)
        pool.newest_file->next = file;
    else
        pool.oldest_file = file;
    pool.newest_file = file;
    pool.files++;
}

struct pv_open *open_new(void) {
    struct pv_open *open = pool.oldest_open;
    if (pool.opens <= POOL_QUARANTINE || !open) return calls_memory(sizeof *open);
    pool.oldest_open = open->next;
    pool.opens--;
    pv_zero(open, sizeof *open);
    return open;
}

static void open_free(struct pv_open *open) {
    open->next = NULL;
    if (pool.newest_open)
        pool.newest_open->next = open;
    else
        pool.oldest_open = open;
    pool.newest_open = open;
    pool.opens++;
}

struct pv_slot *slot_of(int fd) {
    unsigned n = (unsigned)fd;
    if (n >= PV_SLOTS * PV_CHUNKS) return NULL;
    struct pv_slot **place = &pv_slots[n / PV_SLOTS];
    if (!*place) {
        struct pv_slot *chunk = map_pages(PV_SLOTS * sizeof(struct pv_slot));
        struct pv_slot *none = NULL;
        if (!chunk) return NULL;
        if (!__atomic_compare_exchange_n(place, &none, chunk, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            pv_sys(SYS_munmap, (long)chunk, (long)(PV_SLOTS * sizeof(struct pv_slot)));
    }
    return *place + n % PV_SLOTS;
}

struct pv_slot *slot_find(int fd) {
    unsigned n = (unsigned)fd;
    if (n >= PV_SLOTS * PV_CHUNKS || !pv_slots[n / PV_SLOTS]) return NULL;
    struct pv_slot *slot = pv_slots[n / PV_SLOTS] + n % PV_SLOTS;
    return slot->key ? slot : NULL;
}

void file_release(struct pv_thread *t, struct pv_file *file, const struct stat *st) {
    if (__atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    for (struct pv_open *open = file->opens, *next; open; open = next) {
        next = open->next;
        handle_finish(t, open, st);
        open_free(open);
    }
    file->opens = NULL;
    file_free(file);
}

void slot_clear(struct pv_thread *t, int fd, const struct stat *st) {
    struct pv_slot *slot = slot_find(fd);
    if (!slot) return;
    struct pv_file *file = slot->file;
    __atomic_store_n(&slot->key, 0, __ATOMIC_RELEASE);
    slot->file = NULL;
    slot->stream = NULL;
    if (file) file_release(t, file, st);
}

void slot_set(struct pv_thread *t, int fd, struct pv_file *file) {
    struct pv_slot *slot = slot_of(fd);
    __atomic_add_fetch(&file->refs, 1, __ATOMIC_ACQ_REL);
    if (!slot) {
        pv_gap(t, PROVIO_GAP_LIMIT, NULL, (uint32_t)fd);
        file_release(t, file, NULL);
        return;
    }
    if (slot->key) slot_clear(t, fd, NULL); /* closed behind our back */
    if (fd > highest) highest = fd;
    slot->file = file;
    slot->stream = NULL;
    slot->counted = 0;
    slot->generation++;
    uint64_t key = (uint64_t)slot->generation << 32 | ((uint32_t)fd + 1);
    __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
}

void slot_foreign(struct pv_thread *t, int fd) {
    if (fd >= 0 && t && slot_find(fd)) slot_clear(t, fd, NULL);
}

int slot_limit(void) {
    return highest + 1;
}
