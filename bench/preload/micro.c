/*
 * micro.c: ns per call of the hot calls, as one line of JSON: the 5th
 * percentile of 150 batches each. Run it interleaved with and without the
 * tracer (bench/preload/micro.py): the difference is what the tracer adds.
 *
 * usage: micro DIRECTORY
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 150
#define CALLS 400

static char buffer[1 << 16];
static char path[4096];
static FILE *stream;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pread_1(int fd, int i) {
    pread(fd, buffer, 1, i & 4095);
}
static void pread_4k(int fd, int i) {
    pread(fd, buffer, 4096, (off_t)(i & 15) * 4096);
}
static void pwrite_4k(int fd, int i) {
    pwrite(fd, buffer, 4096, (off_t)(i & 15) * 4096);
}
static void read_1(int fd, int i) {
    (void)i;
    read(fd, buffer, 1);
}
static void open_close(int fd, int i) {
    (void)fd, (void)i;
    close(open(path, O_RDONLY));
}
static void stat_one(int fd, int i) {
    struct stat st;
    (void)fd, (void)i;
    stat(path, &st);
}
static void fread_64(int fd, int i) {
    (void)fd;
    if ((i & 511) == 0) rewind(stream);
    fread(buffer, 1, 64, stream);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*call)(int, int), int fd, const char *end) {
    double batch[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        lseek(fd, 0, SEEK_SET);
        double begin = now();
        for (int i = 0; i < CALLS; i++) call(fd, i);
        batch[b] = (now() - begin) / CALLS;
    }
    qsort(batch, BATCHES, sizeof batch[0], ascending);
    printf("\"%s\": %.1f%s", name, batch[BATCHES / 20], end);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    snprintf(path, sizeof path, "%s/micro.%d", argv[1], (int)getpid());
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (fd < 0 || write(fd, buffer, sizeof buffer) != sizeof buffer) return 1;
    stream = fopen(path, "r");
    printf("{");
    measure("pread_1", pread_1, fd, ", ");
    measure("pread_4k", pread_4k, fd, ", ");
    measure("pwrite_4k", pwrite_4k, fd, ", ");
    measure("read_1", read_1, fd, ", ");
    measure("open_close", open_close, fd, ", ");
    measure("stat", stat_one, fd, ", ");
    measure("fread_64", fread_64, fd, "}\n");
    fclose(stream);
    close(fd);
    return unlink(path);
}
