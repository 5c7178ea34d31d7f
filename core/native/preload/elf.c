/*
 * elf.c: can our library go into that program? Answered before exec, because
 * ld.so would print an error into the user's terminal where it cannot.
 *
 * Reads the first bytes of the file, follows "#!" lines, and looks at the
 * program's interpreter and needed libraries. Raw system calls only; a file
 * that cannot be read is left to exec itself to refuse.
 */
#include <elf.h>

#include "internal.h"

#define HEAD 512
#define SCRIPTS 5

static long open_program(int dirfd, const char *path) {
    if (path[0]) return pv_sys(SYS_openat, (long)dirfd, path, (long)(O_RDONLY | O_CLOEXEC), 0L);
    char link[40];
    struct pv_text text = pv_text_on(link, sizeof link);
    pv_text_add(&text, "/proc/self/fd/");
    pv_text_number(&text, (uint64_t)(unsigned)dirfd);
    pv_text_end(&text);
    return pv_sys(SYS_openat, (long)AT_FDCWD, link, (long)(O_RDONLY | O_CLOEXEC), 0L);
}

static long read_at(long fd, void *to, size_t size, uint64_t at) {
    return pv_own_bytes(0, pv_sys(SYS_pread64, fd, to, (long)size, (long)at));
}

/* The interpreter of a "#!" line, in place; NULL: not a script. */
static char *script_interpreter(char *head, long n) {
    if (n < 4 || head[0] != '#' || head[1] != '!') return NULL;
    char *at = head + 2;
    while (*at == ' ' || *at == '\t') at++;
    char *end = at;
    while (*end && *end != ' ' && *end != '\t' && *end != '\n') end++;
    *end = 0;
    return *at ? at : NULL;
}

static int is_secure(long fd) {
    struct stat st;
    pv_zero(&st, sizeof st);
    if (pv_sys(SYS_fstat, fd, &st) < 0) return 0;
    if ((st.st_mode & S_ISUID) && st.st_uid != (uid_t)pv_sys(SYS_geteuid)) return 1;
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != (gid_t)pv_sys(SYS_getegid)) return 1;
    char capability[64];
    return pv_sys(SYS_geteuid) != 0 &&
           pv_sys(SYS_fgetxattr, fd, "security.capability", capability, (long)sizeof capability) > 0;
}

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif
#define MAX_HEADERS 32

/* File offset of a virtual address, by the loadable segments. */
static uint64_t file_offset(const Elf64_Phdr *headers, int count, uint64_t address) {
    for (int i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && address - headers[i].p_vaddr < headers[i].p_filesz)
            return address - headers[i].p_vaddr + headers[i].p_offset;
    return 0;
}

static int names_sanitizer(const char *name) {
    static const char *const needed[] = {"libasan.so",   "libtsan.so",       "libmsan.so",
                                         "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (pv_starts(name, needed[i])) return 1;
    return 0;
}

static int needs_sanitizer(long fd, const Elf64_Phdr *headers, int count, const Elf64_Phdr *dynamic) {
    Elf64_Dyn entries[96];
    uint64_t strings = 0;
    size_t size = dynamic->p_filesz < sizeof entries ? dynamic->p_filesz : sizeof entries;
    long got = read_at(fd, entries, size, dynamic->p_offset);
    int n = got > 0 ? (int)((size_t)got / sizeof *entries) : 0;
    for (int i = 0; i < n; i++)
        if (entries[i].d_tag == DT_STRTAB) strings = file_offset(headers, count, entries[i].d_un.d_ptr);
    for (int i = 0; strings && i < n && entries[i].d_tag != DT_NULL; i++) {
        char name[32] = {0};
        if (entries[i].d_tag != DT_NEEDED) continue;
        read_at(fd, name, sizeof name - 1, strings + entries[i].d_un.d_val);
        if (names_sanitizer(name)) return 1;
    }
    return 0;
}

static int foreign_interpreter(long fd, const Elf64_Phdr *interp) {
    char name[256] = {0};
    read_at(fd, name, interp->p_filesz < sizeof name - 1 ? interp->p_filesz : sizeof name - 1,
            interp->p_offset);
    return pv_find(name, "ld-linux") == NULL;
}

static int elf_gap(long fd, const char *head, long n) {
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)head;
    Elf64_Phdr headers[MAX_HEADERS];
    const Elf64_Phdr *interp = NULL, *dynamic = NULL;
    if (n < (long)sizeof *elf || elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != OUR_MACHINE)
        return PROVIO_GAP_FOREIGN_LIBC;
    int count = elf->e_phnum < MAX_HEADERS ? elf->e_phnum : MAX_HEADERS;
    long got = read_at(fd, headers, (size_t)count * sizeof *headers, elf->e_phoff);
    count = got > 0 ? (int)((size_t)got / sizeof *headers) : 0;
    for (int i = 0; i < count; i++) {
        if (headers[i].p_type == PT_INTERP) interp = &headers[i];
        if (headers[i].p_type == PT_DYNAMIC) dynamic = &headers[i];
    }
    if (!interp) return PROVIO_GAP_STATIC_BINARY;
    if (foreign_interpreter(fd, interp)) return PROVIO_GAP_FOREIGN_LIBC;
    return dynamic && needs_sanitizer(fd, headers, count, dynamic) ? PROVIO_GAP_SANITIZER : 0;
}

static int library_gap(void) {
    const char *own = pv_own_path();
    if (pv_find(own, " ") || pv_find(own, ":")) return PROVIO_GAP_NO_LIBRARY;
    return pv_sys(SYS_faccessat, (long)AT_FDCWD, own, 4L, 0L) < 0 ? PROVIO_GAP_NO_LIBRARY : 0;
}

int pv_program_gap(int dirfd, const char *path) {
    char head[HEAD], interpreter[HEAD];
    for (int depth = 0; depth < SCRIPTS; depth++) {
        long fd = open_program(dirfd, path);
        if (fd < 0) return library_gap(); /* execute-only, or exec will say what is wrong */
        long n = read_at(fd, head, sizeof head - 1, 0);
        head[n > 0 ? n : 0] = 0;
        char *next = script_interpreter(head, n);
        int gap = 0;
        if (!next && n >= 4 && pv_starts(head, "\177ELF")) {
            gap = is_secure(fd) ? PROVIO_GAP_SETUID : elf_gap(fd, head, n);
        }
        pv_sys(SYS_close, fd);
        if (!next) return gap ? gap : library_gap();
        pv_copy(interpreter, next, pv_length(next) + 1);
        path = interpreter;
        dirfd = AT_FDCWD;
    }
    return library_gap();
}
