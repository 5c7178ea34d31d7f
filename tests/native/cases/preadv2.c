#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/uio.h>

int main(void) {
    char b[12];
    struct iovec w = {"hello world\n", 12}, r = {b, 12};
    int f = open("out", O_CREAT | O_RDWR, 0600);
    if (pwritev2(f, &w, 1, 0, 0) != 12) return 1;
    return preadv2(f, &r, 1, 0, 0) != 12;
}
