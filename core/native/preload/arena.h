/*
 * arena.h: what arena.c (windows and blocks) and arena_file.c (making and
 * opening the file) share.
 */
#ifndef PROVIO_ARENA_H
#define PROVIO_ARENA_H

#include <limits.h>

#include "internal.h"

#define CHUNK (1ull << 20)
#define PAGE 4096ull
#define WINDOW (16ull << 20)
#define SMALL_WINDOW (256ull << 10)
#define WINDOWS 4096
#define LIMIT (64ull << 30) /* what 32-bit references reach */

struct window {
    char *at; /* stored last */
    uint64_t offset, length;
    uint64_t lo, hi; /* what blocks of this process cover, offsets in the file */
};

struct pv_arena {
    struct provio_file_header *header;
    uint64_t size;     /* the file is at least this long */
    uint64_t retry_at; /* after a failure */
    uint32_t windows;
    int small;
    size_t directory; /* length of the path up to and with the last slash */
    char path[PATH_MAX];
    struct window window[WINDOWS];
};
extern struct pv_arena pv_arena;

int arena_failed(enum provio_drop reason); /* returns 0 */
int arena_size_allowed(uint64_t end);      /* RLIMIT_FSIZE: a write beyond it would raise SIGXFSZ */
int arena_open(const char *path, int flags);
int arena_grow(int fd, uint64_t end);
struct window *arena_window(int fd, uint64_t offset);

#endif
