#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    mkdir("sub", 0700);
    int d = open("sub", O_RDONLY | O_DIRECTORY), f = openat(d, "out", O_CREAT | O_WRONLY, 0600);
    return write(f, "hello world\n", 12) != 12;
}
