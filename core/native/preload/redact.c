/*
 * redact.c: takes secrets out of argument lists and variables before they are
 * recorded. The rules are those of provio/engines/redact.py, whose docstring
 * says them; tests/golden/redaction.json holds both to one set of examples.
 *
 * Each rule is one pass from a text to a text. Pure functions on the caller's
 * memory; text that does not fit is cut.
 */
#include "internal.h"

struct view {
    const char *s;
    size_t n;
};

static int at(struct view v, size_t i) {
    return i < v.n ? (unsigned char)v.s[i] : -1;
}

static int lower(int c) {
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int is_upper_or_digit(int c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static int is_alnum(int c) {
    return is_upper_or_digit(c) || (c >= 'a' && c <= 'z');
}

static int is_in(int c, const char *set) {
    for (; c > 0 && *set; set++)
        if (*set == c) return 1;
    return 0;
}

static int is_name(int c) {
    return is_alnum(c) || is_in(c, "_.-");
}

static int has(struct view v, size_t i, const char *text) {
    for (; *text; text++, i++)
        if (at(v, i) != (unsigned char)*text) return 0;
    return 1;
}

static int has_any_case(struct view v, size_t i, const char *text) {
    for (; *text; text++, i++)
        if (lower(at(v, i)) != *text) return 0;
    return 1;
}

static void keep(struct pv_text *out, struct view v, size_t from, size_t to) {
    pv_text_bytes(out, v.s + from, to - from);
}

static void hide(struct pv_text *out) {
    pv_text_add(out, "***");
}

/* --- rule 1: a PEM private key --- */

/* The end of "-----<word> ... PRIVATE KEY-----" at i, or 0. */
static size_t pem_line(struct view v, size_t i, const char *begin) {
    static const char key[] = "PRIVATE KEY";
    if (!has(v, i, begin)) return 0;
    size_t from = i + pv_length(begin), to = from;
    while (is_upper_or_digit(at(v, to)) || at(v, to) == ' ') to++;
    if (to < from + sizeof key - 1 || !has(v, to - (sizeof key - 1), key) || !has(v, to, "-----")) return 0;
    return to + 5;
}

static size_t pem_key(struct view v, size_t i, size_t *begin) {
    size_t end = at(v, i) == '-' ? pem_line(v, i, "-----BEGIN ") : 0, close = 0;
    *begin = i;
    if (!end) return 0;
    while (end < v.n && !(close = pem_line(v, end, "-----END "))) end++;
    return close ? close : v.n;
}

/* --- rule 2: what follows a secret name --- */

static const char *const endings[] = {
    "password",    "passwd",     "passphrase",  "secret",        "token",       "apikey",
    "api_key",     "accesskey",  "access_key",  "privatekey",    "private_key", "secretkey",
    "secret_key",  "accountkey", "account_key", "authkey",       "auth_key",    "encryption_key",
    "signing_key", "credential", "credentials", "authorization", "_pass",       "_pwd",
};

static int plain(int c) {
    return c == '-' || c == '.' ? '_' : lower(c);
}

static int ends_in(struct view name, const char *ending, size_t length) {
    if (!length || name.n < length) return 0;
    for (size_t i = 0; i < length; i++)
        if (plain(at(name, name.n - length + i)) != plain((unsigned char)ending[i])) return 0;
    return 1;
}

static int ends_in_site_word(struct view name) {
    const char *words = pv_settings.value[PV_WIRE_REDACT];
    while (*words) {
        size_t n = 0;
        while (words[n] && words[n] != ',') n++;
        if (ends_in(name, words, n)) return 1;
        words += n + (words[n] == ',');
    }
    return 0;
}

static int is_secret_name(struct view name) {
    while (name.n && at(name, name.n - 1) >= '0' && at(name, name.n - 1) <= '9') name.n--;
    while (name.n && plain(at(name, name.n - 1)) == '_') name.n--;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_in(name, endings[i], pv_length(endings[i]))) return 1;
    return ends_in_site_word(name);
}

static size_t skip(struct view v, size_t i, const char *set) {
    while (is_in(at(v, i), set)) i++;
    return i;
}

/* Length of the quote at i: one, two with the backslash that text within quotes has, or none. */
static size_t quote_at(struct view v, size_t i) {
    size_t escaped = at(v, i) == '\\';
    return is_in(at(v, i + escaped), "\"'") ? 1 + escaped : 0;
}

/* Behind the quote that closes the one of `length` at `open`; 0: nothing closes it. */
static size_t closing(struct view v, size_t open, size_t length) {
    for (size_t i = open + length; i < v.n; i += 1 + (at(v, i) == '\\')) {
        size_t same = 0;
        while (same < length && at(v, i + same) == at(v, open + same)) same++;
        if (same == length) return i + length;
    }
    return 0;
}

static size_t line_end(struct view v, size_t begin, const char *stops) {
    size_t i = begin;
    while (i < v.n && !is_in(at(v, i), "\r\n") && (i == begin || !is_in(at(v, i), stops))) i++;
    return i;
}

static size_t word_end(struct view v, size_t begin) {
    size_t i = begin;
    while (i < v.n && !is_in(at(v, i), " \t\r\n;&|()<>")) {
        size_t quote = quote_at(v, i), close = quote ? closing(v, i, quote) : 0;
        if (quote && !close) return i == begin ? v.n : i;
        i = quote ? close : i + 1 + (at(v, i) == '\\');
    }
    return i < v.n ? i : v.n;
}

static size_t end_after_colon(struct view v, size_t begin) {
    size_t quote = quote_at(v, begin);
    if (quote) {
        size_t close = closing(v, begin, quote);
        return close ? close : v.n;
    }
    return is_in(at(v, begin - 1), " \t") ? line_end(v, begin, "\"',}]") : word_end(v, begin);
}

/* The value of the name [from, to): *begin and its end; equal if it has none. */
static size_t value_after(struct view v, size_t from, size_t to, size_t *begin) {
    size_t after_quote = to + quote_at(v, to), sign = skip(v, after_quote, " \t");
    struct view name = {v.s + from, to - from};
    int c = at(v, sign);
    *begin = to;
    if (c == '=' || c == ':') {
        *begin = skip(v, skip(v, sign, "=:"), " \t");
        if (name.n >= 13 && has_any_case(name, name.n - 13, "authorization"))
            return line_end(v, *begin, "\"'");
        return c == ':' ? end_after_colon(v, *begin) : word_end(v, *begin);
    }
    if (at(v, from) != '-' || after_quote != to || sign == to || has(v, sign, "--")) return to;
    *begin = sign;
    return word_end(v, sign);
}

/* Returns how far the text has been copied; 0: there was nothing to hide. */
static size_t hide_named(struct view v, struct pv_text *out) {
    size_t done = 0, begin, end;
    for (size_t i = 0, to; i < v.n; i = to) {
        to = i + 1;
        if (!is_name(at(v, i))) continue;
        while (is_name(at(v, to))) to++;
        if (i < done || !is_secret_name((struct view){v.s + i, to - i})) continue;
        end = value_after(v, i, to, &begin);
        if (begin >= end) continue;
        keep(out, v, done, begin);
        hide(out);
        done = end;
    }
    return done;
}

/* --- rules 3 and 4: scheme://user:password@, and Bearer --- */

static int is_url(int c) {
    return c >= 0 && !is_in(c, " \t\n\r\f\v/?#\"'<>");
}

/* Where the password of a URL at i begins and ends; 0: there is none. */
static size_t url_password(struct view v, size_t i, size_t *begin) {
    size_t to = i + 3, last = 0;
    if (!has(v, i, "://")) return 0;
    while (is_url(at(v, to)) && at(v, to) != '@' && at(v, to) != ':') to++;
    if (at(v, to) != ':') return 0;
    *begin = ++to;
    for (; is_url(at(v, to)); to++)
        if (at(v, to) == '@') last = to;
    return last;
}

static int word_before(struct view v, size_t i) {
    return i && (is_alnum(at(v, i - 1)) || at(v, i - 1) == '_');
}

static size_t bearer_value(struct view v, size_t i, size_t *begin) {
    if (word_before(v, i) || !has_any_case(v, i, "bearer") || !is_in(at(v, i + 6), " \t")) return 0;
    size_t to = *begin = skip(v, i + 6, " \t");
    while (is_alnum(at(v, to)) || is_in(at(v, to), "._~+/=-")) to++;
    return to - *begin >= 8 ? to : 0;
}

/* `part` tells where a secret at i begins and ends, 0: there is none at i. */
static size_t hide_part(struct view v, struct pv_text *out, size_t (*part)(struct view, size_t, size_t *)) {
    size_t done = 0, begin, end;
    for (size_t i = 0; i < v.n; i++) {
        if (!(end = part(v, i, &begin))) continue;
        keep(out, v, done, begin);
        hide(out);
        done = end;
        i = end - 1;
    }
    return done;
}

/* --- rule 5: tokens of known shape --- */

static size_t run_of(struct view v, size_t i, const char *more, size_t least) {
    size_t to = i;
    while (is_alnum(at(v, to)) || is_in(at(v, to), more)) to++;
    return to - i >= least ? to : 0;
}

static size_t aws_key(struct view v, size_t i) {
    if (!has(v, i, "AKIA") && !has(v, i, "ASIA")) return 0;
    for (size_t k = 4; k < 20; k++)
        if (!is_upper_or_digit(at(v, i + k))) return 0;
    return i + 20;
}

static size_t web_token(struct view v, size_t i) {
    size_t to = has(v, i, "eyJ") ? run_of(v, i + 3, "_-", 8) : 0;
    if (!to || at(v, to) != '.') return 0;
    to = run_of(v, to + 1, "_-", 8);
    return to && at(v, to) == '.' ? run_of(v, to + 1, "_-", 0) : 0;
}

static size_t token_at(struct view v, size_t i, size_t *begin) {
    size_t to = 0;
    *begin = i;
    if (word_before(v, i)) return 0;
    if (has(v, i, "gh") && is_in(at(v, i + 2), "opusr") && at(v, i + 3) == '_') to = run_of(v, i + 4, "", 20);
    if (!to && has(v, i, "github_pat_")) to = run_of(v, i + 11, "_", 20);
    if (!to && has(v, i, "glpat-")) to = run_of(v, i + 6, "_-", 16);
    if (!to) to = aws_key(v, i);
    if (!to && has(v, i, "xox") && at(v, i + 3) >= 'a' && at(v, i + 3) <= 'z' && at(v, i + 4) == '-')
        to = run_of(v, i + 5, "-", 10);
    if (!to && has(v, i, "sk-")) to = run_of(v, i + 3, "_-", 20);
    if (!to && has(v, i, "hf_")) to = run_of(v, i + 3, "", 20);
    return to ? to : web_token(v, i);
}

/* --- all together --- */

#define LONGEST 65536
typedef size_t rule(struct view, struct pv_text *);

static size_t hide_keys(struct view v, struct pv_text *out) {
    return hide_part(v, out, pem_key);
}

static size_t hide_urls(struct view v, struct pv_text *out) {
    return hide_part(v, out, url_password);
}

static size_t hide_bearers(struct view v, struct pv_text *out) {
    return hide_part(v, out, bearer_value);
}

static size_t hide_tokens(struct view v, struct pv_text *out) {
    return hide_part(v, out, token_at);
}

/* The text itself where the rule finds nothing, which is nearly always. */
static struct view pass(struct view v, char *to, rule *apply) {
    struct pv_text out = pv_text_on(to, LONGEST);
    size_t done = apply(v, &out);
    if (!done && out.at == to) return v;
    if (done < v.n) keep(&out, v, done, v.n);
    return (struct view){to, (size_t)(out.at - to)};
}

/* The passes take turns with two buffers; one thread at a time (process.c) comes here. */
size_t pv_redact_text(const char *text, size_t length, char *out, size_t room) {
    static char buffers[2][LONGEST];
    static rule *const rules[] = {hide_keys, hide_named, hide_urls, hide_bearers, hide_tokens};
    struct view v = {text, length < LONGEST ? length : LONGEST};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        v = pass(v, buffers[v.s == buffers[0]], rules[i]);
    if (v.n > room) v.n = room;
    pv_copy(out, v.s, v.n);
    return v.n;
}

/* NAME=value as one argument: the value reaches to the end, blanks included. */
static size_t redact_argument(struct view v, char *out, size_t room) {
    struct pv_text text = pv_text_on(out, room);
    size_t n = 0;
    while (is_name(at(v, n))) n++;
    if (!n || at(v, n) != '=' || n + 1 >= v.n || !is_secret_name((struct view){v.s, n}))
        return pv_redact_text(v.s, v.n, out, room);
    keep(&text, v, 0, n + 1);
    hide(&text);
    return (size_t)(text.at - out);
}

static int is_secret_option(struct view v) {
    size_t n = 0;
    while (is_name(at(v, n))) n++;
    return v.n && n == v.n && v.s[0] == '-' && is_secret_name(v);
}

size_t pv_redact_argv(char *const argv[], char *out, size_t room, int *cut) {
    struct pv_text text = pv_text_on(out, room);
    int value_follows = 0;
    for (size_t i = 0; argv[i]; i++) {
        struct view v = {argv[i], pv_length(argv[i])};
        if (i) pv_text_bytes(&text, "", 1);
        if (value_follows && v.n && !pv_starts(v.s, "--")) {
            hide(&text);
            value_follows = 0;
            continue;
        }
        size_t left = (size_t)(text.end - text.at);
        text.at += redact_argument(v, text.at, left);
        value_follows = is_secret_option(v);
    }
    *cut = text.at == text.end;
    return (size_t)(text.at - out);
}
