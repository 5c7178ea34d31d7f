#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char p[40];
    int f = open(".", O_TMPFILE | O_WRONLY, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    snprintf(p, sizeof p, "/proc/self/fd/%d", f);
    return linkat(AT_FDCWD, p, AT_FDCWD, "out", AT_SYMLINK_FOLLOW);
}
