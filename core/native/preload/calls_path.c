/*
 * calls_path.c: the names that go into records: absolute, with the symbolic
 * links resolved that the call followed, by path alone (no descriptor of ours
 * is ever opened: another thread could close it).
 *
 * The directory part is resolved once and kept in calls_names.c. The last
 * component is not: files come and go. Buffers are per thread; a signal handler that finds them
 * in use gets the name unresolved instead.
 */
#include "calls.h"
#include "calls_names.h"

struct scratch {
    char absolute[PV_PATH];
    char real[PV_PATH];
    char rest[PV_PATH];
    const void *owner; /* frame address of the user; NULL: free */
};
static __thread struct scratch *scratch;

static struct scratch *scratch_take(const void *frame) {
    if (!scratch) scratch = calls_memory(sizeof *scratch);
    struct scratch *s = scratch;
    /* A frame that lies above ours was left by longjmp; one below is being interrupted. */
    if (!s || (s->owner && (uintptr_t)s->owner >= (uintptr_t)frame)) return NULL;
    s->owner = frame;
    return s;
}

uint32_t name_text(struct pv_thread *t, const char *text) {
    return text ? pv_string(t, text, pv_length(text)) : 0;
}

static size_t number_text(unsigned n, char *out) {
    char digits[12];
    size_t count = 0;
    do digits[count++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < count; i++) out[i] = digits[count - 1 - i];
    return count;
}

