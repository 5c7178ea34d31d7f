/*
 * calls_stream_read.c: FILE calls that read. Each marks the stream, calls the
 * real function and says how many bytes it handed to the program.
 */
#include "calls_stream.h"

#include <stdarg.h>

static void fread_done(FILE *fp, const struct pv_mark *m, const struct pv_asked *a, size_t size, size_t count,
                       size_t r) {
    if (r == count || size <= 1)
        stream_read(fp, m, (int64_t)(r * size));
    else
        stream_answer(fp, a, PV_READ); /* part of an item may be gone */
}

PV_EXPORT size_t fread(void *data, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    struct pv_asked a = {.position = PV_UNKNOWN};
    if (size > 1 && m.avail < (int64_t)(size * count)) a = stream_ask(fp);
    size_t r = pv_real.fread(data, size, count, fp);
    fread_done(fp, &m, &a, size, count, r);
    return r;
}
PV_ALIAS(_IO_fread, fread);

#undef fread_unlocked /* a macro in some versions */
PV_EXPORT size_t fread_unlocked(void *data, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    struct pv_asked a = {.position = PV_UNKNOWN};
    if (size > 1 && m.avail < (int64_t)(size * count)) a = stream_ask(fp);
    size_t r = pv_real.fread_unlocked(data, size, count, fp);
    fread_done(fp, &m, &a, size, count, r);
    return r;
}

size_t __fread_chk(void *data, size_t room, size_t size, size_t count, FILE *fp);
PV_EXPORT size_t __fread_chk(void *data, size_t room, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    struct pv_asked a = {.position = PV_UNKNOWN};
    if (size > 1 && m.avail < (int64_t)(size * count)) a = stream_ask(fp);
    size_t r = pv_real.__fread_chk(data, room, size, count, fp);
    fread_done(fp, &m, &a, size, count, r);
    return r;
}

size_t __fread_unlocked_chk(void *data, size_t room, size_t size, size_t count, FILE *fp);
PV_EXPORT size_t __fread_unlocked_chk(void *data, size_t room, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    struct pv_asked a = {.position = PV_UNKNOWN};
    if (size > 1 && m.avail < (int64_t)(size * count)) a = stream_ask(fp);
    size_t r = pv_real.__fread_unlocked_chk(data, room, size, count, fp);
    fread_done(fp, &m, &a, size, count, r);
    return r;
}

struct line_mark {
    struct pv_mark mark;
    const char *end, *at;
};

static struct line_mark line_mark(FILE *fp, int n) {
    struct line_mark l = {stream_mark(fp, n > 0 ? (size_t)n - 1 : 0), fp->_IO_read_end, fp->_IO_read_ptr};
    return l;
}

/* A line may hold NULs, so its length is told by the buffer where no refill was possible. */
static void line_done(FILE *fp, const struct line_mark *l, const char *text, int n) {
    int64_t used = fp->_IO_read_ptr - l->at, room = fp->_IO_buf_end - fp->_IO_buf_base;
    if (l->mark.avail >= n - 1) return;
    if (fp->_IO_read_end == l->end && used > 0 && n - 1 < room + used) return;
    stream_read(fp, &l->mark, text ? (int64_t)pv_length(text) : 0);
}

PV_EXPORT char *fgets(char *text, int n, FILE *fp) {
    pv_thread();
    struct line_mark l = line_mark(fp, n);
    char *r = pv_real.fgets(text, n, fp);
    line_done(fp, &l, r, n);
    return r;
}
PV_ALIAS(_IO_fgets, fgets);

PV_EXPORT char *fgets_unlocked(char *text, int n, FILE *fp) {
    pv_thread();
    struct line_mark l = line_mark(fp, n);
    char *r = pv_real.fgets_unlocked(text, n, fp);
    line_done(fp, &l, r, n);
    return r;
}

char *__fgets_chk(char *text, size_t room, int n, FILE *fp);
PV_EXPORT char *__fgets_chk(char *text, size_t room, int n, FILE *fp) {
    pv_thread();
    struct line_mark l = line_mark(fp, n);
    char *r = pv_real.__fgets_chk(text, room, n, fp);
    line_done(fp, &l, r, n);
    return r;
}

char *__fgets_unlocked_chk(char *text, size_t room, int n, FILE *fp);
PV_EXPORT char *__fgets_unlocked_chk(char *text, size_t room, int n, FILE *fp) {
    pv_thread();
    struct line_mark l = line_mark(fp, n);
    char *r = pv_real.__fgets_unlocked_chk(text, room, n, fp);
    line_done(fp, &l, r, n);
    return r;
}

PV_EXPORT ssize_t getdelim(char **line, size_t *room, int delimiter, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    ssize_t r = pv_real.getdelim(line, room, delimiter, fp);
    stream_read(fp, &m, r > 0 ? r : 0);
    return r;
}
PV_ALIAS(__getdelim, getdelim);

