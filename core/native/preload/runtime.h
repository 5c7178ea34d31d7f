/*
 * runtime.h: what the wrappers of libc calls may use.
 *
 * Two halves of the preload library meet here. runtime*.c, process.c, exec.c
 * (the runtime) know arenas, images, epochs, fork, vfork, exec; the calls_*.c
 * files wrap libc's file calls. Everything here is async-signal-safe, fork-safe
 * and cancellation-safe: raw system calls only, no errno of ours, no malloc,
 * no stdio, no lock, no state held across the real call.
 *
 * A wrapper's shape:
 *
 *     ssize_t read(int fd, void *buf, size_t n)
 *     {
 *         struct pv_thread *t = pv_thread();
 *         if (!t) return pv_real.read(fd, buf, n);
 *         uint64_t begin = pv_now();
 *         ssize_t r = pv_real.read(fd, buf, n);
 *         handle_did_read(t, fd, begin, r);
 *         return r;
 *     }
 */
#ifndef PROVIO_RUNTIME_H
#define PROVIO_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "../common/record.h"

#define PV_EXPORT __attribute__((visibility("default")))
#define PV_LIKELY(x) __builtin_expect(!!(x), 1)
#define PV_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct pv_open; /* calls_handle.c: one open file of one thread, private memory */

#define PV_CACHE 64
/* Thread-local. Zero in a new thread; reset after fork (the generation differs). */
struct pv_thread {
    uint64_t generation; /* equals *pv_generation while this state belongs to this image */
    uint32_t tid;
    uint32_t epoch;        /* ref of the epoch in force for this thread */
    uint32_t epoch_serial; /* of pv_epoch_serial when `epoch` was read */
    uint32_t sample;       /* counts calls; every 64th is timed */
    struct provio_block *mixed, *io;
    uint32_t mixed_used, io_used; /* reserved so far; >= block->used */
    const void *busy;             /* frame address while a block is being switched */
    int vfork_depth;              /* > 0 in a vfork child: shared state is the parent's */
    struct {
        uint64_t key;
        struct pv_open *open;
    } cache[PV_CACHE]; /* owned by calls_handle.c */
};

/* The calling thread's state, or NULL when this call must not be recorded
 * (tracing off, inside a vfork child's shared memory -- see pv_vforked --,
 * before the constructor, no arena). Fast path: two loads and a compare. */
struct pv_thread *pv_thread(void);

/* In a vfork child: the parent's thread state, only for pv_op() records that
 * carry PROVIO_OPF_CHILD; NULL elsewhere. No table may be touched through it. */
struct pv_thread *pv_vforked(void);

extern int pv_blocks;           /* layout BLOCKS: changes of live records have to be told */
extern int pv_full;             /* mode "full" */
extern uint32_t pv_image;       /* ref of this process image */
extern uint64_t *pv_generation; /* page with MADV_WIPEONFORK; 0 in a fresh child */

uint64_t pv_now(void); /* CLOCK_MONOTONIC, ns */
int pv_errno(void);    /* what libc's errno says (read after a failed real call) */

/* Reserve a zeroed record of `size` bytes (a multiple of 16) in the thread's
 * mixed block; NULL when it was dropped (and counted). Fill it, then publish. */
void *pv_reserve(struct pv_thread *t, size_t size);
void pv_publish(struct pv_thread *t, void *rec, uint8_t type, uint8_t op);
/* The same for 48-byte records in the thread's IO block. */
struct provio_io *pv_reserve_io(struct pv_thread *t);
void pv_publish_io(struct pv_thread *t, struct provio_io *io);
/* A live record changed: makes it durable where the layout is BLOCKS; free in an arena. */
void pv_touched(struct pv_thread *t, const void *rec, size_t size);
uint32_t pv_ref(const void *rec);

/* Interned string; 0 for NULL or when dropped. Equal bytes give equal refs
 * within an image as long as the table has room. */
uint32_t pv_string(struct pv_thread *t, const char *bytes, size_t length);

/* One OP record; NULL-safe shortcut over reserve and publish. */
struct provio_op_rec *pv_op(struct pv_thread *t);
void pv_gap(struct pv_thread *t, enum provio_gap kind, const char *path, uint32_t arg);
void pv_sandboxed(void); /* a system call filter is about to come */

/* Paths. Writes the absolute form of (dirfd, path) to out (PV_PATH bytes, not
 * normalised, cut with the length returned) using raw getcwd or
 * /proc/self/fd; 0 when it cannot be known. */
#define PV_PATH 8192
size_t pv_absolute(int dirfd, const char *path, char *out);

/* Called by the runtime: */
/* String: name of the I/O file of the parent image, 0: this file. Set by the runtime before the next two. */
extern uint32_t pv_parent_file;
void calls_image_begin(struct pv_thread *t, const char *handoff); /* adopt descriptors; handoff: PROVIO_FDS */
void calls_image_end(struct pv_thread *t, enum provio_end why); /* reconcile stdio offsets, sizes at close */
size_t calls_handoff(char *out, size_t room);                   /* text for PROVIO_FDS across exec */
void calls_forked(void);                                        /* in the child, lazily, before first use */
void calls_forking(void); /* in the parent, before fork, vfork and spawn */
void calls_epoch_changed(struct pv_thread *t);
/* After a posix_spawn that succeeded: its file actions (or NULL) and when it was called. */
void calls_spawn_actions(struct pv_thread *t, const void *file_actions, uint64_t begin);

/* Just before the program puts itself under seccomp: nothing is recorded from here on. */
void pv_sandboxed(void);

/* Raw system calls: pv_sys(number, ...) returns the kernel's value (-errno). */
long pv_sys(long nr, ...);

/* String and memory helpers (the library is freestanding). */
void pv_copy(void *to, const void *from, size_t n);
void pv_zero(void *to, size_t n);
size_t pv_length(const char *s);
int pv_starts(const char *s, const char *prefix);

#include "real.h" /* struct pv_real_table pv_real: the next definition of each wrapped call */

#endif