/* The text of /proc/self/fd/N; 0: not to be had. */
static size_t fd_text(int fd, char *out, size_t room) {
    char link[32] = "/proc/self/fd/";
    link[14 + number_text((unsigned)fd, link + 14)] = 0;
    long n = pv_sys(SYS_readlinkat, (long)AT_FDCWD, link, out, (long)room);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* The directory that a relative path starts from, without links; its length. */
static size_t base_text(int dirfd, char *out) {
    if (dirfd != AT_FDCWD) return fd_text(dirfd, out, PV_PATH / 2);
    long n = pv_sys(SYS_getcwd, out, (long)(PV_PATH / 2));
    return n > 1 && out[0] == '/' ? (size_t)n - 1 : 0;
}

/* Puts (dirfd, path) into s->absolute. Returns its length; *base: how much of it has no links. */
static size_t absolute_text(struct scratch *s, int dirfd, const char *path, size_t *base) {
    size_t n = 0, length = pv_length(path);
    *base = 0;
    if (path[0] != '/') {
        n = base_text(dirfd, s->absolute);
        if (!n) return 0;
        *base = n == 1 ? 0 : n;
        if (!length) return n;
        if (s->absolute[n - 1] != '/') s->absolute[n++] = '/';
    }
    if (length > PV_PATH - n - 1) length = PV_PATH - n - 1;
    pv_copy(s->absolute + n, path, length);
    s->absolute[n + length] = 0;
    return n + length;
}

/* Removes the last component of an absolute path without links. */
static size_t parent_of(const char *text, size_t length) {
    while (length > 0 && text[length - 1] != '/') length--;
    return length > 0 ? length - 1 : 0;
}

/* A link was met at real[0..n): what remains to be walked becomes target + rest. */
static size_t expand(struct scratch *s, size_t n, const char *target, size_t length, size_t at,
                     size_t *rest) {
    size_t left = *rest - at;
    size_t slash = left ? 1 : 0;
    if (length + left + slash >= PV_PATH) return n;
    for (size_t i = left; i-- > 0;) { /* memmove; `at` may be less than length */
        if (length + slash >= at) s->rest[length + slash + i] = s->rest[at + i];
    }
    if (length + slash < at)
        for (size_t i = 0; i < left; i++) s->rest[length + slash + i] = s->rest[at + i];
    pv_copy(s->rest, target, length);
    if (slash) s->rest[length] = '/';
    *rest = length + slash + left;
    return target[0] == '/' ? 0 : parent_of(s->real, n);
}

/* Walks s->rest on from s->real[0..n). Returns the new length. */
static size_t walk(struct scratch *s, size_t n, size_t rest) {
    char target[1024];
    int links = 0;
    size_t at = 0;
    while (at < rest) {
        while (at < rest && s->rest[at] == '/') at++;
        size_t end = at;
        while (end < rest && s->rest[end] != '/') end++;
        size_t length = end - at;
        if (length == 0) break;
        if (length == 2 && s->rest[at] == '.' && s->rest[at + 1] == '.') {
            n = parent_of(s->real, n);
        } else if (length != 1 || s->rest[at] != '.') {
            if (n + length + 2 > PV_PATH) return n;
            size_t before = n;
            s->real[n++] = '/';
            pv_copy(s->real + n, s->rest + at, length);
            n += length;
            s->real[n] = 0;
            if (names_is_plain(s->real, n)) {
                at = end;
                continue;
            }
            long linked = pv_sys(SYS_readlinkat, (long)AT_FDCWD, s->real, target, (long)sizeof target);
            if (linked > 0 && (size_t)linked < sizeof target && ++links < 40) {
                n = expand(s, n, target, (size_t)linked, end, &rest);
                (void)before;
                at = 0;
                continue;
            }
            if (linked == -EINVAL) names_put(s->real, n, s->real, n);
        }
        at = end;
    }
    return n;
}

/* The real text of the directory s->absolute[0..length), into s->real. */
static size_t directory_text(struct scratch *s, size_t length, size_t base) {
    size_t n = names_get(s->absolute, length, s->real, PV_PATH);
    if (n) return n == 1 ? 0 : n; /* "/" has length 0 while walking */
    size_t done = base <= length ? base : 0;
    pv_copy(s->real, s->absolute, done);
    size_t rest = length - done;
    pv_copy(s->rest, s->absolute + done, rest);
    n = walk(s, done, rest);
    s->real[n] = 0;
    if (n)
        names_put(s->absolute, length, s->real, n);
    else
        names_put(s->absolute, length, "/", 1);
    return n;
}

/* The resolved text of s->absolute into s->real; links at the end are followed on demand. */
static size_t real_text(struct scratch *s, size_t length, size_t base, enum pv_follow follow) {
    while (length > 1 && s->absolute[length - 1] == '/') length--;
    if (base >= length) base = 0;
    size_t cut = length;
    while (cut > 0 && s->absolute[cut - 1] != '/') cut--;
    size_t last = length - cut;
    const char *name = s->absolute + cut;
    int dots = (last == 1 && name[0] == '.') || (last == 2 && name[0] == '.' && name[1] == '.');
    if (!last || dots || base >= cut) return directory_text(s, length, base >= cut ? 0 : base);
    size_t n = directory_text(s, cut - 1, base);
    if (n + last + 2 > PV_PATH) return n;
    if (follow == PV_FOLLOW) {
        pv_copy(s->rest, name, last);
        return walk(s, n, last);
    }
    s->real[n++] = '/';
    pv_copy(s->real + n, name, last);
    return n + last;
}

static struct pv_name unresolved(struct pv_thread *t, const char *path) {
    struct pv_name name = {0, 0};
    if (path && path[0] == '/') name.path = name_text(t, path);
    return name;
}

struct pv_name name_at(struct pv_thread *t, int dirfd, const char *path, enum pv_follow follow) {
    struct pv_name name = {0, 0};
    if (!path) return name;
    struct scratch *s = scratch_take(__builtin_frame_address(0));
    if (!s) return unresolved(t, path);
    size_t base, length = absolute_text(s, dirfd, path, &base);
    if (length) {
        size_t n = real_text(s, length, base, follow);
        if (n == 0) s->real[n++] = '/';
        name.path = pv_string(t, s->real, n);
        int same = n == length;
        for (size_t i = 0; same && i < n; i++) same = s->real[i] == s->absolute[i];
        if (!same) name.given = pv_string(t, s->absolute, length);
    }
    s->owner = NULL;
    return name;
}

#define DELETED " (deleted)"
/* `given` is non-zero when the text is a path, not "pipe:[7]". */
struct pv_name name_of_fd(struct pv_thread *t, int fd) {
    struct pv_name name = {0, 0};
    struct scratch *s = scratch_take(__builtin_frame_address(0));
    if (!s) return name;
    size_t n = fd_text(fd, s->real, PV_PATH - 1);
    s->real[n] = 0;
    size_t tail = sizeof DELETED - 1;
    if (n > tail && pv_starts(s->real + n - tail, DELETED)) n -= tail;
    if (n) name.path = pv_string(t, s->real, n);
    if (n && s->real[0] == '/') name.given = name.path;
    s->owner = NULL;
    return name;
}
