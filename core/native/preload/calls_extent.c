/*
 * calls_extent.c: which bytes of a file were touched: up to 16 exact extents
 * per direction and handle, then neighbours merge and the handle says so.
 *
 * A handle whose bytes are one run has no EXTENTS record: [lo, hi) says it.
 */
#include "calls.h"

/* The first disjoint access: what lay in the hull so far becomes extent 0. */
static struct provio_extents *extents_start(struct pv_thread *t, struct pv_open *open, int direction) {
    struct provio_handle *h = open->rec;
    struct provio_extents *e = open->ref ? pv_reserve(t, sizeof *e) : NULL;
    if (!e) {
        h->flags |= PROVIO_HANDLE_INEXACT;
        return NULL;
    }
    const struct provio_direction *d = direction == PV_READ ? &h->read : &h->write;
    e->handle = open->ref;
    e->extent[0].begin = d->lo;
    e->extent[0].end = d->hi;
    e->count = 1;
    uint32_t ref = pv_ref(e);
    pv_publish(t, e, PROVIO_REC_EXTENTS, direction == PV_READ ? PROVIO_OP_READ : PROVIO_OP_WRITE);
    if (direction == PV_READ)
        h->extents_read = ref;
    else
        h->extents_write = ref;
    open->extents[direction] = e;
    open->current[direction] = 0;
    return e;
}

/* The extent that contains or touches [begin, end); else the nearest one, with *gap > 0. */
static uint32_t nearest(const struct provio_extents *e, uint64_t begin, uint64_t end, uint64_t *gap) {
    uint32_t best = 0;
    *gap = UINT64_MAX;
    for (uint32_t i = 0; i < e->count; i++) {
        uint64_t away = 0;
        if (begin > e->extent[i].end)
            away = begin - e->extent[i].end;
        else if (end < e->extent[i].begin)
            away = e->extent[i].begin - end;
        if (away < *gap) {
            *gap = away;
            best = i;
            if (!away) break;
        }
    }
    return best;
}

/* Extent `at` has grown: what it touches now becomes part of it. Returns where it is. */
static uint32_t coalesce(struct provio_extents *e, uint32_t at) {
    for (uint32_t i = 0; i < e->count;) {
        if (i == at || e->extent[i].begin > e->extent[at].end || e->extent[i].end < e->extent[at].begin) {
            i++;
            continue;
        }
        if (e->extent[i].begin < e->extent[at].begin) e->extent[at].begin = e->extent[i].begin;
        if (e->extent[i].end > e->extent[at].end) e->extent[at].end = e->extent[i].end;
        uint32_t last = e->count - 1;
        e->extent[i] = e->extent[last];
        __atomic_store_n(&e->count, last, __ATOMIC_RELEASE);
        if (at == last) at = i;
        i = 0;
    }
    return at;
}

void extent_add(struct pv_thread *t, struct pv_open *open, int direction, uint64_t begin, uint64_t end) {
    struct provio_extents *e = open->extents[direction];
    if (!e && !(e = extents_start(t, open, direction))) return;
    uint32_t at = open->current[direction];
    if (begin >= e->extent[at].begin && end <= e->extent[at].end) return;
    if (begin != e->extent[at].end) {
        uint64_t gap;
        at = nearest(e, begin, end, &gap);
        if (!gap && begin >= e->extent[at].begin && end <= e->extent[at].end) return;
        if (gap && e->count < PROVIO_EXTENTS) {
            e->extent[e->count].begin = begin;
            e->extent[e->count].end = end;
            open->current[direction] = e->count;
            __atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
            return;
        }
        if (gap) open->rec->flags |= PROVIO_HANDLE_INEXACT;
    }
    if (begin < e->extent[at].begin) e->extent[at].begin = begin;
    if (end > e->extent[at].end) e->extent[at].end = end;
    open->current[direction] = e->count > 1 ? coalesce(e, at) : 0;
}
