/*
 * workload.c: the I/O-bound workloads of the bench.
 *
 *   workload hot DIR        W1: 4,096 writes fill a file, then 1,000,000 hot 4 KiB pread/pwrite/read/write
 *   workload threads DIR N S  W5: N threads, 400,000 preads of 4 KiB in all, on one file (S=1) or on one each
 * (S=0)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 4096

static const char *directory;
static int shared, threads;

static int filled(const char *name) {
    static char block[BLOCK];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", directory, name, (int)getpid());
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (fd < 0) exit(1);
    for (int i = 0; i < BLOCKS; i++)
        if (write(fd, block, BLOCK) != BLOCK) exit(1);
    unlink(path);
    return fd;
}

static int hot(void) {
    char block[BLOCK] = {0};
    unsigned seed = 1;
    int fd = filled("hot");
    lseek(fd, 0, SEEK_SET);
    for (int i = 0; i < 1000000; i++) {
        off_t at = (off_t)(rand_r(&seed) % 64) * BLOCK;
        ssize_t r = 0;
        switch (i & 3) {
        case 0:
            r = pread(fd, block, BLOCK, at);
            break;
        case 1:
            r = pwrite(fd, block, BLOCK, at);
            break;
        case 2:
            r = read(fd, block, BLOCK);
            break;
        default:
            r = write(fd, block, BLOCK);
        }
        if (r != BLOCK || ((i & 1023) == 1023 && lseek(fd, 0, SEEK_SET))) return 1;
    }
    return close(fd);
}

static void *reader(void *argument) {
    static int common = -1;
    char block[BLOCK];
    long number = (long)argument;
    int fd = shared ? __atomic_load_n(&common, __ATOMIC_ACQUIRE) : -1;
    if (number < 0) {
        common = filled("common");
        return NULL;
    }
    if (fd < 0) {
        char name[32];
        snprintf(name, sizeof name, "own%ld", number);
        fd = filled(name);
    }
    for (int i = 0; i < 400000 / threads; i++)
        if (pread(fd, block, BLOCK, (off_t)((i + number * 7) & 63) * BLOCK) != BLOCK) exit(1);
    return NULL;
}

static int parallel(void) {
    pthread_t t[64];
    if (shared) reader((void *)-1L);
    for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, reader, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    directory = argv[2];
    if (!strcmp(argv[1], "hot")) return hot();
    if (argc != 5) return 2;
    threads = atoi(argv[3]);
    shared = atoi(argv[4]);
    return parallel();
}
