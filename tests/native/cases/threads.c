#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>
static int f;
static void *part(void *n) {
    return (void *)pwrite(f, "12345678", 8, 8 * (long)n);
}

int main(void) {
    pthread_t t[4];
    f = open("out", O_CREAT | O_WRONLY, 0600);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, part, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    return 0;
}
