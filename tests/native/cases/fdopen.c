#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    FILE *f = fdopen(open("out", O_CREAT | O_WRONLY, 0600), "w");
    fwrite("hello world\n", 1, 12, f);
    fclose(f);
    return 0;
}
