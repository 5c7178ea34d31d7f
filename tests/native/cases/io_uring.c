#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    struct io_uring_params p = {0};
    int f = open("out", O_CREAT | O_WRONLY, 0600);
    long ring = syscall(SYS_io_uring_setup, 4, &p);
    if (ring >= 0) close((int)ring);
    return f < 0;
}
