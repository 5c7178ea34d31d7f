/*
 * calls_stream_wide.c: wide-character FILE calls. They do not say how many
 * bytes the characters became, so the descriptor's offset is asked.
 */
#include "calls_stream.h"

#include <stdarg.h>
#include <wchar.h>

PV_EXPORT wint_t fputwc(wchar_t c, FILE *fp) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    wint_t r = pv_real.fputwc(c, fp);
    stream_answer(fp, &a, PV_WRITE);
    return r;
}
PV_ALIAS(putwc, fputwc);

PV_EXPORT wint_t putwchar(wchar_t c) {
    pv_thread();
    struct pv_asked a = stream_ask(stream_out());
    wint_t r = pv_real.putwchar(c);
    stream_answer(stream_out(), &a, PV_WRITE);
    return r;
}

PV_EXPORT int fputws(const wchar_t *text, FILE *fp) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.fputws(text, fp);
    stream_answer(fp, &a, PV_WRITE);
    return r;
}

PV_EXPORT int vfwprintf(FILE *fp, const wchar_t *format, va_list ap) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    int r = pv_real.vfwprintf(fp, format, ap);
    stream_answer(fp, &a, PV_WRITE);
    return r;
}

PV_EXPORT int fwprintf(FILE *fp, const wchar_t *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = vfwprintf(fp, format, ap);
    va_end(ap);
    return r;
}

PV_EXPORT int vwprintf(const wchar_t *format, va_list ap) {
    pv_thread();
    return vfwprintf(stream_out(), format, ap);
}

PV_EXPORT int wprintf(const wchar_t *format, ...) {
    va_list ap;
    va_start(ap, format);
    int r = vwprintf(format, ap);
    va_end(ap);
    return r;
}

PV_EXPORT wint_t fgetwc(FILE *fp) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    wint_t r = pv_real.fgetwc(fp);
    stream_answer(fp, &a, PV_READ);
    return r;
}
PV_ALIAS(getwc, fgetwc);

PV_EXPORT wchar_t *fgetws(wchar_t *text, int n, FILE *fp) {
    pv_thread();
    struct pv_asked a = stream_ask(fp);
    wchar_t *r = pv_real.fgetws(text, n, fp);
    stream_answer(fp, &a, PV_READ);
    return r;
}
