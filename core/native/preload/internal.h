/*
 * internal.h: what the runtime's own files share. The wrappers of file calls
 * (calls_*.c) use runtime.h only.
 */
#ifndef PROVIO_INTERNAL_H
#define PROVIO_INTERNAL_H

#include <errno.h>
#include <sys/syscall.h>

#include "runtime.h"

#define PV_HIDDEN __attribute__((visibility("hidden")))
#define PV_NOINLINE __attribute__((noinline))
#define PV_BUFFER 4096

/* text.c: building text without libc. A writer never overruns: it remembers that it was cut. */
struct pv_text {
    char *at, *end;
    int cut;
};
struct pv_text pv_text_on(char *buffer, size_t room);
void pv_text_bytes(struct pv_text *text, const char *bytes, size_t length);
void pv_text_add(struct pv_text *text, const char *string);
void pv_text_number(struct pv_text *text, uint64_t value);
void pv_text_hex(struct pv_text *text, uint64_t value, int digits);
void pv_text_end(struct pv_text *text); /* the NUL */
uint64_t pv_parse(const char **at, unsigned base);
int pv_parse_id(const char *hex, uint8_t id[16]); /* 32 hex digits; 1 when it was one */
int pv_equal(const char *a, const char *b);
int pv_same(const void *a, const void *b, size_t n);
const char *pv_find(const char *hay, const char *needle);

enum pv_state { PV_UNBORN = 0, PV_OFF, PV_ON };
extern enum pv_state pv_state;

/* lookup.c: symbols by hash in the objects that ld.so loaded, and what the kernel laid out. */
struct pv_start {
    char **argv, **envp;
    int secure; /* AT_SECURE: another user's rights; nothing of ours may act */
};
const struct pv_start *pv_startup(void); /* NULL: not a glibc that we know */
void pv_lookup_real(void);
void *pv_lookup_global(const char *name); /* the definition that the program itself uses */
const char *pv_own_path(void);
size_t pv_loaded_objects(char *out, size_t room, int skip, int *count); /* NUL-separated paths */
extern int (*pv_vdso_clock)(int, struct timespec *);

/* settings.c: what the environment said. PROVIO_* variables in the order of pv_wire. */
enum pv_wire {
    PV_WIRE_TASK,
    PV_WIRE_SPOOL,
    PV_WIRE_TRACE,
    PV_WIRE_ARENA,
    PV_WIRE_ALLOW,
    PV_WIRE_REDACT,
    PV_WIRE_FROM,
    PV_WIRE_FDS,
    PV_WIRE_PAD,
    PV_WIRES
};
extern const char *const pv_wire_names[PV_WIRES]; /* with the '=' */
struct pv_settings {
    int enabled; /* there is a task and a spool: children get them, whether or not this image is recorded */
    const char *value[PV_WIRES]; /* "" where it was not given */
};
extern struct pv_settings pv_settings;
void pv_settings_take(char **envp);
int pv_settings_recorded(void); /* not switched off */
size_t pv_preload_without_us(char *value, const char *own);

/* task.c */
struct pv_task {
    uint8_t run[16], attempt[16];
};
const struct pv_task *pv_task_of_thread(void); /* NULL: there is none */
int pv_task_is_live(void);
size_t pv_task_text(const struct pv_task *task, char *out, size_t room);
uint32_t pv_epoch_write(struct pv_thread *t, const struct pv_task *task, uint32_t tid, int live);
extern uint32_t pv_image_epoch;

/* arena.c: one file, its header and windows; arena_file.c makes and opens it. */
int pv_arena_open(const struct pv_task *task); /* 0: not from here */
int pv_arena_forked(void);                     /* BLOCKS: the child begins a file of its own */
struct provio_block *pv_arena_block(uint32_t length);
uint32_t pv_arena_ref(const void *at);
void *pv_arena_at(uint32_t ref);
void pv_arena_drop(enum provio_drop reason);
void pv_arena_store(const struct provio_block *block, const void *from,
                    size_t size); /* BLOCKS: to the file */
void pv_arena_store_all(void);
void pv_arena_small(void); /* from now on map little: RLIMIT_AS or mlockall */
void pv_arena_trim(void);
const char *pv_arena_parent(void); /* BLOCKS: the file of the image that forked this one */
const char *pv_arena_name(void);   /* the file without its directory */
extern int pv_blocks;              /* layout BLOCKS */

/* thread.c */
struct pv_thread *pv_self(void);
void pv_thread_reset(struct pv_thread *t);
int pv_fail(int error);     /* sets libc's errno, returns -1 */
void pv_stop(void);         /* nothing is recorded any more in this image */
void pv_forking(void);      /* before fork, vfork, clone: remember when */
void pv_forked_child(void); /* in a child where the kernel did not wipe the generation page */
uint64_t pv_fork_moment(void);
PV_HIDDEN void pv_vfork_enter(void); /* vfork.S calls these three */
PV_HIDDEN void pv_vfork_leave(void);
PV_HIDDEN long pv_vfork_failed(long code);

/* string.c */
void pv_strings_forget(void);

/* process.c */
void pv_process_start(struct pv_thread *t);
void pv_process_fresh(void);
void pv_process_forked(struct pv_thread *t);
void pv_process_end(enum provio_end why, int status);
uint32_t pv_execs(void);
struct pv_identity {     /* of a process, over all its images */
    uint32_t nspid, pid; /* getpid(), and what /proc says */
    uint64_t start_ticks, pidns;
};
const struct pv_identity *pv_process_identity(void);
int pv_io_counts(uint64_t counts[4]);        /* rchar, wchar, read_bytes, write_bytes; 0: not known */
long pv_own_bytes(int written, long result); /* counts what a system call of ours moved; returns result */
size_t pv_read_file(const char *path, char *out, size_t room);

/* environ.c: the environment of a program that is about to be executed. */
struct pv_scratch { /* memory for one exec or spawn; mapped, because stacks may be small */
    size_t size;
    char path[PV_PATH];
    char text[40960];
    char *envp[];
};
struct pv_scratch *pv_scratch_new(char *const envp[]); /* NULL: no memory */
void pv_scratch_free(struct pv_scratch *scratch);
void pv_scratch_abandoned(void); /* in the parent, after its vfork child executed */
char *const *pv_environ_for(struct pv_scratch *scratch, char *const envp[], int inject);

/* exec.c */
char ***pv_environ(void);                                     /* libc's variable; NULL: not found */
int pv_program_of(const char *file, int searched, char *out); /* 1: there is one, its path is in out */
struct provio_op_rec *pv_program_op(struct pv_thread *t, const char *path, int child);

/* elf.c: 0 if our library may go into the program, else enum provio_gap. */
int pv_program_gap(int dirfd, const char *path);

/* redact.c */
size_t pv_redact_text(const char *text, size_t length, char *out, size_t room);
size_t pv_redact_argv(char *const argv[], char *out, size_t room, int *cut); /* NUL-separated */

#endif
