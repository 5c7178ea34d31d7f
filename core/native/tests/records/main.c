/*
 * The record path on its own, under AddressSanitizer: threads reserve and
 * publish while a timer's signal handler nests in them. Every record carries
 * its own check value; the file is then walked and each must be whole.
 *
 * records <spool> <layout>
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "../../preload/internal.h"

/* What the rest of the library would say. */
struct pv_real_table pv_real;
int (*pv_vdso_clock)(int, struct timespec *);
struct pv_settings pv_settings = {.value = {"", "", "", "", "", "", "", "", ""}};
static struct pv_task task = {{1}, {2}};
static const struct pv_start start;
static const struct pv_identity identity = {1, 1, 1, 1};
uint32_t pv_image_epoch;
const struct pv_start *pv_startup(void) {
    return &start;
}
void pv_lookup_real(void) {}
void pv_settings_take(char **envp) {
    (void)envp;
}
int pv_settings_recorded(void) {
    return 1;
}
const struct pv_task *pv_task_of_thread(void) {
    return &task;
}
long pv_own_bytes(int written, long result) {
    (void)written;
    return result;
}
void pv_process_fresh(void) {}
void pv_process_start(struct pv_thread *t) {
    (void)t;
}
void pv_process_forked(struct pv_thread *t) {
    (void)t;
}
void pv_process_end(enum provio_end why, int status) {
    (void)why, (void)status;
}
const struct pv_identity *pv_process_identity(void) {
    return &identity;
}
void pv_scratch_abandoned(void) {}
void calls_image_begin(struct pv_thread *t, const char *handoff) {
    (void)t, (void)handoff;
}
void calls_forked(void) {}
void calls_forking(void) {}

size_t pv_read_file(const char *path, char *out, size_t room) {
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, room - 1, f) : 0;
    if (f) fclose(f);
    out[n] = 0;
    return n;
}

static uint64_t published;

static void record(uint64_t seed) {
    struct pv_thread *t = pv_thread();
    char name[32];
    int length = snprintf(name, sizeof name, "name %u", (unsigned)seed % 50);
    uint32_t ref = pv_string(t, name, (size_t)length);
    struct provio_op_rec *op = pv_op(t);
    if (!op) return;
    op->path = ref;
    op->ino = seed;
    op->size = ~seed;
    pv_publish(t, op, PROVIO_REC_OP, 1);
    __atomic_fetch_add(&published, 1, __ATOMIC_RELAXED);
}

static void on_timer(int number) {
    (void)number;
    for (uint64_t i = 0; i < 3; i++) record(1000000 + i);
}

static void *work(void *arg) {
    for (uint64_t i = 0; i < 20000; i++) record((uint64_t)(uintptr_t)arg + i);
    return NULL;
}

static uint64_t walk(const char *data, size_t size) {
    uint64_t whole = 0;
    for (size_t at = PROVIO_HEADER_SIZE; at + 64 <= size;) {
        const struct provio_block *b = (const struct provio_block *)(data + at);
        if (b->magic != PROVIO_BLOCK_MAGIC) {
            at += 4096;
            continue;
        }
        for (uint32_t in = 64; in < b->used;) {
            const struct provio_op_rec *op = (const struct provio_op_rec *)(data + at + in);
            if (op->rec.type == PROVIO_REC_OP) {
                if (op->ino != ~op->size) abort();
                whole++;
            }
            in += op->rec.size ? op->rec.size * 16u : 16u;
        }
        at += b->length;
    }
    return whole;
}

/* Before the constructor in thread.c. */
__attribute__((constructor(101))) static void early(int argc, char **argv) {
    pv_settings.enabled = argc > 2;
    pv_settings.value[PV_WIRE_SPOOL] = argc > 2 ? argv[1] : "";
    pv_settings.value[PV_WIRE_ARENA] = argc > 2 ? argv[2] : "";
}

int main(int argc, char **argv) {
    pthread_t threads[4];
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    if (argc < 3) return 2;
    if (!pv_thread()) return 3;
    signal(SIGALRM, on_timer);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(i * 100000));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    if (pv_blocks) pv_arena_store_all();
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/io/%s", argv[1], pv_arena_name());
    FILE *f = fopen(path, "r");
    static char data[64 << 20];
    uint64_t whole = walk(data, fread(data, 1, sizeof data, f));
    fclose(f);
    printf("%s\n", whole == published && published > 70000 ? "whole" : "torn");
    return 0;
}
