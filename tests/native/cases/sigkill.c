#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>

int main(void) {
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    if (write(f, "hello world\n", 12) != 12) return 1;
    kill(getpid(), SIGKILL);
    return 0;
}
