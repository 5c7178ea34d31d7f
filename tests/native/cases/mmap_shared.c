#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/mman.h>

int main(void) {
    int f = open("out", O_CREAT | O_RDWR, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    char *m = mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    m[0] = 'J';
    return munmap(m, 12);
}
