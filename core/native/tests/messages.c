/* messages.c: libc's own messages on stderr, then an end by err(). */
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>

int main(void) {
    printf("first on stdout\n");
    errno = ENOENT;
    perror("perror");
    error(0, EACCES, "error %d: %s", 42, "text");
    warn("warn %s", "x");
    warnx("warnx %d%%", 7);
    printf("second on stdout\n");
    err(3, "the end %m");
}
