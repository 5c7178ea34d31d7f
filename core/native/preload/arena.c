/*
 * arena.c: the I/O file of this attempt on this node: making it, mapping it,
 * giving out blocks.
 *
 * ARENA (local file systems): all processes map one sparse file. It grows by
 * CHUNK, by writing the chunk's last byte, which no block ever covers: a write
 * cannot shrink the file that another process grew meanwhile. Blocks are
 * aligned to their size, so none crosses a window. Pages are made present
 * before use, so that a full disk is a counted drop and never SIGBUS.
 * BLOCKS (all others): a file of this image alone; the "windows" are private
 * memory and published records are written with pwrite.
 *
 * No descriptor stays open. Not here: records (record.c). Raw system calls
 * only; may run in a signal handler; two threads may race anywhere.
 */
#include <sys/statfs.h>

#include "arena.h"

#define FREE_SPACE (8ull << 20) /* left to the user */
#define BACK_OFF 50000000ull    /* ns without a new try after a failure */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct pv_arena pv_arena;
int pv_blocks;

const char *pv_arena_name(void) {
    return pv_arena.path + pv_arena.directory;
}

void pv_arena_drop(enum provio_drop reason) {
    if (!pv_arena.header) return;
    __atomic_fetch_add(&pv_arena.header->dropped_records, 1, __ATOMIC_RELAXED);
    if (!(__atomic_load_n(&pv_arena.header->drop_reasons, __ATOMIC_RELAXED) & 1ull << reason))
        __atomic_fetch_or(&pv_arena.header->drop_reasons, 1ull << reason, __ATOMIC_RELAXED);
}

int arena_failed(enum provio_drop reason) {
    pv_arena.retry_at = pv_now() + BACK_OFF;
    if (pv_arena.header && !(pv_arena.header->drop_reasons & 1ull << reason))
        __atomic_fetch_or(&pv_arena.header->drop_reasons, 1ull << reason, __ATOMIC_RELAXED);
    return 0;
}

/* A write beyond RLIMIT_FSIZE would raise SIGXFSZ in the program. */
int arena_size_allowed(uint64_t end) {
    struct rlimit64 limit;
    if (pv_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0) return 1;
    return limit.rlim_cur == RLIM64_INFINITY || end <= limit.rlim_cur;
}

