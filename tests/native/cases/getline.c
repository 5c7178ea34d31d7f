#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char *l = NULL;
    size_t n = 0, total = 0;
    ssize_t r;
    FILE *f = fopen("in", "r");
    while ((r = getline(&l, &n, f)) > 0) total += (size_t)r;
    fclose(f);
    free(l);
    return total != 10000;
}
