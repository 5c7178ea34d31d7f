/* Asks pv_now() between two looks at the kernel's clock, from several threads; prints the worst excursion in
 * ns. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int (*pv_vdso_clock)(int, struct timespec *);
uint64_t pv_now(void);

static uint64_t kernel_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *ask(void *rounds) {
    uint64_t worst = 0, before = 0;
    for (long i = 0; i < *(long *)rounds; i++) {
        uint64_t low = kernel_now(), now = pv_now(), high = kernel_now();
        if (now < before) abort(); /* time never goes back */
        before = now;
        if (now < low && low - now > worst) worst = low - now;
        if (now > high && now - high > worst) worst = now - high;
    }
    return (void *)worst;
}

int main(void) {
    long rounds = 2000000;
    pthread_t threads[2];
    uint64_t worst = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ask, &rounds);
    for (int i = 0; i < 2; i++) {
        void *found;
        pthread_join(threads[i], &found);
        if ((uint64_t)found > worst) worst = (uint64_t)found;
    }
    printf("%lu\n", (unsigned long)worst);
    return 0;
}
