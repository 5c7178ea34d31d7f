/*
 * thread.c: who is calling: the thread's state, blocks and records.
 *
 * A record is reserved by one instruction on thread-local memory, so that a
 * signal handler may record between any two of ours; it is complete when its
 * type byte is stored. `busy` marks the few lines that switch blocks: a handler
 * that interrupts them drops its record and counts it.
 *
 * After fork the page behind pv_generation is zero (MADV_WIPEONFORK), so the
 * first call in the child takes the slow path and begins a new image.
 */
#include "internal.h"

#include <sys/mman.h>

enum pv_state pv_state;
int pv_full;
uint32_t pv_image;

/*
 * A thread's `generation` is the page's plus one, so that neither a fresh
 * thread (0) nor a page that fork has wiped (0) matches anything by chance.
 */
static uint64_t never = 1ull << 63;
uint64_t *pv_generation = &never;
static uint64_t last_generation;
static uint32_t starter; /* a thread is beginning the image */
static int born;         /* 1: some thread is at it or was */
static uint64_t fork_time;
static __thread uint64_t thread_fork_time;
static __thread struct pv_thread self;

struct pv_thread *pv_self(void) {
    return &self;
}

int pv_errno(void) {
    return pv_real.__errno_location ? *pv_real.__errno_location() : 0;
}

int pv_fail(int error) {
    if (pv_real.__errno_location) *pv_real.__errno_location() = error;
    return -1;
}

static uint64_t *wiped_page(void) {
    long at = pv_sys(SYS_mmap, 0L, 4096L, (long)(PROT_READ | PROT_WRITE), (long)(MAP_PRIVATE | MAP_ANONYMOUS),
                     -1L, 0L);
    if (at < 0 && at > -4096) return NULL;
    pv_sys(SYS_madvise, at, 4096L, (long)MADV_WIPEONFORK);
    return (uint64_t *)at;
}

/* Kernels before 4.14 do not wipe; then the fork wrappers do it in the child. */
void pv_forked_child(void) {
    if (pv_state == PV_ON && *pv_generation == last_generation &&
        pv_process_identity()->nspid != (uint32_t)pv_sys(SYS_getpid))
        *pv_generation = 0;
}

void pv_forking(void) {
    fork_time = thread_fork_time = pv_now();
    if (pv_state == PV_ON) calls_forking();
}

uint64_t pv_fork_moment(void) {
    return thread_fork_time ? thread_fork_time : fork_time ? fork_time : pv_now();
}

void pv_stop(void) {
    pv_generation = &never;
    pv_state = PV_OFF;
}

void pv_thread_reset(struct pv_thread *t) {
    pv_zero(t, sizeof *t);
    t->tid = (uint32_t)pv_sys(SYS_gettid);
    t->epoch = pv_image_epoch;
    t->generation = last_generation + 1;
}

/* The thread is ready before the page says so: other threads stay out until the image has begun. */
static void begin_image(struct pv_thread *t, int forked) {
    last_generation++;
    if (forked) pv_process_fresh();
    if (forked && !pv_arena_forked()) {
        pv_stop();
        return;
    }
    pv_thread_reset(t);
    if (forked)
        pv_process_forked(t);
    else
        pv_process_start(t);
    __atomic_store_n(pv_generation, last_generation, __ATOMIC_RELEASE);
    if (forked) calls_forked();
}

/* Everything that must happen once in a program, before the first record. */
static void be_born(struct pv_thread *t) {
    if (__atomic_exchange_n(&born, 1, __ATOMIC_ACQ_REL)) return;
    const struct pv_start *start = pv_startup();
    pv_lookup_real();
    if (start && !start->secure) pv_settings_take(start->envp);
    const struct pv_task *task = pv_settings_recorded() ? pv_task_of_thread() : NULL;
    uint64_t *page = task && pv_arena_open(task) ? wiped_page() : NULL;
    if (!page) {
        pv_state = PV_OFF;
        return;
    }
    *page = never;
    pv_generation = page;
    pv_state = PV_ON;
    begin_image(t, 0);
    if (pv_state == PV_ON) calls_image_begin(t, pv_settings.value[PV_WIRE_FDS]);
}

