/*
 * calls_aio.c: POSIX asynchronous I/O, counted where its result is fetched.
 * libc notes the direction of each request in its control block.
 */
#include "calls.h"

#include <aio.h>

PV_EXPORT ssize_t aio_return(struct aiocb *request) {
    pv_thread();
    int fd = request->aio_fildes, operation = request->aio_lio_opcode & 127;
    int64_t offset = request->aio_offset;
    ssize_t r = pv_real.aio_return(request);
    if (operation == LIO_READ)
        account_end(fd, PV_READ, 0, offset, r);
    else if (operation == LIO_WRITE)
        account_end(fd, PV_WRITE, 0, offset, r);
    return r;
}
PV_ALIAS(aio_return64, aio_return);
