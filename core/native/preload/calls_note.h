/* calls_note.h: the two halves of a wrapper that records one OP. */
#ifndef PROVIO_CALLS_NOTE_H
#define PROVIO_CALLS_NOTE_H

#include "calls.h"

/* Starts a note; NULL: do not record. */
static inline struct pv_thread *note_begin(struct pv_note *note, int op) {
    uint16_t child;
    struct pv_thread *t = op_thread(&child);
    pv_zero(note, sizeof *note);
    if (!t) return NULL;
    note->op = (uint8_t)op;
    note->flags = child;
    note->begin = pv_now();
    return t;
}

static inline void note_end(struct pv_note *note, int64_t result) {
    uint16_t child;
    struct pv_thread *t = note->op ? op_thread(&child) : NULL;
    if (!t) return;
    note->result = result;
    op_note(t, note);
}

static inline void note_path(struct pv_thread *t, struct pv_note *note, int dirfd, const char *path) {
    note->path = name_at(t, dirfd, path, PV_NOFOLLOW).path;
}

/* The open file behind a descriptor; in a vfork child only its name. */
static inline void note_fd(struct pv_thread *t, struct pv_note *note, int fd) {
    if (note->flags & PROVIO_OPF_CHILD)
        note->path = name_of_fd(t, fd).path;
    else
        note->handle = handle_ref(t, fd);
}

#endif
