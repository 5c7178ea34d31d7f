#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/syscall.h>

int main(void) {
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    long r, n = SYS_write;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"((long)f), "S"("hello world\n"), "d"(12L)
                     : "rcx", "r11", "memory");
    return r != 12;
}
