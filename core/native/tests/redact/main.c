/*
 * Runs redact.c outside the library, under sanitizers. With arguments: prints
 * them redacted, NUL-separated. Without: redacts standard input.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../preload/internal.h"

struct pv_settings pv_settings = {.value = {"", "", "", "", "", "", "", "", ""}};

int main(int argc, char **argv) {
    static char in[1 << 17], out[1 << 17];
    size_t n = 0;
    int cut;
    const char *words = getenv("PROVIO_REDACT");
    if (words) pv_settings.value[PV_WIRE_REDACT] = words;
    if (argc > 1) {
        n = pv_redact_argv(argv + 1, out, sizeof out, &cut);
    } else {
        ssize_t got;
        while ((got = read(0, in + n, sizeof in - n)) > 0) n += (size_t)got;
        n = pv_redact_text(in, n, out, sizeof out);
    }
    return write(1, out, n) == (ssize_t)n ? 0 : 1;
}
