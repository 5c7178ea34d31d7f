#include "internal.h"
size_t pv_redact_text(const char *text, size_t length, char *out, size_t room)
{
    struct pv_text o = pv_text_on(out, room);
    pv_text_bytes(&o, text, length);
    return (size_t)(o.at - out);
}
size_t pv_redact_argv(char *const argv[], char *out, size_t room, int *cut)
{
    struct pv_text text = pv_text_on(out, room);
    for (size_t i = 0; argv[i]; i++) {
        if (i) pv_text_bytes(&text, "", 1);
        text.at += pv_redact_text(argv[i], pv_length(argv[i]), text.at, (size_t)(text.end - text.at));
    }
    *cut = text.cut;
    return (size_t)(text.at - out);
}
