#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/wait.h>

int main(void) {
    int f = open("out", O_CREAT | O_WRONLY, 0600), s;
    if (!fork()) _exit(write(f, "from the child\n", 15) != 15);
    wait(&s);
    return s || write(f, "parent\n", 7) != 7;
}