static struct pv_thread *forked_thread(struct pv_thread *t) {
    uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n(&starter, &nobody, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return NULL;
    if (*pv_generation == 0) begin_image(t, 1);
    __atomic_store_n(&starter, 0, __ATOMIC_RELEASE);
    return pv_state == PV_ON ? t : NULL;
}

static PV_NOINLINE struct pv_thread *thread_slow(struct pv_thread *t) {
    if (PV_UNLIKELY(pv_state == PV_UNBORN)) be_born(t);
    if (pv_state != PV_ON) return NULL;
    uint64_t generation = __atomic_load_n(pv_generation, __ATOMIC_ACQUIRE);
    if (generation == 0) return forked_thread(t);
    if (t->vfork_depth || generation == never) return NULL;
    if (t->generation != generation + 1) pv_thread_reset(t);
    return t;
}

struct pv_thread *pv_thread(void) {
    struct pv_thread *t = &self;
    if (PV_LIKELY(t->generation == *pv_generation + 1)) return t;
    return thread_slow(t);
}

struct pv_thread *pv_vforked(void) {
    return self.vfork_depth && pv_state == PV_ON && *pv_generation && self.mixed ? &self : NULL;
}

__attribute__((constructor)) static void constructor(void) {
    (void)pv_thread();
}

__attribute__((destructor)) static void destructor(void) {
    pv_process_end(PROVIO_END_EXIT, -1);
}

/* vfork.S: the child shares our memory and this thread's; a generation that never matches keeps it out. */
void pv_vfork_enter(void) {
    (void)pv_thread();
    pv_forking();
    self.vfork_depth++;
    self.generation = ~0ull - 1;
}

void pv_vfork_leave(void) {
    pv_scratch_abandoned();
    if (--self.vfork_depth == 0 && pv_state == PV_ON) self.generation = *pv_generation + 1;
}

long pv_vfork_failed(long code) {
    return pv_fail((int)-code);
}

/* --- blocks and records --- */

#define FIRST_BLOCK 4096u
#define SECOND_BLOCK 16384u
#define LARGE_BLOCK 131072u

static uint32_t next_size(const struct provio_block *old, size_t wanted) {
    uint32_t size = !old ? FIRST_BLOCK : old->length < SECOND_BLOCK ? SECOND_BLOCK : LARGE_BLOCK;
    while (size < wanted + sizeof(struct provio_block) && size < LARGE_BLOCK) size *= 2;
    return size;
}

static struct provio_block *new_block(struct pv_thread *t, const struct provio_block *old,
                                      enum provio_block_kind kind, size_t wanted) {
    struct provio_block *block = pv_arena_block(next_size(old, wanted));
    if (!block) return NULL;
    struct timespec real = {0, 0};
    if (pv_vdso_clock)
        pv_vdso_clock(CLOCK_REALTIME, &real);
    else
        pv_sys(SYS_clock_gettime, (long)CLOCK_REALTIME, &real);
    block->used = sizeof *block;
    block->kind = kind;
    block->pid = (uint32_t)pv_sys(SYS_getpid);
    block->tid = t->tid;
    block->image = pv_image;
    block->epoch = t->epoch;
    block->monotonic = pv_now();
    block->realtime = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    __atomic_store_n(&block->magic, PROVIO_BLOCK_MAGIC, __ATOMIC_RELEASE);
    if (pv_blocks) pv_arena_store(block, block, sizeof *block);
    return block;
}

/* Adds to thread-local memory in one instruction: atomic for this thread's signal handlers. */
static inline uint32_t take(uint32_t *used, uint32_t size) {
#if defined(__x86_64__)
    __asm__ volatile("xaddl %0, %1" : "+r"(size), "+m"(*used) : : "memory", "cc");
    return size;
#else
    return __atomic_fetch_add(used, size, __ATOMIC_RELAXED);
#endif
}

/* 1: entered; 0: we are in a handler that interrupted it: the busy frame is further up the stack
 * (a busy frame below ours was left by siglongjmp). */
static int busy_enter(struct pv_thread *t, const void *frame) {
    if (t->busy && (uintptr_t)t->busy > (uintptr_t)frame) return 0;
    t->busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return 1;
}

static void busy_leave(struct pv_thread *t) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->busy = NULL;
}

#define FULL (1u << 30)

static PV_NOINLINE void *reserve_slow(struct pv_thread *t, uint32_t size, enum provio_block_kind kind) {
    struct provio_block **place = kind == PROVIO_BLOCK_IO ? &t->io : &t->mixed;
    uint32_t *used = kind == PROVIO_BLOCK_IO ? &t->io_used : &t->mixed_used;
    if (!busy_enter(t, __builtin_frame_address(0))) {
        pv_arena_drop(PROVIO_DROP_REENTRY);
        return NULL;
    }
    struct provio_block *block = new_block(t, *place, kind, size);
    void *record = NULL;
    if (block && size + sizeof *block <= block->length) {
        *(volatile uint32_t *)used = FULL; /* until the block is in place nothing fits */
        __atomic_store_n(place, block, __ATOMIC_RELAXED);
        *(volatile uint32_t *)used = (uint32_t)sizeof *block + size;
        record = (char *)block + sizeof *block;
    }
    busy_leave(t);
    if (!record) pv_arena_drop(PROVIO_DROP_NO_SPACE);
    return record;
}

/*
 * The block is read before and after the reservation: where a signal handler
 * switched blocks in between, nobody knows whose the bytes are; they stay zero,
 * which readers step over, and we reserve again.
 */
