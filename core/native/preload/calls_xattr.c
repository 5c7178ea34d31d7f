/* calls_xattr.c: extended attributes, of a name, of a link itself, of a descriptor. */
#include "calls_note.h"

#include <sys/xattr.h>

/* With path NULL it is about the descriptor. */
static ssize_t asked(struct pv_thread *t, struct pv_note *note, int fd, const char *path, const char *name,
                     int self, ssize_t r) {
    if (!t) return r;
    if (path)
        note_path(t, note, AT_FDCWD, path);
    else
        note_fd(t, note, fd);
    if (self) note->flags |= PROVIO_OPF_NOFOLLOW;
    note->path2 = name_text(t, name);
    note_end(note, r);
    return r;
}

PV_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_GETXATTR);
    return asked(t, &note, -1, path, name, 0, pv_real.getxattr(path, name, value, size));
}

PV_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_GETXATTR);
    return asked(t, &note, -1, path, name, 1, pv_real.lgetxattr(path, name, value, size));
}

PV_EXPORT ssize_t fgetxattr(int fd, const char *name, void *value, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_GETXATTR);
    return asked(t, &note, fd, NULL, name, 0, pv_real.fgetxattr(fd, name, value, size));
}

PV_EXPORT int setxattr(const char *path, const char *name, const void *value, size_t size, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_SETXATTR);
    return (int)asked(t, &note, -1, path, name, 0, pv_real.setxattr(path, name, value, size, flags));
}

PV_EXPORT int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_SETXATTR);
    return (int)asked(t, &note, -1, path, name, 1, pv_real.lsetxattr(path, name, value, size, flags));
}

PV_EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_SETXATTR);
    return (int)asked(t, &note, fd, NULL, name, 0, pv_real.fsetxattr(fd, name, value, size, flags));
}

PV_EXPORT ssize_t listxattr(const char *path, char *list, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTXATTR);
    return asked(t, &note, -1, path, NULL, 0, pv_real.listxattr(path, list, size));
}

PV_EXPORT ssize_t llistxattr(const char *path, char *list, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTXATTR);
    return asked(t, &note, -1, path, NULL, 1, pv_real.llistxattr(path, list, size));
}

PV_EXPORT ssize_t flistxattr(int fd, char *list, size_t size) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_LISTXATTR);
    return asked(t, &note, fd, NULL, NULL, 0, pv_real.flistxattr(fd, list, size));
}

PV_EXPORT int removexattr(const char *path, const char *name) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_REMOVEXATTR);
    return (int)asked(t, &note, -1, path, name, 0, pv_real.removexattr(path, name));
}

PV_EXPORT int lremovexattr(const char *path, const char *name) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_REMOVEXATTR);
    return (int)asked(t, &note, -1, path, name, 1, pv_real.lremovexattr(path, name));
}

PV_EXPORT int fremovexattr(int fd, const char *name) {
    struct pv_note note;
    struct pv_thread *t = note_begin(&note, PROVIO_OP_REMOVEXATTR);
    return (int)asked(t, &note, fd, NULL, name, 0, pv_real.fremovexattr(fd, name));
}
