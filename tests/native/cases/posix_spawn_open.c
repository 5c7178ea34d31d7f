#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <spawn.h>
#include <sys/wait.h>

int main(void) {
    extern char **environ;
    pid_t p;
    int s;
    posix_spawn_file_actions_t a;
    char *argv[] = {"echo", "spawned!", NULL};
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_addopen(&a, 1, "out", O_CREAT | O_WRONLY, 0600);
    if (posix_spawn(&p, "/bin/echo", &a, NULL, argv, environ)) return 1;
    posix_spawn_file_actions_destroy(&a);
    waitpid(p, &s, 0);
    return s;
}
