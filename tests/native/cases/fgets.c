#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char l[8192];
    size_t total = 0;
    FILE *f = fopen("in", "r");
    while (fgets(l, sizeof l, f)) total += strlen(l);
    fclose(f);
    return total != 10000;
}
