/* calls_stream.h: what the wrappers of FILE calls share. See calls_stream.c. */
#ifndef PROVIO_CALLS_STREAM_H
#define PROVIO_CALLS_STREAM_H

#include "calls.h"

/* For calls that do not say how many bytes they took. */
struct pv_asked {
    struct pv_mark mark;
    uint64_t position;
    const char *read_end, *read_ptr, *read_base;
    int placed; /* libc knew the descriptor's offset */
};

int64_t stream_pending(const FILE *fp);
int64_t stream_avail(const FILE *fp);
int stream_at_end(const FILE *fp);
struct pv_asked stream_ask(FILE *fp);
void stream_answer(FILE *fp, const struct pv_asked *a, int direction);
void stream_sought(FILE *fp, const struct pv_asked *a);

/* libc's own streams; the table holds their addresses. */
static inline FILE *stream_out(void) {
    return (FILE *)(void *)pv_real._IO_2_1_stdout_;
}

static inline FILE *stream_in(void) {
    return (FILE *)(void *)pv_real._IO_2_1_stdin_;
}

static inline FILE *stream_err(void) {
    return (FILE *)(void *)pv_real._IO_2_1_stderr_;
}

#endif
