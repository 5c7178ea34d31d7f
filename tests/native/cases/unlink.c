#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    close(open("out", O_CREAT | O_WRONLY, 0600));
    return unlink("out");
}
