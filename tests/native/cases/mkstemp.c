#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char name[] = "tmpXXXXXX";
    int f = mkstemp(name);
    if (write(f, "hello world\n", 12) != 12) return 1;
    return rename(name, "out");
}
