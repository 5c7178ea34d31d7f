/*
 * arena_file.c: makes and opens the I/O file: name, header, the .where note.
 *
 * A file appears under its name only when it is complete (temporary name, then
 * link), so whoever opens it finds a whole header. Runs once per process image,
 * and in layout BLOCKS once per forked child. Raw system calls only.
 */
#include <linux/magic.h>
#include <sys/statfs.h>

#include "arena.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#define XFS_MAGIC 0x58465342

static int address_space_limited(void) {
    struct rlimit64 limit;
    return pv_sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur != RLIM64_INFINITY;
}

static int local_file_system(int fd) {
    struct statfs fs;
    if (pv_sys(SYS_fstatfs, fd, &fs) != 0) return 0;
    switch ((uint32_t)fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return 1;
    default:
        return 0; /* btrfs too: copy on write makes a dirty page fail later, with SIGBUS */
    }
}

static void header_fill(struct provio_file_header *h, const struct pv_task *task) {
    struct timespec now;
    char uts[6 * 65] = {0}, boot[64] = {0}, hex[33];
    pv_sys(SYS_uname, uts);
    pv_read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    for (int i = 0, n = 0; i < 64 && n < 32; i++)
        if (boot[i] != '-') hex[n++] = boot[i];
    pv_parse_id(hex, h->boot);
    pv_copy(h->magic, PROVIO_FILE_MAGIC, 8);
    h->major = PROVIO_FORMAT_MAJOR;
    h->minor = PROVIO_FORMAT_MINOR;
    h->header_size = PROVIO_HEADER_SIZE;
    h->tracer = PROVIO_TRACER_PRELOAD;
    h->layout = pv_blocks ? PROVIO_LAYOUT_BLOCKS : PROVIO_LAYOUT_ARENA;
    pv_copy(h->run, task->run, 16);
    pv_copy(h->attempt, task->attempt, 16);
    if (pv_vdso_clock)
        pv_vdso_clock(CLOCK_REALTIME, &now);
    else
        pv_sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
    h->realtime = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
    h->monotonic = pv_now();
    pv_copy(h->host, uts + 65, 63);
    h->next = PROVIO_HEADER_SIZE;
}

static void json_string(struct pv_text *text, const char *bytes) {
    for (; *bytes; bytes++) {
        unsigned char c = (unsigned char)*bytes;
        if (c < 0x20 || c == '"' || c == '\\') {
            pv_text_add(text, "\\u");
            pv_text_hex(text, c, 4);
        } else {
            pv_text_bytes(text, bytes, 1);
        }
    }
}

/* Says which node is about to write which file; made before the file. */
static void write_where(const struct provio_file_header *h) {
    char path[PATH_MAX + 8], json[PATH_MAX * 2];
    struct pv_text name = pv_text_on(path, sizeof path), body = pv_text_on(json, sizeof json);
    size_t stem = pv_length(pv_arena.path) - (sizeof ".preload" - 1);
    pv_text_bytes(&name, pv_arena.path, stem);
    pv_text_add(&name, ".where");
    pv_text_end(&name);
    pv_text_add(&body, "{\"host\": \"");
    json_string(&body, h->host);
    pv_text_add(&body, "\", \"boot_id\": \"");
    for (int i = 0; i < 16; i++) pv_text_hex(&body, h->boot[i], 2);
    pv_text_add(&body, "\", \"path\": \"");
    json_string(&body, pv_arena.path);
    pv_text_add(&body, "\"}\n");
    int fd = arena_open(path, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) return;
    pv_own_bytes(1, pv_sys(SYS_write, fd, json, body.at - json));
    pv_sys(SYS_close, fd);
}

/* Make it under a temporary name, complete, then link it: who opens it finds a whole header. */
static int file_make(struct provio_file_header *h) {
    char temporary[PATH_MAX + 64];
    struct pv_text name = pv_text_on(temporary, sizeof temporary);
    pv_text_bytes(&name, pv_arena.path, pv_arena.directory);
    pv_text_add(&name, ".new-");
    pv_text_number(&name, (uint64_t)pv_sys(SYS_getpid));
    pv_text_add(&name, "-");
    pv_text_hex(&name, pv_now(), 16);
    pv_text_end(&name);
    uint64_t end = pv_blocks ? PROVIO_HEADER_SIZE : CHUNK;
    if (!arena_size_allowed(end)) return -1;
    int fd = arena_open(temporary, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0) return -1;
    int whole = pv_own_bytes(1, pv_sys(SYS_pwrite64, fd, h, sizeof *h, 0)) == (long)sizeof *h &&
                (pv_blocks || arena_grow(fd, end));
    if (whole) write_where(h);
    long linked = whole ? pv_sys(SYS_linkat, AT_FDCWD, temporary, AT_FDCWD, pv_arena.path, 0) : -1;
    if (whole && linked == -EPERM)
        linked = pv_sys(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, pv_arena.path, RENAME_NOREPLACE);
    pv_sys(SYS_unlinkat, AT_FDCWD, temporary, 0);
    if (linked == 0) return fd;
    pv_sys(SYS_close, fd);
    return linked == -EEXIST ? -2 : -1;
}

static int header_valid(const struct provio_file_header *h) {
    return pv_same(h->magic, PROVIO_FILE_MAGIC, 8) && h->major == PROVIO_FORMAT_MAJOR &&
           h->layout == PROVIO_LAYOUT_ARENA && h->tracer == PROVIO_TRACER_PRELOAD;
}

