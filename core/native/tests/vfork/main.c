/* 1,000 vforked children close descriptors, move to another directory and execute or exit; the parent's
 * next relative open must be its own. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 1000; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            close(0);
            close(5);
            if (chdir("/")) _exit(1);
            open("etc/hostname", O_RDONLY);
            if (i % 10 == 0) execl("/bin/true", "true", (char *)0);
            _exit(0);
        }
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status) return 1;
    }
    int fd = open("mine", O_WRONLY | O_CREAT, 0600);
    if (write(fd, "x", 1) != 1) return 2;
    puts("done");
    return 0;
}
