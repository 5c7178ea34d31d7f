#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    int f = open("out", O_CREAT | O_WRONLY, 0600), g = dup(f);
    close(f);
    if (write(g, "12345678", 8) != 8) return 1;
    dup2(g, 30);
    return write(30, "1234", 4) != 4;
}
