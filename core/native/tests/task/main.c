/* Two threads work for two attempts at once; each writes a file and starts a child; then the engine again. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*task_set)(const char *);
static size_t (*task_get)(char *, size_t);

static void *work(void *arg) {
    char task[80], got[80], name[16];
    const char *attempt = arg;
    snprintf(task, sizeof task, "%032d/%.32s", 0, attempt);
    memset(task, '1', 32);
    if (task_set(task) || !task_get(got, sizeof got) || strcmp(task, got)) abort();
    snprintf(name, sizeof name, "own-%c", attempt[0]);
    FILE *f = fopen(name, "w");
    fputs("x", f);
    fclose(f);
    snprintf(name, sizeof name, "child-%c", attempt[0]);
    pid_t pid = fork();
    if (pid == 0) execlp("cp", "cp", "/etc/hostname", name, (char *)0);
    waitpid(pid, NULL, 0);
    return NULL;
}

int main(void) {
    task_set = (int (*)(const char *))dlsym(RTLD_DEFAULT, "provio_task_set");
    task_get = (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "provio_task_get");
    pthread_t a, b;
    pthread_create(&a, NULL, work, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    pthread_create(&b, NULL, work, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    task_set(NULL);
    fclose(fopen("engine", "w"));
    return 0;
}
