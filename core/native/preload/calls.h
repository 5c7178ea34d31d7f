/*
 * calls.h: what the calls_*.c files share: the table of descriptors, open
 * files, names, and one-line recorders.
 *
 * Not here: arenas, threads, fork and exec (runtime.h). Everything declared
 * here is async-signal-safe: raw system calls, no malloc, no stdio, no lock
 * that is waited for, errno untouched.
 */
#ifndef PROVIO_CALLS_H
#define PROVIO_CALLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime.h"

/* A second exported name for a function of the same object code. */
#define PV_ALIAS(alias, name)                                                                                \
    __asm__(".globl " #alias "\n.type " #alias ", @function\n.set " #alias ", " #name)

#define PV_UNKNOWN UINT64_MAX

enum pv_file_bits {
    PV_SEEKABLE = 1 << 0,
    PV_APPEND = 1 << 1,
    PV_THREADS = 1 << 2, /* several threads move the offset */
    PV_LAZY = 1 << 3,    /* came over exec and was not looked at yet */
    PV_LISTED = 1 << 4,  /* a directory whose listing is recorded */
    PV_IGNORED = 1 << 5, /* our own spool: never recorded */
};

/* One open file description, as far as this process knows it: dup shares it. */
struct pv_file {
    uint64_t offset;       /* of the next plain read or write, PV_UNKNOWN if it must be asked */
    uint32_t bits;         /* enum pv_file_bits */
    uint32_t refs;         /* descriptors of this process */
    uint32_t forks;        /* pv_forks when it was opened: differs = another process may move the offset */
    struct pv_open *opens; /* near the offset: the hot path reads one cache line of this */
    uint32_t flags;        /* PROVIO_HANDLE_* of the next record */
    uint32_t parent, parent_file; /* of the next record */
    uint32_t path, given;
    int32_t fd;
    uint32_t kind, oflags, mode;
    uint64_t dev, ino, size;
    int64_t mtime, ctime;
    uint64_t t_open, open_ns;
    uint32_t first; /* ref of the first record of this process image */
    struct pv_file *next;
};

/* What one thread in one epoch did with a file; owns one HANDLE record. */
struct pv_open {
    struct provio_handle *rec; /* never NULL: records that were dropped share a dummy */
    struct provio_extents *extents[2];
    uint32_t current[2]; /* index of the extent that a sequential call extends */
    struct pv_file *file;
    uint32_t tid, epoch;
    uint32_t ref; /* 0: dropped */
    struct pv_open *next;
};

struct pv_slot {
    uint64_t key; /* generation << 32 | fd + 1; 0: nothing known */
    uint32_t generation;
    uint32_t counted; /* pending bytes of `stream` that are counted already */
    struct pv_file *file;
    FILE *stream;
};

#define PV_SLOTS 1024
#define PV_CHUNKS 1024
extern struct pv_slot *pv_slots[PV_CHUNKS];
extern uint32_t pv_forks; /* counts forks of this image */

/* --- calls_table.c: descriptors and memory --- */
struct pv_slot *slot_of(int fd);   /* NULL: outside the table */
struct pv_slot *slot_find(int fd); /* NULL: nothing known either */
void slot_set(struct pv_thread *t, int fd, struct pv_file *file);
void slot_clear(struct pv_thread *t, int fd, const struct stat *st);
void slot_foreign(struct pv_thread *t, int fd); /* a new descriptor of a kind that is not recorded */
int slot_limit(void);
struct pv_file *file_new(void);
void file_release(struct pv_thread *t, struct pv_file *file, const struct stat *st);
struct pv_open *open_new(void);
void *calls_memory(size_t size); /* zeroed, a cache line's multiple, for ever; NULL: none */

/* --- calls_handle.c: HANDLE records --- */
struct pv_open *handle_slow(struct pv_thread *t, int fd);
struct pv_open *handle_make(struct pv_thread *t, struct pv_file *file);
uint32_t handle_ref(struct pv_thread *t, int fd);
void handle_finish(struct pv_thread *t, struct pv_open *open, const struct stat *st);
void file_identity(struct pv_file *file, const struct stat *st);
struct pv_file *file_adopt(struct pv_thread *t, int fd);
uint32_t kind_of(uint32_t mode);
void handle_template(struct provio_handle *h, const struct pv_file *file);

static inline struct pv_open *handle_of(struct pv_thread *t, int fd) {
    if (PV_UNLIKELY((unsigned)fd >= PV_SLOTS * PV_CHUNKS)) return NULL;
    const struct pv_slot *chunk = pv_slots[(unsigned)fd / PV_SLOTS];
    if (PV_LIKELY(chunk != NULL)) {
        uint64_t key = chunk[(unsigned)fd % PV_SLOTS].key;
        unsigned i = (unsigned)fd % PV_CACHE;
        if (PV_LIKELY(key != 0 && t->cache[i].key == key)) return t->cache[i].open;
    }
    return handle_slow(t, fd);
}

/* --- calls_account.c: counting reads and writes --- */
enum { PV_READ = 0, PV_WRITE = 1 };
#define PV_AT_CURSOR (-2) /* offset of account_end(): the descriptor's own */
uint64_t account_begin(struct pv_thread *t, int fd, int direction);
void account_end(int fd, int direction, uint64_t begin, int64_t offset, ssize_t result);
void account_bytes(struct pv_thread *t, int fd, int direction, uint64_t begin, int64_t offset,
                   uint64_t bytes);
void extent_add(struct pv_thread *t, struct pv_open *open, int direction, uint64_t begin, uint64_t end);
void offset_set(struct pv_thread *t, int fd, uint64_t offset);
void account_check(struct pv_thread *t, int fd, const struct pv_file *file, const struct stat *st);

/* --- calls_path.c: names --- */
struct pv_name {
    uint32_t path;  /* absolute, links resolved where they were followed */
    uint32_t given; /* as the program said, absolute; 0: the same */
};
enum pv_follow { PV_NOFOLLOW = 0, PV_FOLLOW = 1 };
struct pv_name name_at(struct pv_thread *t, int dirfd, const char *path, enum pv_follow follow);
struct pv_name name_of_fd(struct pv_thread *t, int fd); /* what /proc/self/fd says */
uint32_t name_text(struct pv_thread *t, const char *text);
void names_forget(void); /* a directory or link was moved or removed */

/* --- calls_op.c: OP records --- */
struct pv_note {
    uint8_t op;
    uint16_t flags;
    uint32_t arg, path, path2, handle;
    int64_t result; /* < 0: failed, errno is read */
    uint64_t dev, ino, ino2, size;
    int64_t mtime, ctime;
    uint64_t begin;
};
struct pv_thread *op_thread(uint16_t *flags); /* this thread or the vfork parent's; NULL: do not record */
void op_note(struct pv_thread *t, const struct pv_note *note);
void note_identity(struct pv_note *note, const struct stat *st);
int stat_at(int dirfd, const char *path, int flags, struct stat *st); /* raw; 1: filled */
int stat_fd(int fd, struct stat *st);

/* --- calls_open.c --- */
struct pv_opening {
    int dirfd;
    const char *path;
    int flags;
    int link;  /* the last component was a symbolic link */
    int fresh; /* it did not exist before */
    uint64_t begin;
};
void opening_begin(struct pv_opening *o, int dirfd, const char *path, int flags);
void opening_end(struct pv_opening *o, int fd);
int calls_own(const char *path); /* lies in our spool */
void calls_opened(struct pv_thread *t, int fd, uint32_t kind, int oflags, uint32_t flags, const char *name);

/* --- calls_close.c --- */
struct pv_closing {
    struct stat st;
    int known;
};
void closing_begin(struct pv_thread *t, int fd, struct pv_closing *c);
void calls_duped(struct pv_thread *t, int from, int to);

FILE *pv_popen(struct pv_thread *t, const char *command, const char *type); /* spawn.c */

/* --- calls_stream.c: FILE streams --- */
struct pv_mark {
    int64_t pending, avail;
    int64_t back; /* how far before the descriptor's offset the pending bytes belong */
    uint64_t begin;
};
struct pv_mark stream_mark(FILE *fp, size_t size);
void stream_wrote(FILE *fp, const struct pv_mark *m, int64_t supplied);
void stream_read(FILE *fp, const struct pv_mark *m, int64_t taken);
void stream_known(FILE *fp);
void streams_flushed(struct pv_thread *t, uint64_t begin);

#endif
