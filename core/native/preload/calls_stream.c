/*
 * calls_stream.c: how many bytes a FILE call moved between libc and the kernel.
 *
 * libc's own reads and writes bypass the wrappers (and putc, getc are inlined
 * into programs), but buffers conserve bytes: what a call was given plus what
 * was pending before, less what is pending after, went to the kernel; and the
 * same for reading. That is exact for files and channels, without a system
 * call. Calls that do not say how much they took (scanf, wide characters) are
 * measured by the descriptor's offset, or on channels estimated with a Gap.
 */
#include "calls.h"
#include "calls_stream.h"

#define IN_BACKUP 0x0100
#define EOF_SEEN 0x0010
#define NO_READS 0x0004

int64_t stream_pending(const FILE *fp) {
    return fp->_IO_write_ptr - fp->_IO_write_base;
}

int64_t stream_avail(const FILE *fp) {
    int64_t n = fp->_IO_read_end - fp->_IO_read_ptr;
    if (fp->_flags & IN_BACKUP) n += fp->_IO_save_end - fp->_IO_save_base;
    return n;
}

int stream_at_end(const FILE *fp) {
    return fp->_flags & EOF_SEEN;
}

/* `size`: how much the call is about; the clock is read when it can reach the kernel. */
struct pv_mark stream_mark(FILE *fp, size_t size) {
    struct pv_mark m = {stream_pending(fp), stream_avail(fp), 0, 0};
    if (m.pending > 0 && fp->_IO_read_end > fp->_IO_write_base)
        m.back = fp->_IO_read_end - fp->_IO_write_base;
    int fits = m.avail >= (int64_t)size || fp->_IO_write_end - fp->_IO_write_ptr >= (int64_t)size;
    struct pv_thread *t = fits ? NULL : pv_thread();
    if (!t) return m;
    if (fp->_fileno >= 0) handle_of(t, fp->_fileno); /* adopt it as it is before the call */
    m.begin = pv_now();
    return m;
}

static struct pv_file *stream_file(struct pv_thread *t, const FILE *fp) {
    struct pv_open *open = fp->_fileno >= 0 ? handle_of(t, fp->_fileno) : NULL;
    return open ? open->file : NULL;
}

static void moved(struct pv_thread *t, const FILE *fp, int direction, uint64_t begin, int64_t bytes) {
    struct pv_open *open = handle_of(t, fp->_fileno);
    if (!open) return;
    open->rec->flags |= PROVIO_HANDLE_STDIO;
    account_bytes(t, fp->_fileno, direction, begin, PV_AT_CURSOR, (uint64_t)bytes);
}

/* So that what is left in the buffer can be counted at exit. */
void stream_known(FILE *fp) {
    if (fp->_fileno < 0) return;
    struct pv_thread *t = pv_thread();
    if (!t || !stream_file(t, fp)) return;
    struct pv_slot *slot = slot_find(fp->_fileno);
    if (slot && slot->stream != fp) {
        slot->stream = fp;
        slot->counted = 0;
    }
}

void stream_wrote(FILE *fp, const struct pv_mark *m, int64_t supplied) {
    int64_t left = stream_pending(fp), out = m->pending + supplied - left;
    if (left > 0 && m->pending == 0) stream_known(fp);
    if (PV_LIKELY(out <= 0) || fp->_fileno < 0) return;
    struct pv_thread *t = pv_thread();
    if (!t) return;
    struct pv_slot *slot = slot_find(fp->_fileno);
    if (slot && slot->counted) { /* calls_image_end() has them already */
        out -= slot->counted;
        slot->counted = 0;
    }
    if (m->avail > 0 && m->pending == 0)
        offset_set(t, fp->_fileno, PV_UNKNOWN);
    else if (m->back > 0 && slot && slot->file && slot->file->offset != PV_UNKNOWN)
        offset_set(t, fp->_fileno, slot->file->offset - (uint64_t)m->back);
    if (out > 0) moved(t, fp, PV_WRITE, m->begin, out);
}

void stream_read(FILE *fp, const struct pv_mark *m, int64_t taken) {
    int64_t in = taken + stream_avail(fp) - m->avail;
    if (m->pending > 0 && stream_pending(fp) == 0) stream_wrote(fp, m, 0); /* an update stream turned round */
    if (PV_LIKELY(in <= 0) && !(m->avail == 0 && stream_at_end(fp))) return;
    struct pv_thread *t = pv_thread();
    if (t && fp->_fileno >= 0) moved(t, fp, PV_READ, m->begin, in > 0 ? in : 0);
}

/* Where the descriptor stands; PV_UNKNOWN for a channel. */
static uint64_t position(int fd) {
    long at = pv_sys(SYS_lseek, (long)fd, 0L, (long)SEEK_CUR);
    return at < 0 ? PV_UNKNOWN : (uint64_t)at;
}

