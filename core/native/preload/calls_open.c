/*
 * calls_open.c: open, openat, creat, the mkstemp family, memfd_create; and
 * what every way of opening a file shares (opening_begin, opening_end).
 *
 * CREATED is proved: O_EXCL succeeded, or a readlink just before an O_CREAT
 * open said that the name did not exist. That readlink also tells whether the
 * last component is a link, so creating costs one system call more, not two.
 * A race with another creator between the two calls can set it wrongly; no
 * order of system calls without O_EXCL avoids that.
 */
#include "calls.h"

#include <stdarg.h>
#include <sys/mman.h>

static long link_of(int dirfd, const char *path) {
    char text[8];
    return pv_sys(SYS_readlinkat, (long)dirfd, path, text, (long)sizeof text);
}

void opening_begin(struct pv_opening *o, int dirfd, const char *path, int flags) {
    o->dirfd = dirfd;
    o->path = path;
    o->flags = flags;
    o->link = -1;
    o->fresh = 0;
    int tmpfile = (flags & O_TMPFILE) == O_TMPFILE;
    if ((flags & (O_CREAT | O_EXCL)) == O_CREAT && !tmpfile && path) {
        struct stat st;
        long is = link_of(dirfd, path);
        o->link = is >= 0;
        o->fresh =
            is == -ENOENT || (is >= 0 && pv_sys(SYS_newfstatat, (long)dirfd, path, &st, 0L) == -ENOENT);
    } else if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
        o->fresh = 1;
        o->link = 0;
    } else if ((flags & O_NOFOLLOW) || tmpfile) {
        o->link = 0;
    }
    o->begin = pv_now();
}

static struct pv_name opened_name(struct pv_thread *t, const struct pv_opening *o, int fd) {
    int link = o->link;
    if (link < 0) link = link_of(o->dirfd, o->path) >= 0;
    int tmpfile = (o->flags & O_TMPFILE) == O_TMPFILE;
    struct pv_name name = name_at(t, o->dirfd, o->path, PV_NOFOLLOW);
    if (!link && !tmpfile && name.path) return name;
    struct pv_name real = name_of_fd(t, fd);
    if (!real.path) return name;
    uint32_t said = name.given ? name.given : name.path;
    name.path = real.path;
    name.given = tmpfile || said == real.path ? 0 : said;
    return name;
}

size_t provio_spool_get(char *out, size_t room);

/* Who writes our spool in a traced process (an engine's plugin) is no part of the workflow's files. */
int calls_own(const char *path) {
    static char spool[4096];
    static int known;
    if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
        if (!provio_spool_get(spool, sizeof spool)) spool[0] = 0;
        __atomic_store_n(&known, 1, __ATOMIC_RELEASE);
    }
    return spool[0] && path && pv_starts(path, spool) && path[pv_length(spool)] == '/';
}

static void file_fill(struct pv_thread *t, struct pv_file *file, const struct pv_opening *o, int fd) {
    struct stat st;
    file->t_open = o->begin;
    file->open_ns = pv_now() - o->begin;
    if (stat_fd(fd, &st)) file_identity(file, &st);
    struct pv_name name = opened_name(t, o, fd);
    file->path = name.path;
    file->given = name.given;
    file->fd = fd;
    file->oflags = (uint32_t)o->flags;
    file->forks = pv_forks;
    if (name.given) file->flags |= PROVIO_HANDLE_OTHER_ALIAS;
    if (o->flags & O_APPEND) file->flags |= PROVIO_HANDLE_APPEND, file->bits |= PV_APPEND;
    if ((o->flags & O_TMPFILE) == O_TMPFILE)
        file->flags |= PROVIO_HANDLE_TMPFILE | PROVIO_HANDLE_CREATED;
    else if ((o->flags & O_CREAT) && o->fresh)
        file->flags |= PROVIO_HANDLE_CREATED;
    else if ((o->flags & O_TRUNC) && (o->flags & O_ACCMODE) != O_RDONLY && file->kind == PROVIO_KIND_FILE)
        file->flags |= PROVIO_HANDLE_TRUNCATED;
}

static void opened_by_child(struct pv_thread *t, const struct pv_opening *o, int fd) {
    struct pv_file file = {.flags = PROVIO_HANDLE_CHILD};
    file_fill(t, &file, o, fd);
    struct provio_handle *h = pv_reserve(t, sizeof *h);
    if (!h) return;
    handle_template(h, &file);
    h->epoch = t->epoch;
    h->tid = t->tid;
    pv_publish(t, h, PROVIO_REC_HANDLE, (uint8_t)file.kind);
}

static void open_failed(struct pv_thread *t, const struct pv_opening *o, uint16_t flags) {
    struct pv_name name = name_at(t, o->dirfd, o->path, o->flags & O_NOFOLLOW ? PV_NOFOLLOW : PV_FOLLOW);
    struct pv_note note = {.op = PROVIO_OP_OPEN,
                           .flags = flags,
                           .arg = (uint32_t)o->flags,
                           .path = name.path,
                           .result = -1,
                           .begin = o->begin};
    op_note(t, &note);
}