static inline void *take_from(struct provio_block *const *place, uint32_t *used, uint32_t size) {
    for (;;) {
        struct provio_block *block = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (PV_UNLIKELY(block == NULL)) return NULL;
        uint32_t at = take(used, size);
        if (PV_UNLIKELY(block != __atomic_load_n(place, __ATOMIC_RELAXED))) continue;
        if (PV_UNLIKELY(at > block->length || size > block->length - at)) return NULL;
        return (char *)block + at;
    }
}

void *pv_reserve(struct pv_thread *t, size_t size) {
    struct provio_rec *rec = take_from(&t->mixed, &t->mixed_used, (uint32_t)size);
    if (PV_UNLIKELY(!rec)) rec = reserve_slow(t, (uint32_t)size, PROVIO_BLOCK_MIXED);
    if (PV_LIKELY(rec != NULL)) rec->size = (uint16_t)(size >> PROVIO_REF_SHIFT);
    return rec;
}

static void advance(struct provio_block *block, const void *end) {
    uint32_t used = (uint32_t)((const char *)end - (const char *)block);
    if (used <= block->length && used > block->used) __atomic_store_n(&block->used, used, __ATOMIC_RELEASE);
}

void pv_publish(struct pv_thread *t, void *record, uint8_t type, uint8_t op) {
    struct provio_rec *rec = record;
    size_t size = (size_t)rec->size << PROVIO_REF_SHIFT;
    rec->op = op;
    __atomic_store_n(&rec->type, type, __ATOMIC_RELEASE);
    advance(t->mixed, (char *)record + size);
    if (PV_UNLIKELY(pv_blocks)) pv_arena_store(t->mixed, record, size);
}

struct provio_io *pv_reserve_io(struct pv_thread *t) {
    struct provio_io *io = take_from(&t->io, &t->io_used, sizeof *io);
    return PV_LIKELY(io != NULL) ? io : reserve_slow(t, sizeof *io, PROVIO_BLOCK_IO);
}

/*
 * In layout BLOCKS what changes often reaches the file at most once in 1 ms, or
 * after 1,024 calls: the I/O records since the last time, and each live record
 * in between its first operation and its close. The end of the image brings all.
 */
#define OFTEN 1000000u
#define MANY 1024u
static __thread uint64_t stored_at;
static __thread struct {
    const struct provio_block *block;
    uint32_t used;
} stored_io;

/* Whether what was last stored at *since is due again; if so it is now. */
static int is_time(uint64_t *since) {
    uint64_t now = pv_now();
    if (now - *since < OFTEN) return 0;
    *since = now;
    return 1;
}

static void store_io(struct pv_thread *t) {
    if (stored_io.block != t->io) stored_io.used = sizeof *t->io;
    stored_io.block = t->io;
    pv_arena_store(t->io, (const char *)t->io + stored_io.used, t->io->used - stored_io.used);
    stored_io.used = t->io->used;
}

void pv_publish_io(struct pv_thread *t, struct provio_io *io) {
    __atomic_store_n(&io->type, PROVIO_REC_IO, __ATOMIC_RELEASE);
    advance(t->io, io + 1);
    if (PV_UNLIKELY(pv_blocks) && (is_time(&stored_at) || t->io->used + sizeof *io > t->io->length))
        store_io(t);
}

static int must_store(const void *record) {
    const struct provio_rec *rec = record;
    struct provio_handle *h = (struct provio_handle *)(uintptr_t)record;
    if (rec->type != PROVIO_REC_HANDLE) return is_time(&stored_at);
    uint64_t calls = h->read.count + h->write.count;
    return (h->flags & PROVIO_HANDLE_CLOSED) || calls <= 1 || calls % MANY == 0 || is_time(&h->reserved1);
}

void pv_touched(struct pv_thread *t, const void *rec, size_t size) {
    if (PV_UNLIKELY(pv_blocks) && t->mixed && must_store(rec)) pv_arena_store(t->mixed, rec, size);
}

uint32_t pv_ref(const void *rec) {
    return pv_arena_ref(rec);
}

struct provio_op_rec *pv_op(struct pv_thread *t) {
    return pv_reserve(t, sizeof(struct provio_op_rec));
}

void pv_gap(struct pv_thread *t, enum provio_gap kind, const char *path, uint32_t arg) {
    uint32_t name = path ? pv_string(t, path, pv_length(path)) : 0;
    struct provio_gap_rec *gap = pv_reserve(t, sizeof *gap);
    if (!gap) return;
    gap->image = pv_image;
    gap->t = pv_now();
    gap->path = name;
    gap->arg = arg;
    gap->count = 1;
    pv_publish(t, gap, PROVIO_REC_GAP, (uint8_t)kind);
}
