#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    close(open("out", O_CREAT | O_WRONLY, 0600));
    if (symlink("out", "alias")) return 1;
    int f = open("alias", O_WRONLY);
    return write(f, "hello world\n", 12) != 12;
}