void opening_end(struct pv_opening *o, int fd) {
    uint16_t child;
    struct pv_thread *t = op_thread(&child);
    if (!t) return;
    if (fd < 0) {
        open_failed(t, o, child);
        return;
    }
    if (child) {
        opened_by_child(t, o, fd);
        return;
    }
    struct pv_file *file = file_new();
    if (!file) return;
    file_fill(t, file, o, fd);
    if (calls_own(o->path)) file->bits |= PV_IGNORED;
    slot_set(t, fd, file);
    handle_slow(t, fd);
}

/* A descriptor that is not opened by path: pipe, socket, memfd. */
void calls_opened(struct pv_thread *t, int fd, uint32_t kind, int oflags, uint32_t flags, const char *name) {
    struct stat st;
    if (fd < 0 || !stat_fd(fd, &st)) return;
    struct pv_file *file = file_new();
    if (!file) return;
    file->t_open = pv_now();
    file_identity(file, &st);
    if (kind) file->kind = kind;
    file->path = name ? name_text(t, name) : name_of_fd(t, fd).path;
    file->fd = fd;
    file->oflags = (uint32_t)oflags;
    file->flags = flags;
    file->forks = pv_forks;
    slot_set(t, fd, file);
    handle_slow(t, fd);
}

static int wanted(void) {
    return pv_thread() || pv_vforked();
}

static int has_mode(int flags) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static int open_recorded(int dirfd, const char *path, int flags, mode_t mode, int at) {
    if (!wanted()) return at ? pv_real.openat(dirfd, path, flags, mode) : pv_real.open(path, flags, mode);
    struct pv_opening o;
    opening_begin(&o, dirfd, path, flags);
    int fd = at ? pv_real.openat(dirfd, path, flags, mode) : pv_real.open(path, flags, mode);
    opening_end(&o, fd);
    return fd;
}

PV_EXPORT int open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = has_mode(flags) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_recorded(AT_FDCWD, path, flags, mode, 0);
}
PV_ALIAS(open64, open);
PV_ALIAS(__open, open);
PV_ALIAS(__open64, open);

PV_EXPORT int openat(int dirfd, const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = has_mode(flags) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_recorded(dirfd, path, flags, mode, 1);
}
PV_ALIAS(openat64, openat);

/* Fortified calls without a mode argument; the real ones abort when one is missing. */
PV_EXPORT int __open_2(const char *path, int flags) {
    if (has_mode(flags) || !wanted()) return pv_real.__open_2(path, flags);
    return open_recorded(AT_FDCWD, path, flags, 0, 0);
}
PV_ALIAS(__open64_2, __open_2);

PV_EXPORT int __openat_2(int dirfd, const char *path, int flags) {
    if (has_mode(flags) || !wanted()) return pv_real.__openat_2(dirfd, path, flags);
    return open_recorded(dirfd, path, flags, 0, 1);
}
PV_ALIAS(__openat64_2, __openat_2);

PV_EXPORT int creat(const char *path, mode_t mode) {
    if (!wanted()) return pv_real.creat(path, mode);
    struct pv_opening o;
    opening_begin(&o, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC);
    int fd = pv_real.creat(path, mode);
    opening_end(&o, fd);
    return fd;
}
PV_ALIAS(creat64, creat);

/* The name is known only afterwards, and the file is new. */
static int temporary(char *template, int flags, uint64_t begin, int fd) {
    struct pv_opening o = {.dirfd = AT_FDCWD,
                           .path = template,
                           .flags = flags | O_RDWR | O_CREAT | O_EXCL,
                           .fresh = 1,
                           .begin = begin};
    if (wanted()) opening_end(&o, fd);
    return fd;
}

PV_EXPORT int mkstemp(char *template) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    return temporary(template, 0, begin, pv_real.mkstemp(template));
}
PV_ALIAS(mkstemp64, mkstemp);

PV_EXPORT int mkostemp(char *template, int flags) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    return temporary(template, flags, begin, pv_real.mkostemp(template, flags));
}
PV_ALIAS(mkostemp64, mkostemp);

PV_EXPORT int mkstemps(char *template, int suffix) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    return temporary(template, 0, begin, pv_real.mkstemps(template, suffix));
}
PV_ALIAS(mkstemps64, mkstemps);

PV_EXPORT int mkostemps(char *template, int suffix, int flags) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    return temporary(template, flags, begin, pv_real.mkostemps(template, suffix, flags));
}
PV_ALIAS(mkostemps64, mkostemps);

PV_EXPORT int memfd_create(const char *name, unsigned flags) {
    struct pv_thread *t = pv_thread();
    int fd = pv_real.memfd_create(name, flags);
    if (t && fd >= 0) calls_opened(t, fd, 0, O_RDWR, PROVIO_HANDLE_TMPFILE | PROVIO_HANDLE_CREATED, NULL);
    return fd;
}