static int arena_map(int fd) {
    struct stat st;
    if (pv_sys(SYS_fstat, fd, &st) != 0 || (st.st_mode & S_IFMT) != S_IFREG || st.st_size < (off_t)CHUNK)
        return 0;
    long at = pv_sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at < 0 && at > -4096) return 0;
    struct provio_file_header *h = (struct provio_file_header *)at;
    if (!header_valid(h)) {
        pv_sys(SYS_munmap, at, PAGE);
        return 0;
    }
    pv_sys(SYS_madvise, at, PAGE, MADV_DONTDUMP);
    pv_arena.size = (uint64_t)st.st_size;
    pv_arena.header = h;
    uint64_t next = (h->next + PAGE - 1) / PAGE * PAGE;
    if (next < LIMIT) arena_window(fd, next); /* while the descriptor is at hand */
    return 1;
}

static void *private_page(void) {
    long at = pv_sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static int directory_is_local(void) {
    char c = pv_arena.path[pv_arena.directory];
    pv_arena.path[pv_arena.directory] = '\0';
    int fd = (int)pv_sys(SYS_openat, AT_FDCWD, pv_arena.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pv_arena.path[pv_arena.directory] = c;
    int local = fd >= 0 && local_file_system(fd);
    if (fd >= 0) pv_sys(SYS_close, fd);
    return local;
}

static void name_begin(struct pv_text *name, const char *spool) {
    pv_text_add(name, spool);
    pv_text_add(name, "/io/");
    pv_arena.directory = (size_t)(name->at - pv_arena.path);
}

static void name_of_node(struct pv_text *name, const uint8_t attempt[16], const char *file) {
    char boot[16] = {0};
    for (int i = 0; i < 16; i++) pv_text_hex(name, attempt[i], 2);
    pv_text_add(name, "-");
    if (file)
        pv_text_bytes(name, file + 33, 8);
    else if (pv_read_file("/proc/sys/kernel/random/boot_id", boot, 9) == 8)
        pv_text_bytes(name, boot, 8);
    else
        pv_text_add(name, "00000000");
}

static int open_blocks(const struct pv_task *task, struct pv_text stem) {
    struct provio_file_header *h = private_page();
    pv_blocks = 1;
    pv_arena.windows = 0;
    if (!h) return 0;
    header_fill(h, task);
    for (uint64_t n = 0; n < 64; n++) {
        struct pv_text name = stem;
        pv_text_add(&name, "-");
        pv_text_number(&name, (uint64_t)pv_sys(SYS_getpid));
        pv_text_add(&name, "-");
        pv_text_number(&name, n);
        pv_text_add(&name, ".preload");
        pv_text_end(&name);
        int fd = name.cut ? -1 : file_make(h);
        if (fd == -2) continue;
        if (fd < 0) break;
        pv_sys(SYS_close, fd);
        pv_arena.header = h;
        return 1;
    }
    pv_sys(SYS_munmap, h, PAGE);
    return 0;
}

static int make_arena(const struct pv_task *task) {
    struct provio_file_header *h = private_page();
    if (!h) return -1;
    header_fill(h, task);
    int fd = file_make(h);
    pv_sys(SYS_munmap, h, PAGE);
    return fd == -2 ? arena_open(pv_arena.path, O_RDWR) : fd;
}

/* The name of the file of who executed us, "<attempt>-<node>[-<pid>-<n>].preload", if it is of the same
 * attempt. */
static int from_name(const struct pv_task *task, char name[64]) {
    const char *from = pv_settings.value[PV_WIRE_FROM];
    uint8_t attempt[16];
    size_t n = 0;
    while (from[n] && from[n] != ':' && n < 63) n++;
    pv_copy(name, from, n);
    name[n] = '\0';
    return n >= 41 && name[32] == '-' && pv_parse_id(name, attempt) && pv_same(attempt, task->attempt, 16);
}

int pv_arena_open(const struct pv_task *task) {
    struct pv_text name = pv_text_on(pv_arena.path, sizeof pv_arena.path - 1);
    char from[64];
    const char *file = from_name(task, from) ? from : NULL;
    pv_arena.small = address_space_limited();
    name_begin(&name, pv_settings.value[PV_WIRE_SPOOL]);
    name_of_node(&name, task->attempt, file);
    struct pv_text stem = name;
    if (pv_equal(pv_settings.value[PV_WIRE_ARENA], "blocks") || (file && file[41] == '-'))
        return open_blocks(task, stem);
    pv_text_add(&name, ".preload");
    pv_text_end(&name);
    if (name.cut) return 0;
    int fd = arena_open(pv_arena.path, O_RDWR);
    if (fd == -ENOENT) {
        if (!directory_is_local()) return open_blocks(task, stem);
        fd = make_arena(task);
    }
    if (fd < 0) return 0;
    int mapped = arena_map(fd);
    pv_sys(SYS_close, fd);
    return mapped;
}

static char parent_name[128];

const char *pv_arena_parent(void) {
    return parent_name;
}

int pv_arena_forked(void) {
    if (!pv_blocks) return 1;
    struct pv_text parent_text = pv_text_on(parent_name, sizeof parent_name);
    pv_text_add(&parent_text, pv_arena_name());
    pv_text_end(&parent_text);
    struct provio_file_header *parent = pv_arena.header;
    struct pv_text name = pv_text_on(pv_arena.path, sizeof pv_arena.path - 1);
    struct pv_task task;
    pv_copy(task.run, parent->run, 16);
    pv_copy(task.attempt, parent->attempt, 16);
    name.at += pv_arena.directory + 41;
    pv_arena.header = NULL;
    for (uint32_t i = 0; i < WINDOWS && pv_arena.window[i].at; i++) pv_arena.window[i].at = NULL;
    pv_strings_forget();
    return open_blocks(&task, name);
}
