/* metadata.c: every operation on names and attributes once, in the current directory; some fail on purpose.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static int make(const char *name) {
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    if (write(fd, "12345678", 8) != 8) exit(1);
    return fd;
}

static void names(void) {
    mkdir("dir", 0700);
    close(make("a"));
    link("a", "hard");
    symlink("a", "soft");
    rename("a", "b");
    close(make("c"));
    rename("c", "b");
    close(make("c"));
    renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE);
    renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_NOREPLACE);
    unlink("hard");
    remove("soft");
    mkfifo("fifo", 0600);
    mkdir("gone", 0700);
    rmdir("gone");
    rmdir("dir/none");
}

static void looks(void) {
    struct stat st;
    struct statx x;
    char text[64];
    stat("b", &st);
    stat("absent", &st);
    lstat("absent/deeper", &st);
    statx(AT_FDCWD, "b", 0, STATX_BASIC_STATS, &x);
    access("absent", R_OK);
    faccessat(AT_FDCWD, "b", R_OK, 0);
    symlink("target of link", "soft");
    if (readlink("soft", text, sizeof text) < 0) exit(2);
    open("absent", O_RDONLY);
    fopen("absent", "r");
    opendir("absent");
}

static void attributes(void) {
    int fd = open("b", O_RDWR);
    struct timeval times[2] = {{1000000000, 0}, {1000000000, 0}};
    char value[16];
    chmod("b", 0644);
    fchown(fd, (uid_t)-1, (gid_t)-1);
    utimes("b", times);
    ftruncate(fd, 4);
    posix_fallocate(fd, 0, 4096);
    setxattr("b", "user.colour", "blue", 4, 0);
    getxattr("b", "user.colour", value, sizeof value);
    listxattr("b", value, sizeof value);
    removexattr("b", "user.colour");
    flock(fd, LOCK_EX);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_SETLK, &lock);
    fsync(fd);
    fdatasync(fd);
    void *m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    msync(m, 4096, MS_SYNC);
    close(fd);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static void listings(void) {
    int n = 0;
    DIR *d = opendir(".");
    while (readdir(d)) n++;
    closedir(d);
    struct dirent **list;
    scandir("dir", &list, visible, NULL);
    glob_t found;
    glob("./[bc]", 0, NULL, &found);
    chdir("dir");
    close(make("inside"));
}

int main(void) {
    names();
    looks();
    attributes();
    listings();
    return 0;
}
