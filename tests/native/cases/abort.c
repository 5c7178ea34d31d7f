#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/resource.h>

int main(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    abort();
    return 0;
}
