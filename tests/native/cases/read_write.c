#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char b[64];
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    close(f);
    f = open("out", O_RDONLY);
    if (read(f, b, sizeof b) != 12) return 1;
    close(f);
    return 0;
}
