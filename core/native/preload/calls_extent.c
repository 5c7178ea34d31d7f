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

void extent_add(struct pv_thread *t, struct pv_open *open, int direction, uint64_t begin, uint64_t end) {
    struct provio_extents *e = open->extents[direction];
    if (!e && !(e = extents_start(t, open, direction))) return;
    uint32_t at = open->current[direction];
    if (begin != e->extent[at].end) {
        uint64_t gap;
        at = nearest(e, begin, end, &gap);
        if (gap && e->count < PROVIO_EXTENTS) {
            at = e->count;
            e->extent[at].begin = begin;
            e->extent[at].end = end;
            __atomic_store_n(&e->count, at + 1, __ATOMIC_RELEASE);
        } else if (gap) {
            open->rec->flags |= PROVIO_HANDLE_INEXACT;
        }
        open->current[direction] = at;
    }
    if (begin < e->extent[at].begin) e->extent[at].begin = begin;
    if (end > e->extent[at].end) e->extent[at].end = end;
}
