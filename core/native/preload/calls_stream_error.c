/*
 * calls_stream_error.c: libc's own messages: perror, error, warn, err. They
 * write to stderr inside libc, so its offset is asked. Calls that end the
 * process are made of the one that returns and exit(), as libc makes them.
 */
#include "calls_stream.h"

#include <stdarg.h>

struct messages {
    struct pv_mark out;
    struct pv_asked err;
};

static struct messages before(void) {
    FILE *out = stream_out();
    struct messages m = {stream_mark(out, 0), stream_ask(stream_err())};
    return m;
}

/* error() flushes stdout first. */
static void after(const struct messages *m) {
    FILE *out = stream_out();
    if (m->out.pending > stream_pending(out)) stream_wrote(out, &m->out, 0);
    stream_answer(stream_err(), &m->err, PV_WRITE);
}

PV_EXPORT void perror(const char *text) {
    pv_thread();
    struct messages m = before();
    pv_real.perror(text);
    after(&m);
}

void vwarn(const char *format, va_list ap);
PV_EXPORT void vwarn(const char *format, va_list ap) {
    pv_thread();
    struct messages m = before();
    pv_real.vwarn(format, ap);
    after(&m);
}

void vwarnx(const char *format, va_list ap);
PV_EXPORT void vwarnx(const char *format, va_list ap) {
    pv_thread();
    struct messages m = before();
    pv_real.vwarnx(format, ap);
    after(&m);
}

void warn(const char *format, ...);
PV_EXPORT void warn(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vwarn(format, ap);
    va_end(ap);
}

void warnx(const char *format, ...);
PV_EXPORT void warnx(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vwarnx(format, ap);
    va_end(ap);
}

/* exit() does not return; the loop tells the compiler. */
static __attribute__((noreturn)) void leave(int status) {
    for (;;) pv_real.exit(status);
}

__attribute__((noreturn)) void verr(int status, const char *format, va_list ap);
PV_EXPORT void verr(int status, const char *format, va_list ap) {
    vwarn(format, ap);
    leave(status);
}

__attribute__((noreturn)) void verrx(int status, const char *format, va_list ap);
PV_EXPORT void verrx(int status, const char *format, va_list ap) {
    vwarnx(format, ap);
    leave(status);
}

__attribute__((noreturn)) void err(int status, const char *format, ...);
PV_EXPORT void err(int status, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vwarn(format, ap);
    va_end(ap);
    leave(status);
}

__attribute__((noreturn)) void errx(int status, const char *format, ...);
PV_EXPORT void errx(int status, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vwarnx(format, ap);
    va_end(ap);
    leave(status);
}

/* libc has no verror(): the text is made here and passed on whole. */
void error(int status, int number, const char *format, ...);
PV_EXPORT void error(int status, int number, const char *format, ...) {
    pv_thread();
    va_list ap;
    va_start(ap, format);
    int length = pv_real.vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char text[length > 0 ? length + 1 : 1];
    text[0] = 0;
    va_start(ap, format);
    if (length > 0) pv_real.vsnprintf(text, (size_t)length + 1, format, ap);
    va_end(ap);
    struct messages m = before();
    pv_real.error(0, number, "%s", text);
    after(&m);
    if (status) leave(status);
}
