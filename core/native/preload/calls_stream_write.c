/*
 * calls_stream_write.c: FILE calls that write. Each marks the stream, calls
 * the real function and says how many bytes it was given.
 */
#include "calls_stream.h"

#include <stdarg.h>
#include <wchar.h>

PV_EXPORT size_t fwrite(const void *data, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    size_t r = pv_real.fwrite(data, size, count, fp);
    stream_wrote(fp, &m, (int64_t)(r * size));
    return r;
}
PV_ALIAS(_IO_fwrite, fwrite);

#undef fwrite_unlocked /* a macro in some versions */
PV_EXPORT size_t fwrite_unlocked(const void *data, size_t size, size_t count, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, size * count);
    size_t r = pv_real.fwrite_unlocked(data, size, count, fp);
    stream_wrote(fp, &m, (int64_t)(r * size));
    return r;
}

PV_EXPORT int fputs(const char *text, FILE *fp) {
    pv_thread();
    size_t length = pv_length(text);
    struct pv_mark m = stream_mark(fp, length);
    int r = pv_real.fputs(text, fp);
    if (r >= 0) stream_wrote(fp, &m, (int64_t)length);
    return r;
}
PV_ALIAS(_IO_fputs, fputs);

PV_EXPORT int fputs_unlocked(const char *text, FILE *fp) {
    pv_thread();
    size_t length = pv_length(text);
    struct pv_mark m = stream_mark(fp, length);
    int r = pv_real.fputs_unlocked(text, fp);
    if (r >= 0) stream_wrote(fp, &m, (int64_t)length);
    return r;
}

PV_EXPORT int puts(const char *text) {
    pv_thread();
    FILE *fp = stream_out();
    size_t length = pv_length(text) + 1;
    struct pv_mark m = stream_mark(fp, length);
    int r = pv_real.puts(text);
    if (r >= 0) stream_wrote(fp, &m, (int64_t)length);
    return r;
}
PV_ALIAS(_IO_puts, puts);

PV_EXPORT int fputc(int c, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.fputc(c, fp);
    stream_wrote(fp, &m, r != EOF);
    return r;
}
PV_ALIAS(putc, fputc);
PV_ALIAS(_IO_putc, fputc);

PV_EXPORT int fputc_unlocked(int c, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.fputc_unlocked(c, fp);
    stream_wrote(fp, &m, r != EOF);
    return r;
}
PV_ALIAS(putc_unlocked, fputc_unlocked);

PV_EXPORT int putchar(int c) {
    pv_thread();
    FILE *fp = stream_out();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.putchar(c);
    stream_wrote(fp, &m, r != EOF);
    return r;
}

PV_EXPORT int putchar_unlocked(int c) {
    pv_thread();
    FILE *fp = stream_out();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.putchar_unlocked(c);
    stream_wrote(fp, &m, r != EOF);
    return r;
}

PV_EXPORT int putw(int word, FILE *fp) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, sizeof word);
    int r = pv_real.putw(word, fp);
    if (r == 0) stream_wrote(fp, &m, sizeof word);
    return r;
}

/* What putc becomes where it is inlined and the buffer is full; EOF as c: flush only. */
int __overflow(FILE *fp, int c);
PV_EXPORT int __overflow(FILE *fp, int c) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, 1);
    int r = pv_real.__overflow(fp, c);
    stream_wrote(fp, &m, r != EOF && c != EOF);
    return r;
}

PV_EXPORT int vfprintf(FILE *fp, const char *format, va_list ap) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, BUFSIZ);
    int r = pv_real.vfprintf(fp, format, ap);
    if (r >= 0) stream_wrote(fp, &m, r);
    return r;
}
PV_ALIAS(_IO_vfprintf, vfprintf);

PV_EXPORT int fprintf(FILE *fp, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = vfprintf(fp, format, ap);
    va_end(ap);
    return r;
}
PV_ALIAS(_IO_fprintf, fprintf);

PV_EXPORT int vprintf(const char *format, va_list ap) {
    pv_thread();
    FILE *fp = stream_out();
    struct pv_mark m = stream_mark(fp, BUFSIZ);
    int r = pv_real.vprintf(format, ap);
    if (r >= 0) stream_wrote(fp, &m, r);
    return r;
}

PV_EXPORT int printf(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = vprintf(format, ap);
    va_end(ap);
    return r;
}
PV_ALIAS(_IO_printf, printf);

int __vfprintf_chk(FILE *fp, int flag, const char *format, va_list ap);
PV_EXPORT int __vfprintf_chk(FILE *fp, int flag, const char *format, va_list ap) {
    pv_thread();
    struct pv_mark m = stream_mark(fp, BUFSIZ);
    int r = pv_real.__vfprintf_chk(fp, flag, format, ap);
    if (r >= 0) stream_wrote(fp, &m, r);
    return r;
}

int __fprintf_chk(FILE *fp, int flag, const char *format, ...);
PV_EXPORT int __fprintf_chk(FILE *fp, int flag, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __vfprintf_chk(fp, flag, format, ap);
    va_end(ap);
    return r;
}

int __vprintf_chk(int flag, const char *format, va_list ap);
PV_EXPORT int __vprintf_chk(int flag, const char *format, va_list ap) {
    pv_thread();
    FILE *fp = stream_out();
    struct pv_mark m = stream_mark(fp, BUFSIZ);
    int r = pv_real.__vprintf_chk(flag, format, ap);
    if (r >= 0) stream_wrote(fp, &m, r);
    return r;
}

int __printf_chk(int flag, const char *format, ...);
PV_EXPORT int __printf_chk(int flag, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __vprintf_chk(flag, format, ap);
    va_end(ap);
    return r;
}

static void printed_to(int fd, uint64_t begin, int r) {
    struct pv_thread *t = pv_thread();
    if (t && r > 0) account_bytes(t, fd, PV_WRITE, begin, PV_AT_CURSOR, (uint64_t)r);
}

PV_EXPORT int vdprintf(int fd, const char *format, va_list ap) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    int r = pv_real.vdprintf(fd, format, ap);
    printed_to(fd, begin, r);
    return r;
}

PV_EXPORT int dprintf(int fd, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = vdprintf(fd, format, ap);
    va_end(ap);
    return r;
}

int __vdprintf_chk(int fd, int flag, const char *format, va_list ap);
PV_EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list ap) {
    uint64_t begin = pv_thread() ? pv_now() : 0;
    int r = pv_real.__vdprintf_chk(fd, flag, format, ap);
    printed_to(fd, begin, r);
    return r;
}

int __dprintf_chk(int fd, int flag, const char *format, ...);
PV_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = __vdprintf_chk(fd, flag, format, ap);
    va_end(ap);
    return r;
}
