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

/* lookup.c: symbols by hash in the objects that ld.so loaded; see r_debug in <link.h>. */
void pv_lookup_real(void);
void *pv_lookup_global(const char *name); /* the definition that the program itself uses */
const char *pv_own_path(void);
size_t pv_loaded_objects(char *out, size_t room); /* NUL-separated paths */
extern uint64_t (*pv_vdso_clock)(int, struct timespec *);

#endif
