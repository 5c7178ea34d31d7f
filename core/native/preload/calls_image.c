/*
 * calls_image.c: descriptors over exec and fork, and the end of an image. The
 * runtime calls these; none is a wrapper.
 *
 * PROVIO_FDS is "fd:ref:dev:ino," in hexadecimal for each descriptor that
 * survives exec. Device and inode are compared at adoption: what a vfork child
 * or a spawn file action did in between is then told from what we knew.
 */
#include "calls.h"
#include "calls_names.h"

uint32_t pv_parent_file;

static const char *hex_in(const char *text, uint64_t *value) {
    *value = 0;
    for (;; text++) {
        unsigned digit = (unsigned)*text - '0';
        if (digit > 9) digit = (unsigned)*text - 'a' < 6 ? (unsigned)*text - 'a' + 10 : 16;
        if (digit > 15) return text;
        *value = *value << 4 | digit;
    }
}

static size_t hex_out(uint64_t value, char end, char *out) {
    int shift = 60;
    size_t n = 0;
    while (shift > 0 && !(value >> shift & 15)) shift -= 4;
    for (; shift >= 0; shift -= 4) out[n++] = "0123456789abcdef"[value >> shift & 15];
    out[n++] = end;
    return n;
}

static void adopt_later(struct pv_thread *t, const uint64_t field[4]) {
    struct pv_file *file = file_new();
    if (!file || field[0] >= PV_SLOTS * PV_CHUNKS || slot_find((int)field[0])) return;
    file->fd = (int)field[0];
    file->parent = (uint32_t)field[1];
    file->parent_file = pv_parent_file;
    file->dev = field[2];
    file->ino = field[3];
    file->bits = PV_LAZY;
    file->offset = PV_UNKNOWN;
    file->forks = pv_forks - 1;
    file->flags = PROVIO_HANDLE_ADOPTED;
    slot_set(t, (int)field[0], file);
}

void calls_image_begin(struct pv_thread *t, const char *handoff) {
    while (handoff && *handoff) {
        uint64_t field[4];
        for (int i = 0; i < 4; i++) {
            handoff = hex_in(handoff, &field[i]);
            if (*handoff != (i < 3 ? ':' : ',')) return;
            handoff++;
        }
        adopt_later(t, field);
    }
}

size_t calls_handoff(char *out, size_t room) {
    size_t n = 0;
    int limit = slot_limit();
    for (int fd = 0; fd < limit && n + 64 < room; fd++) {
        const struct pv_slot *slot = slot_find(fd);
        if (!slot || !slot->file) continue;
        const struct pv_file *file = slot->file;
        uint32_t ref = file->first ? file->first : file->parent;
        if (!ref || (pv_sys(SYS_fcntl, (long)fd, (long)F_GETFD, 0L) & FD_CLOEXEC)) continue;
        n += hex_out((uint64_t)fd, ':', out + n);
        n += hex_out(ref, ':', out + n);
        n += hex_out(file->dev, ':', out + n);
        n += hex_out(file->ino, ',', out + n);
    }
    if (room) out[n] = 0;
    return n;
}

/* In the child: every open file gets a record of its own at its first use here. */
void calls_forked(void) {
    int limit = slot_limit();
    names_forked();
    pv_forks++;
    for (int fd = 0; fd < limit; fd++) {
        struct pv_slot *slot = slot_find(fd);
        if (!slot || !slot->file) continue;
        struct pv_file *file = slot->file;
        if (file->first) {
            file->parent = file->first;
            file->parent_file = pv_parent_file;
            if (pv_parent_file)
                file->path = file->given = 0; /* strings of another file: the parent record has them */
            file->flags = (file->flags & ~(uint32_t)(PROVIO_HANDLE_CREATED | PROVIO_HANDLE_TRUNCATED |
                                                     PROVIO_HANDLE_ADOPTED | PROVIO_HANDLE_STDIO)) |
                          PROVIO_HANDLE_INHERITED;
        }
        file->first = 0;
        file->opens = NULL;
        file->offset = PV_UNKNOWN;
    }
}

void calls_epoch_changed(struct pv_thread *t) {
    pv_zero(t->cache, sizeof t->cache);
}

/* In the parent, before a fork: the offsets of open files are shared from now on. */
void calls_forking(void) {
    pv_forks++;
}

static void ended(struct pv_thread *t, const struct pv_slot *slot, const struct stat *st, int exiting) {
    for (struct pv_open *open = slot->file->opens; open; open = open->next) {
        struct provio_handle *h = open->rec;
        if (!open->ref || h->ino != st->st_ino || h->dev != st->st_dev) continue;
        h->size_close = (uint64_t)st->st_size;
        h->mtime_close = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
        h->ctime_close = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
        if (exiting) {
            h->t_close = pv_now();
            h->flags |= PROVIO_HANDLE_CLOSED;
        }
        pv_touched(t, h, sizeof *h);
    }
}

/* Streams that libc flushes after us are counted now; what their files are like then, nobody sees here. */
void calls_image_end(struct pv_thread *t, enum provio_end why) {
    int limit = slot_limit();
    if (why == PROVIO_END_EXIT) streams_flushed(t, 0);
    for (int fd = 0; fd < limit; fd++) {
        const struct pv_slot *slot = slot_find(fd);
        struct stat st;
        if (!slot || !slot->file || !slot->file->opens || slot->file->kind != PROVIO_KIND_FILE) continue;
        if (slot->counted != 0 || !stat_fd(fd, &st)) continue;
        account_check(t, fd, slot->file, &st);
        ended(t, slot, &st, why == PROVIO_END_EXIT);
    }
}
