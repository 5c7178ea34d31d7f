/* harmless.c: what a wrapper must leave exactly as it is. Prints one line per check; must print the same
 * untraced. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int cleaned;
static void clean(void *unused) {
    (void)unused;
    cleaned = 1;
}

static void *blocked(void *fds) {
    char c;
    pthread_cleanup_push(clean, NULL);
    (void)!read(((int *)fds)[0], &c, 1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void) {
    int fds[2];
    void *result;
    pthread_t t;
    if (pipe(fds)) exit(1);
    pthread_create(&t, NULL, blocked, fds);
    pthread_cancel(t);
    pthread_join(t, &result);
    printf("cancelled %d, cleaned up %d\n", result == PTHREAD_CANCELED, cleaned);
}

static int target;
static volatile int ticks;
static void tick(int signal) {
    (void)signal;
    int saved = errno;
    ticks++;
    if (write(target, "t", 1) != 1 || open("/nonexistent/tick", O_RDONLY) >= 0) abort();
    errno = saved;
}

/* A handler that itself writes, at every moment of our bookkeeping. */
static void interrupted(void) {
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    long sum = 0;
    char c;
    target = open("ticks", O_CREAT | O_WRONLY, 0600);
    int fd = open("/dev/zero", O_RDONLY);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 200000 || ticks < 50; i++) {
        struct stat st;
        if (read(fd, &c, 1) == 1) sum++;
        if (i % 50 == 0 && (close(open("ticks", O_RDONLY)) || stat("ticks", &st))) abort();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    struct stat st;
    fstat(target, &st);
    printf("interrupted: every read counted %d, every tick written %d\n", sum >= 200000, st.st_size == ticks);
}

static void errors(void) {
    errno = 77;
    (void)!getpid();
    int fd = open("here", O_CREAT | O_RDWR, 0640);
    struct stat st;
    fstat(fd, &st);
    printf("mode %o, errno %d\n", st.st_mode & 0777, errno);
    printf("missing %d %d\n", open("absent", O_RDONLY), errno);
    printf("bad descriptor %zd %d\n", read(987, &st, 1), errno);
    printf("null path %d %d\n", open(NULL, O_RDONLY), errno);
    printf("closed %d %d\n", close(987), errno);
    printf("flags %d\n", fcntl(fd, F_GETFL) & O_ACCMODE);
    printf("duplicate %d\n", fcntl(fd, F_DUPFD, 500));
    printf("seek %ld\n", (long)lseek(fd, 5, SEEK_SET));
    printf("syscall %ld\n", syscall(SYS_write, fd, "abc", 3));
    printf("format %d\n", fprintf(stdout, "%s %d %.2f %Lf %c\n", "text", 42, 1.5, (long double)2.5, 'x'));
    printf("unlink a directory %d\n", unlink("/") == -1);
}

/* A child that shares our memory: nothing that it does may show here. */
static void vforked(void) {
    char before[4096], after[4096];
    int fd = open("kept", O_CREAT | O_RDWR, 0600);
    if (!getcwd(before, sizeof before)) exit(1);
    for (int i = 0; i < 1000; i++) {
        pid_t p = vfork();
        if (!p) {
            close(fd);
            if (chdir("/")) _exit(1);
            _exit(open("relative", O_RDONLY) >= 0);
        }
        waitpid(p, NULL, 0);
    }
    int made = open("relative", O_CREAT | O_WRONLY, 0600);
    if (!getcwd(after, sizeof after)) exit(1);
    printf("vforked: same directory %d, written %zd %zd\n", !strcmp(before, after), write(fd, "kept", 4),
           write(made, "relative", 8));
}

static void *opener(void *n) {
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "t%ld", (long)n);
        int fd = open(name, O_CREAT | O_RDWR, 0600);
        if (pwrite(fd, name, 2, 0) != 2 || close(fd)) abort();
    }
    return NULL;
}

static void threads(void) {
    pthread_t t[8];
    for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, opener, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    printf("threads done\n");
}

static void *small(void *unused) {
    close(open("in-a-small-stack", O_CREAT | O_WRONLY, 0600));
    return unused;
}

static void small_stack(void) {
    pthread_attr_t attributes;
    pthread_t t;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    pthread_create(&t, &attributes, small, NULL);
    pthread_join(t, NULL);
    printf("small stack done\n");
}

int main(void) {
    cancelled();
    interrupted();
    errors();
    vforked();
    threads();
    small_stack();
    return 0;
}
