/*
 * calls_account.c: the hot path: counting a read or write, where it was in the
 * file, and one IO record in full mode.
 *
 * Aggregate mode reads the clock once per call (its end), plus its begin for
 * the first call on a handle and for one call in 64.
 */
#include "calls.h"

#define SAMPLE_MASK 63u

static inline struct provio_direction *direction_of(struct pv_open *open, int direction) {
    return direction == PV_READ ? &open->rec->read : &open->rec->write;
}

/* 0: not read; else the clock before the call. */
uint64_t account_begin(struct pv_thread *t, int fd, int direction) {
    struct pv_open *open = handle_of(t, fd);
    if (PV_UNLIKELY(!open)) return 0;
    int wanted = pv_full || !(++t->sample & SAMPLE_MASK) || !direction_of(open, direction)->first;
    return PV_UNLIKELY(wanted) ? pv_now() : 0;
}

/* Where a call without an offset took place, and where the next one will. */
static int64_t cursor(struct pv_open *open, int fd, int direction, uint64_t bytes) {
    struct pv_file *file = open->file;
    if (!(file->bits & PV_SEEKABLE)) return -1;
    int moved_by_others = file->forks != pv_forks || (file->bits & PV_THREADS);
    if (file->opens && file->opens->next && !(file->bits & PV_THREADS)) {
        file->bits |= PV_THREADS;
        moved_by_others = 1;
    }
    if (direction == PV_WRITE && (file->bits & PV_APPEND)) moved_by_others = 1;
    uint64_t at = __atomic_load_n(&file->offset, __ATOMIC_RELAXED);
    if (at == PV_UNKNOWN || moved_by_others) {
        long now = pv_sys(SYS_lseek, (long)fd, 0L, (long)SEEK_CUR);
        if (now < 0) return -1;
        at = (uint64_t)now >= bytes ? (uint64_t)now - bytes : 0;
    }
    __atomic_store_n(&file->offset, at + bytes, __ATOMIC_RELAXED);
    return (int64_t)at;
}

static void in_full(struct pv_thread *t, const struct pv_open *open, int direction, uint64_t begin,
                    uint64_t end, int64_t offset, ssize_t result, int err) {
    struct provio_io *io = open->ref ? pv_reserve_io(t) : NULL;
    if (!io) return;
    uint64_t dur = begin && end > begin ? end - begin : 0;
    io->op = direction == PV_READ ? PROVIO_OP_READ : PROVIO_OP_WRITE;
    io->err = (uint16_t)err;
    io->dur = dur > UINT32_MAX ? UINT32_MAX : (uint32_t)dur;
    io->t = begin ? begin : end;
    io->handle = open->ref;
    io->offset = offset;
    io->result = result;
    io->tid = t->tid;
    pv_publish_io(t, io);
}

static inline void place(struct pv_thread *t, struct pv_open *open, struct provio_direction *d, int direction,
                         uint64_t from, uint64_t bytes) {
    uint64_t to = from + bytes;
    if (from == d->next && d->count > 1) d->sequential++;
    d->next = to;
    if (d->hi == 0) {
        d->lo = from;
        d->hi = to;
        return;
    }
    const struct provio_extents *e = open->extents[direction];
    if (PV_LIKELY(!e || e->count == 1)) {
        if (from >= d->lo && to <= d->hi) return;
        if (!e && from <= d->hi && from >= d->lo) {
            d->hi = to;
            return;
        }
    }
    extent_add(t, open, direction, from, to);
    if (from < d->lo) d->lo = from;
    if (to > d->hi) d->hi = to;
}

static inline void count(struct pv_thread *t, struct pv_open *open, int direction, uint64_t begin,
                         uint64_t end, int64_t offset, uint64_t bytes) {
    struct provio_direction *d = direction_of(open, direction);
    d->count++;
    d->bytes += bytes;
    d->last = end;
    if (PV_UNLIKELY(!d->first)) d->first = begin ? begin : open->rec->t_open;
    if (bytes && offset >= 0) place(t, open, d, direction, (uint64_t)offset, bytes);
    if (PV_UNLIKELY(begin != 0)) {
        if (!(t->sample & SAMPLE_MASK)) {
            d->sampled++;
            d->sampled_ns += end - begin;
        }
    }
    if (PV_UNLIKELY(pv_blocks)) pv_touched(t, open->rec, sizeof *open->rec);
}

void account_end(int fd, int direction, uint64_t begin, int64_t offset, ssize_t result) {
    struct pv_thread *t = pv_thread();
    if (PV_UNLIKELY(!t)) return;
    struct pv_open *open = handle_of(t, fd);
    if (PV_UNLIKELY(!open)) return;
    if (PV_UNLIKELY(result < 0)) {
        if (pv_full)
            in_full(t, open, direction, begin, pv_now(), offset == PV_AT_CURSOR ? -1 : offset, -1,
                    pv_errno());
        return;
    }
    uint64_t end = pv_now();
    if (offset == PV_AT_CURSOR) offset = cursor(open, fd, direction, (uint64_t)result);
    count(t, open, direction, begin, end, offset, (uint64_t)result);
    if (pv_full) in_full(t, open, direction, begin, end, offset, result, 0);
}

/* Bytes that were moved by something else than one read or write call. */
void account_bytes(struct pv_thread *t, int fd, int direction, uint64_t begin, int64_t offset,
                   uint64_t bytes) {
    struct pv_open *open = handle_of(t, fd);
    if (!open) return;
    uint64_t end = pv_now();
    if (offset == PV_AT_CURSOR) offset = cursor(open, fd, direction, bytes);
    count(t, open, direction, begin, end, offset, bytes);
    if (pv_full) in_full(t, open, direction, begin, end, offset, (ssize_t)bytes, 0);
}

void offset_set(struct pv_thread *t, int fd, uint64_t offset) {
    struct pv_slot *slot = slot_find(fd);
    if (t && slot && slot->file) __atomic_store_n(&slot->file->offset, offset, __ATOMIC_RELAXED);
}

/*
 * Just before the last close of a file that we made and only we hold: did the
 * descriptor move past what we counted? Then something bypassed libc's calls.
 */
void account_check(struct pv_thread *t, int fd, const struct pv_file *file, const struct stat *st) {
    static char told;
    uint64_t end = 0;
    if (!(file->flags & PROVIO_HANDLE_CREATED) || file->forks != pv_forks || file->offset == PV_UNKNOWN)
        return;
    for (const struct pv_open *open = file->opens; open; open = open->next)
        if (open->rec->write.hi > end) end = open->rec->write.hi;
    if ((uint64_t)st->st_size <= end) return;
    long at = pv_sys(SYS_lseek, (long)fd, 0L, (long)SEEK_CUR);
    if (at < 0 || (uint64_t)at == file->offset || __atomic_test_and_set(&told, __ATOMIC_RELAXED)) return;
    pv_gap(t, PROVIO_GAP_INLINE_SYSCALL, NULL, file->first);
}
