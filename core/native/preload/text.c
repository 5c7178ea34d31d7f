/*
 * text.c: strings and memory without libc. Pure functions on the caller's
 * memory; any of them may be called anywhere, also in a signal handler.
 *
 * The four mem* functions are here because compilers emit calls to them; they
 * are hidden, the program keeps libc's.
 */
#include "internal.h"

PV_HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    void *result = to;
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
    for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
#endif
    return result;
}

PV_HIDDEN void *memmove(void *to, const void *from, size_t n) {
    volatile char *t = to;
    const char *f = from;
    if ((uintptr_t)t <= (uintptr_t)f)
        for (size_t i = 0; i < n; i++) t[i] = f[i];
    else
        for (size_t i = n; i > 0; i--) t[i - 1] = f[i - 1];
    return to;
}

PV_HIDDEN void *memset(void *to, int byte, size_t n) {
    void *result = to;
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
#else
    for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)byte;
#endif
    return result;
}

PV_HIDDEN int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

void pv_copy(void *to, const void *from, size_t n) {
    memcpy(to, from, n);
}

void pv_zero(void *to, size_t n) {
    memset(to, 0, n);
}

size_t pv_length(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

int pv_starts(const char *s, const char *prefix) {
    while (*prefix)
        if (*s++ != *prefix++) return 0;
    return 1;
}

int pv_equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

int pv_same(const void *a, const void *b, size_t n) {
    return memcmp(a, b, n) == 0;
}

const char *pv_find(const char *hay, const char *needle) {
    for (; *hay; hay++)
        if (pv_starts(hay, needle)) return hay;
    return NULL;
}

struct pv_text pv_text_on(char *buffer, size_t room) {
    return (struct pv_text){.at = buffer, .end = buffer + room, .cut = 0};
}

void pv_text_bytes(struct pv_text *text, const char *bytes, size_t length) {
    size_t room = (size_t)(text->end - text->at);
    if (length > room) {
        text->cut = 1;
        length = room;
    }
    pv_copy(text->at, bytes, length);
    text->at += length;
}

void pv_text_add(struct pv_text *text, const char *string) {
    pv_text_bytes(text, string, pv_length(string));
}

void pv_text_number(struct pv_text *text, uint64_t value) {
    char digits[20];
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    pv_text_bytes(text, digits + sizeof digits - n, n);
}

void pv_text_hex(struct pv_text *text, uint64_t value, int digits) {
    while (digits-- > 0) {
        char c = "0123456789abcdef"[value >> (4 * digits) & 15];
        pv_text_bytes(text, &c, 1);
    }
}

/* When there is no room the last byte is overwritten: the text is cut, never open. */
void pv_text_end(struct pv_text *text) {
    if (text->at == text->end) {
        text->at--;
        text->cut = 1;
    }
    *text->at = '\0';
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

uint64_t pv_parse(const char **at, unsigned base) {
    uint64_t value = 0;
    while ((unsigned)digit_value(**at) < base) value = value * base + (unsigned)digit_value(*(*at)++);
    return value;
}

int pv_parse_id(const char *hex, uint8_t id[16]) {
    for (int i = 0; i < 16; i++) {
        int high = digit_value(hex[2 * i]);
        int low = high < 16 ? digit_value(hex[2 * i + 1]) : 99;
        if (high > 15 || low > 15) return 0;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return 1;
}
