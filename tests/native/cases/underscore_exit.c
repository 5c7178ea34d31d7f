#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    _exit(0);
    return 0;
}
