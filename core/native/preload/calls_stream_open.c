/*
 * calls_stream_open.c: FILE streams come, turn, flush, seek and go. How popen
 * starts its process is the runtime's business (pv_popen).
 */
#include "calls_stream.h"

/* The flags that fopen(3) derives from a mode. */
static int mode_flags(const char *mode) {
    int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT | O_APPEND : 0;
    int access = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    for (const char *c = mode; *c && *c != ','; c++) {
        if (*c == '+') access = O_RDWR;
        if (*c == 'x') flags |= O_EXCL;
        if (*c == 'e') flags |= O_CLOEXEC;
    }
    return flags | access;
}

/* For stream_mark(): a stream with nothing to write out is not looked at. */
static size_t all_pending(FILE *fp) {
    return stream_pending(fp) > 0 ? SIZE_MAX >> 1 : 0;
}

static int wanted(void) {
    return pv_thread() || pv_vforked();
}

PV_EXPORT FILE *fopen(const char *path, const char *mode) {
    if (!wanted()) return pv_real.fopen(path, mode);
    struct pv_opening o;
    opening_begin(&o, AT_FDCWD, path, mode_flags(mode));
    FILE *fp = pv_real.fopen(path, mode);
    opening_end(&o, fp ? fp->_fileno : -1);
    return fp;
}
PV_ALIAS(fopen64, fopen);
PV_ALIAS(_IO_fopen, fopen);

PV_EXPORT FILE *tmpfile(void) {
    pv_thread();
    FILE *fp = pv_real.tmpfile();
    struct pv_thread *t = pv_thread();
    if (t && fp) calls_opened(t, fp->_fileno, 0, O_RDWR, PROVIO_HANDLE_TMPFILE | PROVIO_HANDLE_CREATED, NULL);
    return fp;
}
PV_ALIAS(tmpfile64, tmpfile);

/* Writes out what is pending, so that the file is looked at in its last state.
 * Returns errno of a failed flush: libc drops the bytes, the caller must say so. */
static int settle(struct pv_thread *t, FILE *fp, struct pv_closing *c) {
    int error = 0;
    struct pv_mark m = stream_mark(fp, all_pending(fp));
    const struct pv_slot *slot = slot_find(fp->_fileno);
    c->known = 0;
    if (m.pending > 0) {
        stream_known(fp);
        slot = slot_find(fp->_fileno);
        if (slot && slot->file && pv_real.fflush(fp) == EOF) error = pv_errno();
        stream_wrote(fp, &m, 0);
    }
    if (slot) closing_begin(t, fp->_fileno, c);
    return error;
}

static int finish(FILE *fp, int (*end)(FILE *)) {
    struct pv_thread *t = pv_thread();
    if (!t || fp->_fileno < 0) return end(fp);
    struct pv_closing c;
    int fd = fp->_fileno, error = settle(t, fp, &c);
    slot_clear(t, fd, c.known ? &c.st : NULL);
    int r = end(fp);
    if (!error) return r;
    *pv_real.__errno_location() = error;
    return EOF;
}

PV_EXPORT int fclose(FILE *fp) {
    pv_thread();
    return finish(fp, pv_real.fclose);
}
PV_ALIAS(_IO_fclose, fclose);

PV_EXPORT FILE *popen(const char *command, const char *type) {
    struct pv_thread *t = pv_thread();
    if (!t) return pv_real.popen(command, type);
    calls_forking();
    FILE *fp = pv_popen(t, command, type);
    t = pv_thread();
    if (fp && t) calls_opened(t, fp->_fileno, PROVIO_KIND_PIPE, *type == 'r' ? O_RDONLY : O_WRONLY, 0, NULL);
    return fp;
}
PV_ALIAS(_IO_popen, popen);

/* Returns the status of the process, so a failed flush changes nothing. */
PV_EXPORT int pclose(FILE *fp) {
    struct pv_thread *t = pv_thread();
    if (t && fp->_fileno >= 0) {
        struct pv_mark m = stream_mark(fp, all_pending(fp));
        if (m.pending > 0)
            account_bytes(t, fp->_fileno, PV_WRITE, m.begin, PV_AT_CURSOR, (uint64_t)m.pending);
        slot_clear(t, fp->_fileno, NULL);
    }
    return pv_real.pclose(fp);
}

static FILE *reopened(const char *path, const char *mode, FILE *fp) {
    struct pv_thread *t = pv_thread();
    if (!t) return pv_real.freopen(path, mode, fp);
    struct pv_closing c = {.known = 0};
    struct pv_opening o;
    int was = fp->_fileno;
    if (was >= 0) {
        settle(t, fp, &c);
        slot_clear(t, was, c.known ? &c.st : NULL);
    }
    if (path) opening_begin(&o, AT_FDCWD, path, mode_flags(mode));
    FILE *r = pv_real.freopen(path, mode, fp);
    if (path) opening_end(&o, r ? r->_fileno : -1);
    return r;
}

PV_EXPORT FILE *freopen(const char *path, const char *mode, FILE *fp) {
    return reopened(path, mode, fp);
}
PV_ALIAS(freopen64, freopen);

static int flushed(FILE *fp, int (*flush)(FILE *)) {
    struct pv_thread *t = pv_thread();
    if (!fp) {
        if (t) streams_flushed(t, pv_now());
        return flush(NULL);
    }
    struct pv_mark m = stream_mark(fp, all_pending(fp));
    int r = flush(fp);
    stream_wrote(fp, &m, 0);
    if (t && m.avail > 0 && fp->_fileno >= 0) offset_set(t, fp->_fileno, PV_UNKNOWN);
    return r;
}

PV_EXPORT int fflush(FILE *fp) {
    pv_thread();
    return flushed(fp, pv_real.fflush);
}
PV_ALIAS(_IO_fflush, fflush);

PV_EXPORT int fflush_unlocked(FILE *fp) {
    pv_thread();
    return flushed(fp, pv_real.fflush_unlocked);
}

PV_EXPORT int fcloseall(void) {
    struct pv_thread *t = pv_thread();
    if (t) streams_flushed(t, pv_now());
    return pv_real.fcloseall();
}

PV_EXPORT int fseek(FILE *fp, long offset, int whence) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.fseek(fp, offset, whence);
    stream_sought(fp, &a);
    return r;
}

PV_EXPORT int fseeko(FILE *fp, off_t offset, int whence) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.fseeko(fp, offset, whence);
    stream_sought(fp, &a);
    return r;
}
PV_ALIAS(fseeko64, fseeko);

PV_EXPORT void rewind(FILE *fp) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    pv_real.rewind(fp);
    stream_sought(fp, &a);
}

PV_EXPORT int fsetpos(FILE *fp, const fpos_t *position) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.fsetpos(fp, position);
    stream_sought(fp, &a);
    return r;
}
PV_ALIAS(fsetpos64, fsetpos);

/* Turning buffering off writes out what is pending. */
PV_EXPORT int setvbuf(FILE *fp, char *buffer, int mode, size_t size) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, all_pending(fp));
    int r = pv_real.setvbuf(fp, buffer, mode, size);
    stream_wrote(fp, &m, 0);
    return r;
}
