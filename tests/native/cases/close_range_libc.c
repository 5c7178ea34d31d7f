#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    close_range(3, ~0U, 0);
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    return write(f, "hello world\n", 12) != 12;
}
