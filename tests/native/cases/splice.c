#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    int p[2], i = open("in", O_RDONLY), o = open("out", O_CREAT | O_WRONLY, 0600);
    if (pipe(p)) return 1;
    if (splice(i, NULL, p[1], NULL, 10000, 0) != 10000) return 2;
    return splice(p[0], NULL, o, NULL, 10000, 0) != 10000;
}