int arena_open(const char *path, int flags) {
    return (int)pv_sys(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int arena_grow(int fd, uint64_t end) {
    struct statfs fs;
    struct stat st;
    end = (end + CHUNK - 1) / CHUNK * CHUNK;
    if (pv_sys(SYS_fstat, fd, &st) != 0) return arena_failed(PROVIO_DROP_UNREACHABLE);
    if ((uint64_t)st.st_size < end) {
        if (!arena_size_allowed(end)) return arena_failed(PROVIO_DROP_FSIZE);
        if (pv_sys(SYS_fstatfs, fd, &fs) == 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < FREE_SPACE)
            return arena_failed(PROVIO_DROP_NO_SPACE);
        if (pv_own_bytes(1, pv_sys(SYS_pwrite64, fd, "", 1, end - 1)) != 1)
            return arena_failed(PROVIO_DROP_NO_SPACE);
        st.st_size = (off_t)end;
    }
    pv_arena.size = (uint64_t)st.st_size;
    return 1;
}

static struct window *window_of(uint64_t offset) {
    uint32_t n = __atomic_load_n(&pv_arena.windows, __ATOMIC_ACQUIRE);
    if (n > WINDOWS) n = WINDOWS;
    for (uint32_t i = n; i-- > 0;) {
        struct window *w = &pv_arena.window[i];
        if (__atomic_load_n(&w->at, __ATOMIC_ACQUIRE) && offset >= w->offset &&
            offset < w->offset + w->length)
            return w;
    }
    return NULL;
}

static struct window *window_add(char *at, uint64_t offset, uint64_t length) {
    uint32_t i = __atomic_fetch_add(&pv_arena.windows, 1, __ATOMIC_ACQ_REL);
    if (i >= WINDOWS) {
        pv_arena.windows = WINDOWS;
        pv_sys(SYS_munmap, at, length);
        arena_failed(PROVIO_DROP_FULL);
        return NULL;
    }
    pv_arena.window[i].offset = offset;
    pv_arena.window[i].length = length;
    pv_arena.window[i].lo = ~0ull;
    __atomic_store_n(&pv_arena.window[i].at, at, __ATOMIC_RELEASE);
    return &pv_arena.window[i];
}

struct window *arena_window(int fd, uint64_t offset) {
    uint64_t length = pv_arena.small || pv_blocks ? SMALL_WINDOW : WINDOW;
    int flags = pv_blocks ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    offset = offset / length * length;
    long at = pv_sys(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE, flags, pv_blocks ? -1 : fd,
                     pv_blocks ? 0 : offset);
    if (at < 0 && at > -4096) {
        arena_failed(PROVIO_DROP_AS);
        return NULL;
    }
    if (!pv_blocks) pv_sys(SYS_madvise, at, length, MADV_DONTDUMP);
    return window_add((char *)at, offset, length);
}

/* Pages are given to us now or never. */
static int make_present(int fd, char *at, uint64_t offset, uint64_t length) {
    long r = pv_sys(SYS_madvise, at, length, MADV_POPULATE_WRITE);
    if (r == -EINVAL && fd >= 0) r = pv_sys(SYS_fallocate, fd, 0, offset, length);
    return r == 0 ? 1 : arena_failed(PROVIO_DROP_NO_SPACE);
}

/* Take the next free range: aligned to its size, not over the last page of a chunk. */
static uint64_t take_range(uint32_t length) {
    uint64_t *next = &pv_arena.header->next;
    uint64_t seen = __atomic_load_n(next, __ATOMIC_RELAXED), begin;
    do {
        begin = (seen + length - 1) / length * length;
        if ((begin + length) % CHUNK == 0) begin += length;
        if (begin + length > LIMIT) return 0;
    } while (
        !__atomic_compare_exchange_n(next, &seen, begin + length, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return begin;
}

/* Map and grow as far as the range needs it. A file descriptor lives only in here. */
static char *range_ready(uint64_t begin, uint32_t length) {
    struct window *w = window_of(begin);
    int grow = !pv_blocks && pv_arena.size < begin + length, fd = -1;
    if (pv_blocks) {
        w = w ? w : arena_window(-1, begin);
        return w ? w->at + (begin - w->offset) : NULL;
    }
    if (grow || !w) {
        fd = arena_open(pv_arena.path, O_RDWR);
        if (fd < 0) {
            arena_failed(PROVIO_DROP_UNREACHABLE);
            return NULL;
        }
    }
    int ready = !grow || arena_grow(fd, begin + length);
    if (ready && !w) w = arena_window(fd, begin);
    ready = ready && w && make_present(fd, w->at + (begin - w->offset), begin, length);
    if (fd >= 0) pv_sys(SYS_close, fd);
    if (!ready) return NULL;
    if (begin < w->lo) w->lo = begin;
    if (begin + length > w->hi) w->hi = begin + length;
    return w->at + (begin - w->offset);
}

struct provio_block *pv_arena_block(uint32_t length) {
    if (!pv_arena.header || (pv_arena.retry_at && pv_now() < pv_arena.retry_at)) return NULL;
    uint64_t begin = take_range(length);
    if (!begin) {
        arena_failed(PROVIO_DROP_FULL);
        return NULL;
    }
    struct provio_block *block = (struct provio_block *)range_ready(begin, length);
    if (block) block->length = length;
    return block;
}

void *pv_arena_at(uint32_t ref) {
    uint64_t offset = (uint64_t)ref << PROVIO_REF_SHIFT;
    struct window *w = window_of(offset);
    return w ? w->at + (offset - w->offset) : NULL;
}

/* Where memory of ours lies in the file; 0: it is not ours. */
static uint64_t offset_of(const void *at) {
    uint32_t n = __atomic_load_n(&pv_arena.windows, __ATOMIC_ACQUIRE);
    for (uint32_t i = n < WINDOWS ? n : WINDOWS; i-- > 0;) {
        const struct window *w = &pv_arena.window[i];
        uint64_t into = (uint64_t)((const char *)at - w->at);
        if (w->at && into < w->length) return w->offset + into;
    }
    return 0;
}

uint32_t pv_arena_ref(const void *rec) {
    return rec ? (uint32_t)(offset_of(rec) >> PROVIO_REF_SHIFT) : 0;
}

/* BLOCKS: bring bytes to the file, and the header of their block behind them, so that `used` never
 * promises too much. The file is opened each time: nothing stays open. */
void pv_arena_store(const struct provio_block *block, const void *from, size_t size) {
    uint64_t offset = offset_of(from), head = offset_of(block);
    if (!offset || !head) return;
    if (!arena_size_allowed(offset + size)) {
        arena_failed(PROVIO_DROP_FSIZE);
        return;
    }
    int fd = arena_open(pv_arena.path, O_WRONLY);
    if (fd < 0) {
        arena_failed(PROVIO_DROP_UNREACHABLE);
        return;
    }
    if (pv_own_bytes(1, pv_sys(SYS_pwrite64, fd, from, size, offset)) != (long)size) {
        pv_arena_drop(PROVIO_DROP_NO_SPACE);
        arena_failed(PROVIO_DROP_NO_SPACE);
    } else if ((const void *)block != from) {
        pv_own_bytes(1, pv_sys(SYS_pwrite64, fd, block, sizeof *block, head));
    }
    if (pv_arena.header->drop_reasons) pv_own_bytes(1, pv_sys(SYS_pwrite64, fd, pv_arena.header, 176, 0));
    pv_sys(SYS_close, fd);
}

/* BLOCKS: all blocks as they are now, live records included. */
void pv_arena_store_all(void) {
    uint32_t n = pv_arena.windows < WINDOWS ? pv_arena.windows : WINDOWS;
    for (uint32_t i = 0; i < n; i++) {
        const struct window *w = &pv_arena.window[i];
        if (!w->at) continue;
        for (uint64_t into = 0; into < w->length;) {
            const struct provio_block *block = (const struct provio_block *)(w->at + into);
            if (block->magic == PROVIO_BLOCK_MAGIC) pv_arena_store(block, block, block->used);
            into += block->magic == PROVIO_BLOCK_MAGIC ? block->length : PAGE;
        }
    }
}

void pv_arena_small(void) {
    pv_arena.small = 1;
}

void pv_arena_trim(void) {
    uint32_t n = pv_arena.windows < WINDOWS ? pv_arena.windows : WINDOWS;
    for (uint32_t i = 0; i < n && !pv_blocks; i++) {
        struct window *w = &pv_arena.window[i];
        if (!w->at || w->length != WINDOW || w->lo >= w->hi) continue;
        uint64_t lo = w->lo / PAGE * PAGE, end = w->offset + w->length;
        if (lo > w->offset) pv_sys(SYS_munmap, w->at, lo - w->offset);
        if (w->hi < end) pv_sys(SYS_munmap, w->at + (w->hi - w->offset), end - w->hi);
        w->length = w->hi - lo;
        w->at += lo - w->offset;
        w->offset = lo;
    }
}
