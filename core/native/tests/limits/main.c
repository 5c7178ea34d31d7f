/*
 * main.c <limit> <value>: sets a limit on itself, then does what an ordinary
 * program does: 2,000 files, threads, memory. Prints "unharmed".
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void *work(void *arg) {
    char name[64];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "f%ld-%d", (long)arg, i);
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || write(fd, name, 8) != 8 || pread(fd, name, 8, 0) != 8 || close(fd) || unlink(name))
            abort();
    }
    return NULL;
}

static void limit(int resource, rlim_t value) {
    struct rlimit l = {value, value};
    if (setrlimit(resource, &l)) abort();
}

int main(int argc, char **argv) {
    rlim_t value = argc > 2 ? strtoull(argv[2], 0, 0) : 0;
    if (argc > 1 && !strcmp(argv[1], "fsize")) limit(RLIMIT_FSIZE, value);
    if (argc > 1 && !strcmp(argv[1], "as")) limit(RLIMIT_AS, value);
    if (argc > 1 && !strcmp(argv[1], "nofile")) limit(RLIMIT_NOFILE, value);
    if (argc > 1 && !strcmp(argv[1], "mlockall")) {
        struct rlimit l;
        getrlimit(RLIMIT_MEMLOCK, &l);
        if (value < l.rlim_max) limit(RLIMIT_MEMLOCK, value);
        puts(mlockall(MCL_CURRENT) ? "refused" : "locked");
    }
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i)) abort();
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    char *memory = malloc(4 << 20);
    if (!memory) abort();
    memset(memory, 1, 4 << 20);
    puts("unharmed");
    return 0;
}
