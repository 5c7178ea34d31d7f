/*
 * clock.c: CLOCK_MONOTONIC, cheaper than asking for it each time.
 *
 * On x86-64 with an invariant time-stamp counter, a thread that asks often gets
 * the kernel's clock at most once in ANCHOR ns; in between the counter goes on
 * from there, at the rate measured between two such anchors. The rate's error
 * (two clock reads in at least ANCHOR ns, below 100 ppm) times ANCHOR bounds
 * the drift to about 100 ns, far below what a system call takes from one
 * process to another; within a thread time never goes back. Rarely called
 * threads and other machines use the vDSO. Thread-local: async-signal-safe, for
 * a handler that interrupts an update sees either the old or the new anchor's
 * counter and only loses precision by what the update would have gained.
 */
#include "internal.h"

static uint64_t kernel_now(void) {
    struct timespec t = {0, 0};
    if (PV_LIKELY(pv_vdso_clock != NULL))
        pv_vdso_clock(CLOCK_MONOTONIC, &t);
    else
        pv_sys(SYS_clock_gettime, (long)CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
#define ANCHOR 1000000u /* ns */
#define OFTEN 64u       /* calls before a thread bothers */
#define RATE_SHIFT 32
#define TOGETHER 400u /* ticks that two looks may lie apart: about 150 ns */

struct clock {
    uint64_t counter, time; /* the anchor */
    uint64_t rate;          /* ns per tick, << RATE_SHIFT; 0: not measured */
    uint64_t span;          /* ticks that ANCHOR lasts; 0: use the kernel's clock */
    uint64_t last;          /* what was said before */
    uint32_t calls;
    int usable; /* 0: not asked, 1: invariant, -1: not */
};
static __thread struct clock local;

static inline uint64_t ticks(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* CPUID 8000_0007h, EDX bit 8: the counter runs at one rate in every power state. */
static int is_invariant(void) {
    uint32_t a = 0x80000007u, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return d >> 8 & 1 ? 1 : -1;
}

static uint64_t forward(struct clock *c, uint64_t now) {
    if (now < c->last) now = c->last;
    return c->last = now;
}

/* Both clocks at one moment; 0: something came in between each time, say an interrupt. */
static int look(uint64_t *time, uint64_t *counter) {
    for (int tries = 0; tries < 4; tries++) {
        uint64_t before = ticks();
        *time = kernel_now();
        uint64_t after = ticks();
        *counter = before + (after - before) / 2;
        if (after - before < TOGETHER) return 1;
    }
    return 0;
}

static PV_NOINLINE uint64_t anchor(struct clock *c) {
    uint64_t now, counter;
    if (c->usable < 0 || ++c->calls < OFTEN) return forward(c, kernel_now());
    if (!look(&now, &counter)) {
        c->span = c->time = 0;
        return forward(c, now);
    }
    uint64_t elapsed = now - c->time, passed = counter - c->counter;
    if (!c->usable && (c->usable = is_invariant()) < 0) return forward(c, now);
    if (c->time && elapsed < ANCHOR) return forward(c, now);
    /* A rate from between 1 ms and 1 s: precise enough, and nothing overflows in 64 bits. */
    if (c->time && elapsed < 1000000000u && passed) {
        c->span = 0;
        c->rate = (elapsed << RATE_SHIFT) / passed; /* elapsed is below 2^30 */
        c->span = passed / (elapsed / ANCHOR);
    }
    c->time = now;
    c->counter = counter;
    return forward(c, now);
}

uint64_t pv_now(void) {
    struct clock *c = &local;
    uint64_t passed = ticks() - c->counter;
    if (PV_UNLIKELY(passed >= c->span)) return anchor(c);
    return forward(c, c->time + (passed * c->rate >> RATE_SHIFT));
}
#else
uint64_t pv_now(void) {
    return kernel_now();
}
#endif
