/*
 * calls_handle.c: HANDLE records: who makes them, continues them, ends them.
 *
 * Each thread and epoch has its own record for an open file, so counting needs
 * no atomic operation. The record of the opener is the parent of the others.
 */
#include "calls.h"

static struct provio_handle dummy; /* takes the counts of records that were dropped */

uint32_t kind_of(uint32_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
        return PROVIO_KIND_FILE;
    case S_IFDIR:
        return PROVIO_KIND_DIRECTORY;
    case S_IFIFO:
        return PROVIO_KIND_FIFO;
    case S_IFSOCK:
        return PROVIO_KIND_SOCKET;
    case S_IFCHR:
    case S_IFBLK:
        return PROVIO_KIND_DEVICE;
    default:
        return PROVIO_KIND_OTHER;
    }
}

static int64_t nanoseconds(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void file_identity(struct pv_file *file, const struct stat *st) {
    file->kind = kind_of(st->st_mode);
    file->mode = st->st_mode;
    file->dev = st->st_dev;
    file->ino = st->st_ino;
    file->size = (uint64_t)st->st_size;
    file->mtime = nanoseconds(st->st_mtim);
    file->ctime = nanoseconds(st->st_ctim);
    if (file->kind == PROVIO_KIND_FILE) file->bits |= PV_SEEKABLE;
}

void handle_template(struct provio_handle *h, const struct pv_file *file) {
    h->flags = file->flags;
    h->image = pv_image;
    h->parent = file->parent;
    h->parent_file = file->parent_file;
    h->path = file->path;
    h->given = file->given;
    h->fd = file->fd;
    h->oflags = file->oflags;
    h->mode = file->mode;
    h->dev = file->dev;
    h->ino = file->ino;
    h->size_open = file->size;
    h->mtime_open = file->mtime;
    h->ctime_open = file->ctime;
    h->t_open = file->t_open;
    h->open_ns = file->open_ns;
}

/* The record of this thread and epoch; the first one of the image is the opener's. */
struct pv_open *handle_make(struct pv_thread *t, struct pv_file *file) {
    struct pv_open *open = open_new();
    if (!open) return NULL;
    struct provio_handle *h = file->bits & PV_IGNORED ? NULL : pv_reserve(t, sizeof *h);
    open->rec = h ? h : &dummy;
    open->file = file;
    open->tid = t->tid;
    open->epoch = t->epoch;
    if (h) {
        handle_template(h, file);
        h->epoch = t->epoch;
        h->tid = t->tid;
        if (file->first) {
            h->flags |= PROVIO_HANDLE_CONTINUED;
            h->flags &= ~(uint32_t)(PROVIO_HANDLE_CREATED | PROVIO_HANDLE_TRUNCATED);
            h->parent = file->first;
            h->parent_file = 0;
        }
        open->ref = pv_ref(h);
        if (!file->first) file->first = open->ref;
        pv_publish(t, h, PROVIO_REC_HANDLE, (uint8_t)file->kind);
    }
    open->next = __atomic_load_n(&file->opens, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&file->opens, &open->next, open, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
    }
    return open;
}

void handle_finish(struct pv_thread *t, struct pv_open *open, const struct stat *st) {
    struct provio_handle *h = open->rec;
    if (!open->ref) return;
    if (st && (st->st_ino != h->ino || st->st_dev != h->dev)) st = NULL;
    if (st) {
        h->size_close = (uint64_t)st->st_size;
        h->mtime_close = nanoseconds(st->st_mtim);
        h->ctime_close = nanoseconds(st->st_ctim);
    }
    h->t_close = pv_now();
    if (st) h->flags |= PROVIO_HANDLE_CLOSED;
    pv_touched(t, h, sizeof *h);
    for (int i = 0; i < 2; i++)
        if (open->extents[i]) pv_touched(t, open->extents[i], sizeof *open->extents[i]);
    open->ref = 0;
    open->rec = &dummy;
    open->extents[0] = open->extents[1] = NULL;
}

/* A descriptor that no call of ours has made: over exec, by the kernel, by libc itself. */
struct pv_file *file_adopt(struct pv_thread *t, int fd) {
    struct stat st;
    if (!stat_fd(fd, &st)) return NULL;
    struct pv_file *file = file_new();
    if (!file) return NULL;
    file_identity(file, &st);
    struct pv_name name = name_of_fd(t, fd);
    file->path = name.path;
    file->given = name.given;
    if (file->kind == PROVIO_KIND_FIFO && !name.given) file->kind = PROVIO_KIND_PIPE;
    file->given = 0;
    long oflags = pv_sys(SYS_fcntl, (long)fd, (long)F_GETFL, 0L);
    file->oflags = oflags < 0 ? 0 : (uint32_t)oflags;
    if (file->oflags & O_APPEND) file->bits |= PV_APPEND;
    file->offset = PV_UNKNOWN;
    file->forks = pv_forks - 1; /* others may hold it too */
    file->flags = PROVIO_HANDLE_ADOPTED;
    file->fd = fd;
    file->t_open = pv_now();
    return file;
}

static void lazy_fill(struct pv_thread *t, int fd, struct pv_file *file) {
    struct pv_file *real = file_adopt(t, fd);
    file->bits &= ~(uint32_t)PV_LAZY;
    if (!real) return;
    int same = real->dev == file->dev && real->ino == file->ino;
    if (same) {
        real->parent = file->parent;
        real->parent_file = file->parent_file;
    }
    real->refs = file->refs;
    *file = *real; /* `real` is left to the pool's memory: at most once per descriptor */
}

static struct pv_open *handle_find(const struct pv_thread *t, struct pv_file *file) {
    struct pv_open *open = __atomic_load_n(&file->opens, __ATOMIC_ACQUIRE);
    while (open && (open->tid != t->tid || open->epoch != t->epoch)) open = open->next;
    return open;
}

/* libc itself may have put another file there since (daemon, forkpty): looked at once per image. */
static int still_same(int fd, const struct pv_file *file) {
    struct stat st;
    return stat_fd(fd, &st) && st.st_ino == file->ino && st.st_dev == file->dev;
}

struct pv_open *handle_slow(struct pv_thread *t, int fd) {
    if (fd < 0) return NULL;
    struct pv_slot *slot = slot_find(fd);
    if (!slot) {
        struct pv_file *adopted = file_adopt(t, fd);
        if (!adopted) return NULL;
        slot_set(t, fd, adopted);
        slot = slot_find(fd);
        if (!slot) return NULL;
    }
    uint64_t key = slot->key;
    struct pv_file *file = slot->file;
    if (!key || !file) return NULL;
    if (file->bits & PV_LAZY)
        lazy_fill(t, fd, file);
    else if (!file->first && (file->flags & PROVIO_HANDLE_INHERITED) && !still_same(fd, file)) {
        slot_clear(t, fd, NULL);
        return handle_slow(t, fd);
    }
    if (!file->first && !file->path)
        file->path = name_of_fd(t, fd).path; /* its string is in the parent's file */
    struct pv_open *open = handle_find(t, file);
    if (!open) open = handle_make(t, file);
    if (!open) return NULL;
    t->cache[(unsigned)fd % PV_CACHE].key = key;
    t->cache[(unsigned)fd % PV_CACHE].open = open;
    return open;
}

uint32_t handle_ref(struct pv_thread *t, int fd) {
    struct pv_open *open = handle_of(t, fd);
    return open ? open->ref : 0;
}