struct pv_asked stream_ask(FILE *fp) {
    struct pv_asked a = {stream_mark(fp, SIZE_MAX >> 1),
                         PV_UNKNOWN,
                         fp->_IO_read_end,
                         fp->_IO_read_ptr,
                         fp->_IO_read_base,
                         fp->_offset >= 0};
    if (fp->_fileno >= 0 && pv_thread()) a.position = position(fp->_fileno);
    return a;
}

static void answer_channel(struct pv_thread *t, FILE *fp, const struct pv_asked *a, int direction) {
    static char told;
    int64_t bytes = 0;
    if (direction == PV_READ && (fp->_IO_read_end != a->read_end || fp->_IO_read_ptr < a->read_ptr))
        bytes = fp->_IO_read_end - fp->_IO_buf_base; /* one refill; more cannot be told */
    if (bytes <= 0 && direction == PV_READ) return;
    if (bytes > 0) moved(t, fp, direction, a->mark.begin, bytes);
    const struct pv_file *file = stream_file(t, fp);
    if (!file || file->kind == PROVIO_KIND_DEVICE) return; /* nobody reads it back */
    if (!__atomic_test_and_set(&told, __ATOMIC_RELAXED))
        pv_gap(t, PROVIO_GAP_STDIO_BYTES, NULL, (uint32_t)fp->_fileno);
}

void stream_answer(FILE *fp, const struct pv_asked *a, int direction) {
    struct pv_thread *t = pv_thread();
    if (!t || fp->_fileno < 0) return;
    if (a->position == PV_UNKNOWN) {
        answer_channel(t, fp, a, direction);
        return;
    }
    uint64_t now = position(fp->_fileno);
    if (now > a->position && now != PV_UNKNOWN) {
        offset_set(t, fp->_fileno, a->position);
        moved(t, fp, direction, a->mark.begin, (int64_t)(now - a->position));
    }
    if (direction == PV_WRITE && stream_pending(fp) > 0) stream_known(fp);
}

/* Beyond the end of the file libc reads what there is of the last block, then drops it. */
static void sought_beyond(struct pv_thread *t, FILE *fp, const struct pv_asked *a, uint64_t now) {
    struct stat st;
    uint64_t block = (uint64_t)(fp->_IO_buf_end - fp->_IO_buf_base);
    if (now == PV_UNKNOWN || block < 2 || !stat_fd(fp->_fileno, &st) || now <= (uint64_t)st.st_size) return;
    uint64_t from = now - now % block;
    if (from >= (uint64_t)st.st_size) return;
    offset_set(t, fp->_fileno, from);
    moved(t, fp, PV_READ, a->mark.begin, (int64_t)((uint64_t)st.st_size - from));
}

/* A seek flushes, moves and may fill the buffer, in this order. */
void stream_sought(FILE *fp, const struct pv_asked *a) {
    struct pv_thread *t = pv_thread();
    if (!t || fp->_fileno < 0) return;
    if (a->mark.pending > 0) stream_wrote(fp, &a->mark, 0);
    uint64_t now = position(fp->_fileno), flushed = a->position + (uint64_t)a->mark.pending;
    int64_t filled = fp->_IO_read_end - fp->_IO_buf_base;
    int holds = fp->_IO_read_end > fp->_IO_read_base && stream_pending(fp) == 0;
    int held = a->read_end > a->read_base || a->mark.pending > 0;
    int ended = stream_avail(fp) == 0; /* libc stays in its buffer only strictly before its end */
    int refilled = now != flushed || !held || !a->placed || ended || a->mark.pending > 0;
    if (holds && refilled && now != PV_UNKNOWN && now >= (uint64_t)filled) {
        offset_set(t, fp->_fileno, now - (uint64_t)filled);
        moved(t, fp, PV_READ, a->mark.begin, filled);
    }
    if (!holds && fp->_IO_buf_base && !(fp->_flags & NO_READS)) sought_beyond(t, fp, a, now);
    offset_set(t, fp->_fileno, now);
}

/* Everything that is pending goes to the kernel now. */
void streams_flushed(struct pv_thread *t, uint64_t begin) {
    int limit = slot_limit();
    for (int fd = 0; fd < limit; fd++) {
        struct pv_slot *slot = slot_find(fd);
        if (!slot || !slot->stream || slot->stream->_fileno != fd) continue;
        int64_t pending = stream_pending(slot->stream) - slot->counted;
        if (pending <= 0) continue;
        slot->counted += (uint32_t)pending;
        moved(t, slot->stream, PV_WRITE, begin, pending);
    }
}
