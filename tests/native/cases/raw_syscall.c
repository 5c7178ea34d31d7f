#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/syscall.h>

int main(void) {
    long f = syscall(SYS_openat, AT_FDCWD, "out", O_CREAT | O_WRONLY, 0600);
    if (syscall(SYS_write, f, "hello world\n", 12) != 12) return 1;
    return (int)syscall(SYS_close, f);
}
