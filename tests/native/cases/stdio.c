#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    FILE *f = fopen("out", "w");
    fprintf(f, "n=%d\n", 42);
    for (int i = 0; i < 9000; i++) putc('a' + i % 26, f);
    fputc('\n', f);
    fclose(f);
    f = fopen("out", "r");
    int c, n = 0;
    while ((c = getc(f)) != EOF) n++;
    fclose(f);
    return n != 9006;
}
