#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    int a, b;
    FILE *f = fopen("out", "w");
    fputs("17 25\n", f);
    fclose(f);
    f = fopen("out", "r");
    if (fscanf(f, "%d %d", &a, &b) != 2) return 1;
    fclose(f);
    return a + b != 42;
}