PV_EXPORT ssize_t getline(char **line, size_t *room, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    ssize_t r = pv_real.getline(line, room, fp);
    stream_read(fp, &m, r > 0 ? r : 0);
    return r;
}

PV_EXPORT int fgetc(FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.fgetc(fp);
    if (m.avail <= 0) stream_read(fp, &m, r != EOF);
    return r;
}
PV_ALIAS(getc, fgetc);
PV_ALIAS(_IO_getc, fgetc);

PV_EXPORT int fgetc_unlocked(FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.fgetc_unlocked(fp);
    if (m.avail <= 0) stream_read(fp, &m, r != EOF);
    return r;
}
PV_ALIAS(getc_unlocked, fgetc_unlocked);

PV_EXPORT int getchar(void) {
    pv_thread();
    FILE *fp = stream_in();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.getchar();
    if (m.avail <= 0) stream_read(fp, &m, r != EOF);
    return r;
}

PV_EXPORT int getchar_unlocked(void) {
    pv_thread();
    FILE *fp = stream_in();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.getchar_unlocked();
    if (m.avail <= 0) stream_read(fp, &m, r != EOF);
    return r;
}

PV_EXPORT int getw(FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, sizeof(int));
    int r = pv_real.getw(fp);
    if (m.avail < (int64_t)sizeof(int)) stream_read(fp, &m, stream_at_end(fp) ? 0 : (int64_t)sizeof(int));
    return r;
}

/* What getc becomes where it is inlined and the buffer is empty. */
int __uflow(FILE *fp);
PV_EXPORT int __uflow(FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.__uflow(fp);
    stream_read(fp, &m, r != EOF);
    return r;
}

int __underflow(FILE *fp);
PV_EXPORT int __underflow(FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.__underflow(fp);
    stream_read(fp, &m, 0);
    return r;
}

/* stdio.h redirects the plain names to the C99 ones; old programs call the plain ones. */
int old_vfscanf(FILE *fp, const char *format, va_list ap) __asm__("vfscanf");
PV_EXPORT int old_vfscanf(FILE *fp, const char *format, va_list ap) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.vfscanf(fp, format, ap);
    stream_answer(fp, &a, PV_READ);
    return r;
}

int old_fscanf(FILE *fp, const char *format, ...) __asm__("fscanf");
PV_EXPORT int old_fscanf(FILE *fp, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = old_vfscanf(fp, format, ap);
    va_end(ap);
    return r;
}

int old_vscanf(const char *format, va_list ap) __asm__("vscanf");
PV_EXPORT int old_vscanf(const char *format, va_list ap) {
    pv_thread();
    return old_vfscanf(stream_in(), format, ap);
}

int old_scanf(const char *format, ...) __asm__("scanf");
PV_EXPORT int old_scanf(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = old_vscanf(format, ap);
    va_end(ap);
    return r;
}

int __isoc99_vfscanf(FILE *fp, const char *format, va_list ap);
PV_EXPORT int __isoc99_vfscanf(FILE *fp, const char *format, va_list ap) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.__isoc99_vfscanf(fp, format, ap);
    stream_answer(fp, &a, PV_READ);
    return r;
}

int __isoc99_fscanf(FILE *fp, const char *format, ...);
PV_EXPORT int __isoc99_fscanf(FILE *fp, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __isoc99_vfscanf(fp, format, ap);
    va_end(ap);
    return r;
}

int __isoc99_vscanf(const char *format, va_list ap);
PV_EXPORT int __isoc99_vscanf(const char *format, va_list ap) {
    pv_thread();
    return __isoc99_vfscanf(stream_in(), format, ap);
}

int __isoc99_scanf(const char *format, ...);
PV_EXPORT int __isoc99_scanf(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __isoc99_vfscanf((pv_thread(), stream_in()), format, ap);
    va_end(ap);
    return r;
}

/* From glibc 2.38 on. */
int __isoc23_vfscanf(FILE *fp, const char *format, va_list ap);
PV_EXPORT int __isoc23_vfscanf(FILE *fp, const char *format, va_list ap) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.__isoc23_vfscanf(fp, format, ap);
    stream_answer(fp, &a, PV_READ);
    return r;
}

int __isoc23_fscanf(FILE *fp, const char *format, ...);
PV_EXPORT int __isoc23_fscanf(FILE *fp, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __isoc23_vfscanf(fp, format, ap);
    va_end(ap);
    return r;
}

int __isoc23_scanf(const char *format, ...);
PV_EXPORT int __isoc23_scanf(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __isoc23_vfscanf((pv_thread(), stream_in()), format, ap);
    va_end(ap);
    return r;
}
