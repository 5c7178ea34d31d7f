/*
 * real.h: the table of the calls that we wrap: for each the next definition
 * after ours, in link-map order, found by lookup.c. Data only.
 *
 * Add a call: one line PV_REAL(result, name, (arguments)) in real_calls.def
 * (file calls) or real_process.def (processes, limits, the runtime's needs).
 * A name that this glibc does not have is NULL; its wrapper then uses the raw
 * system call. The table is filled before pv_thread() first returns.
 */
#ifndef PROVIO_REAL_H
#define PROVIO_REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <utime.h>
#include <wchar.h>
#include <wordexp.h>

struct statx;
struct open_how;
struct clone_args;

struct pv_real_table {
#define PV_REAL(result, name, arguments) result(*name) arguments;
#include "real_calls.def"
#include "real_process.def"
#undef PV_REAL
};

extern struct pv_real_table pv_real;

#endif
