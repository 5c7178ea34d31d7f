/*
 * record.h: the wire format of provio's I/O files, version 1.
 *
 * Every tracer (preload, vol, ebpf) writes this layout and one Python decoder
 * (provio.tracers.records) reads it; provio.model.wire holds the same numbers
 * for Python and tests/meta compares the two.
 *
 * A file is a 4,096-byte header followed by blocks. A block belongs to one
 * thread and holds records in program order. Integers are little-endian,
 * records are 16-byte aligned, times are CLOCK_MONOTONIC nanoseconds.
 *
 * A reference ("ref") is a record's byte offset in its file divided by 16;
 * 0 means none. References therefore need no table and survive fork.
 *
 * Crash safety: a record is complete once its `type` byte is non-zero, which
 * is stored last; a block's `used` is a hint that may lag or lead by a torn
 * record. A reader that meets a zero type steps over `size` units, or over one
 * unit of 16 bytes if `size` is zero too. Records marked "live" are updated in
 * place after publication; each of their fields is written atomically.
 */
#ifndef PROVIO_RECORD_H
#define PROVIO_RECORD_H

#include <stdint.h>

#define PROVIO_FILE_MAGIC "PROVIO\r\n" /* 8 bytes; \r\n shows a text-mode copy */
#define PROVIO_FORMAT_MAJOR 1
#define PROVIO_FORMAT_MINOR 0
#define PROVIO_HEADER_SIZE 4096u
#define PROVIO_BLOCK_MAGIC 0x4b4c4250u /* "PBLK" */
#define PROVIO_REF_SHIFT 4

enum provio_tracer { PROVIO_TRACER_PRELOAD = 1, PROVIO_TRACER_VOL = 2, PROVIO_TRACER_EBPF = 3 };

/* How the file grows: one shared mapping per attempt and node, or one
 * append-only file per process image (network file systems). */
enum provio_layout { PROVIO_LAYOUT_ARENA = 0, PROVIO_LAYOUT_BLOCKS = 1 };

enum provio_block_kind { PROVIO_BLOCK_MIXED = 1, PROVIO_BLOCK_IO = 2 };

enum provio_record_type {
    PROVIO_REC_STRING = 1,
    PROVIO_REC_IMAGE = 2,
    PROVIO_REC_IMAGE_END = 3,
    PROVIO_REC_EPOCH = 4,
    PROVIO_REC_HANDLE = 5,
    PROVIO_REC_EXTENTS = 6,
    PROVIO_REC_OP = 7,
    PROVIO_REC_IO = 8,
    PROVIO_REC_GAP = 9,
};

/* Operations, in OP and IO records. Numbers are for ever. */
enum provio_op {
    PROVIO_OP_READ = 1,
    PROVIO_OP_WRITE = 2,
    PROVIO_OP_OPEN = 3, /* only failed opens; successful ones are HANDLE records */
    PROVIO_OP_CLOSE = 4,
    PROVIO_OP_FSYNC = 5,
    PROVIO_OP_RENAME = 6,  /* path -> path2; ino2: the file that was replaced */
    PROVIO_OP_LINK = 7,    /* path -> path2 */
    PROVIO_OP_SYMLINK = 8, /* path: the text of the link; path2: the link */
    PROVIO_OP_UNLINK = 9,
    PROVIO_OP_MKDIR = 10,
    PROVIO_OP_RMDIR = 11,
    PROVIO_OP_TRUNCATE = 12,  /* size: the new size */
    PROVIO_OP_FALLOCATE = 13, /* arg: mode; size: offset + length */
    PROVIO_OP_MMAP = 14,      /* arg: prot | flags << 16; size: length */
    PROVIO_OP_STAT = 15,
    PROVIO_OP_ACCESS = 16,
    PROVIO_OP_READLINK = 17, /* path2: what the link said */
    PROVIO_OP_LISTDIR = 18,  /* handle of the directory, size: entries delivered */
    PROVIO_OP_GETXATTR = 19, /* path2: attribute name */
    PROVIO_OP_SETXATTR = 20,
    PROVIO_OP_REMOVEXATTR = 21,
    PROVIO_OP_LISTXATTR = 22,
    PROVIO_OP_CHMOD = 23,
    PROVIO_OP_CHOWN = 24,
    PROVIO_OP_UTIME = 25,
    PROVIO_OP_LOCK = 26, /* arg: lock type | whole-file flag */
    PROVIO_OP_MKNOD = 27,
    PROVIO_OP_CHDIR = 28,
    PROVIO_OP_EXEC = 29,       /* path: the program; a failed one has err */
    PROVIO_OP_SOCKETPAIR = 30, /* ino and ino2: the two ends */
    PROVIO_OP_PIPE = 31,       /* ino: the pipe */
    PROVIO_OP_COPY_RANGE = 32, /* kernel-side copy: handle -> arg (ref of the target handle), size: bytes */
    PROVIO_OP_IOCTL = 33,      /* FICLONE and FICLONERANGE only */
    PROVIO_OP_MSYNC = 34,
    PROVIO_OP_SPAWN = 35,    /* path: the program; arg: child pid; t: when it was created */
    PROVIO_OP_EXCHANGE = 36, /* renameat2(RENAME_EXCHANGE): path <-> path2 */
};

/* Why something could not be seen; the names are provio.model.gaps' kinds. */
enum provio_gap {
    PROVIO_GAP_STATIC_BINARY = 1, /* no PT_INTERP: nothing can be preloaded */
    PROVIO_GAP_FOREIGN_LIBC = 2,  /* another dynamic linker (musl) or ELF class or machine */
    PROVIO_GAP_SETUID = 3,        /* secure execution ignores LD_PRELOAD */
    PROVIO_GAP_SANITIZER = 4,     /* AddressSanitizer must come first */
    PROVIO_GAP_NO_LIBRARY = 5,    /* our library is not reachable in that root or mount namespace */
    PROVIO_GAP_RECORDS_LOST = 6,  /* count: records dropped; arg: enum provio_drop */
    PROVIO_GAP_STDIO_BYTES = 7,   /* a stream on a channel: the program's byte count, not the kernel's */
    PROVIO_GAP_INLINE_SYSCALL = 8,
    PROVIO_GAP_IO_URING = 9,  /* io_uring_setup was called */
    PROVIO_GAP_LIMIT = 10,    /* a table of ours was full; arg: which */
    PROVIO_GAP_UNSHARED = 11, /* the process left a namespace or root that we recorded */
    PROVIO_GAP_AIO = 12,
};

enum provio_drop {
    PROVIO_DROP_NO_SPACE = 1,    /* the file system is full or over quota */
    PROVIO_DROP_FSIZE = 2,       /* RLIMIT_FSIZE */
    PROVIO_DROP_AS = 3,          /* RLIMIT_AS, or mmap failed */
    PROVIO_DROP_UNREACHABLE = 4, /* the spool cannot be opened from here */
    PROVIO_DROP_REENTRY = 5,     /* a signal handler interrupted our own bookkeeping */
    PROVIO_DROP_FULL = 6,        /* 64 GiB of references are used up */
};

struct provio_file_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_size;
    uint8_t tracer;
    uint8_t layout;
    uint16_t flags;
    uint32_t reserved0;
    uint8_t run[16], attempt[16], boot[16];
    uint64_t realtime, monotonic; /* one moment, both clocks */
    char host[64];
    uint64_t next;            /* first byte that no block has taken (atomic) */
    uint64_t dropped_records; /* atomic */
    uint64_t drop_reasons;    /* bit set of 1 << enum provio_drop (atomic) */
    uint8_t reserved1[4096 - 176];
};
_Static_assert(sizeof(struct provio_file_header) == 4096, "header is one page");

struct provio_block {
    uint32_t magic;
    uint32_t length; /* bytes, this header included */
    uint32_t used;   /* bytes, this header included; stored with release order */
    uint16_t kind;
    uint16_t reserved0;
    uint32_t pid, tid;     /* as the process sees them */
    uint32_t image, epoch; /* of the records that follow, until an EPOCH record */
    uint64_t realtime, monotonic;
    uint64_t reserved1[2];
};
_Static_assert(sizeof(struct provio_block) == 64, "");

/* Every record in a MIXED block begins with this. */
struct provio_rec {
    uint8_t type; /* enum provio_record_type, stored last */
    uint8_t op;
    uint16_t size; /* in units of 16 bytes */
};

/* Bytes, not necessarily text; no terminating NUL is counted. Lists (argv,
 * environment, loaded objects) are NUL-separated. */
struct provio_string {
    struct provio_rec rec; /* op: PROVIO_STRING_TRUNCATED bit */
    uint32_t length;
    char bytes[];
};
#define PROVIO_STRING_TRUNCATED 1

enum provio_origin {
    PROVIO_ORIGIN_EXEC = 1, /* a program was executed; parent: the image that called exec or spawn */
    PROVIO_ORIGIN_FORK = 2, /* memory copied from parent; t: the moment of fork */
};

/* One process image. Identity within its boot: (pidns, pid, start_ticks) plus
 * execs; within the run: (file, ref). */
struct provio_image {
    struct provio_rec rec; /* op: enum provio_origin */
    uint32_t flags;
    uint32_t pid, ppid, nspid, execs;
    uint64_t start_ticks; /* field 22 of /proc/self/stat; 0: not read */
    uint64_t t;           /* fork: when the parent called fork; exec: first moment in our constructor */
    uint64_t pidns;       /* inode of the pid namespace, 0: not read */
    uint32_t parent;      /* ref of the parent image, in parent_file if that is set */
    uint32_t parent_file; /* string: name of the I/O file without its directory, 0: this file */
    uint32_t argv;        /* strings; redacted; 0 in forks, which keep their parent's */
    uint32_t env;         /* allow-listed NAME=VALUE */
    uint32_t exe, cwd;
    uint32_t cgroup;    /* text of /proc/self/cgroup */
    uint32_t objects;   /* paths of the shared objects loaded at start */
    uint32_t ancestors; /* "pid:start_ticks" from the parent upward, where the parent has no record */
    uint32_t uid, euid, gid;
    uint8_t run[16], attempt[16]; /* what PROVIO_TASK said at exec */
    uint64_t rchar, wchar;        /* of the process at t, so that exec does not count twice */
    uint32_t rank;                /* MPI rank + 1, 0: none */
    uint32_t reserved[3];
};
_Static_assert(sizeof(struct provio_image) == 160, "");

enum provio_end { PROVIO_END_EXIT = 1, PROVIO_END_EXEC = 2, PROVIO_END_FAILED_EXEC = 3 };

/* Totals of the process (not of the image) when the image ends. Absent after
 * SIGKILL. After a FAILED_EXEC the image goes on. */
struct provio_image_end {
    struct provio_rec rec; /* op: enum provio_end */
    uint32_t image;
    uint64_t t;
    uint64_t rchar, wchar;            /* /proc/self/io, bytes */
    uint64_t utime, stime;            /* ns */
    uint64_t read_bytes, write_bytes; /* block device, bytes */
    uint64_t maxrss;                  /* bytes */
    uint64_t io_time;                 /* ns spent inside traced calls, estimated from sampled latency */
    uint32_t objects;                 /* string: shared objects loaded since the start */
    int32_t status;                   /* exit status, -1: not known */
    uint32_t own_read, own_written;   /* of rchar and wchar: by the tracer itself, in this image */
};
_Static_assert(sizeof(struct provio_image_end) == 96, "");

/* From here on this thread (tid) or, with tid 0, the whole image acts for
 * attempt. A zero attempt means: for the engine itself. */
struct provio_epoch {
    struct provio_rec rec; /* op: 1 = carried from exec, 2 = provio_task_set() */
    uint32_t image;
    uint32_t tid;
    uint32_t previous;
    uint64_t t;
    uint64_t reserved;
    uint8_t run[16], attempt[16];
};
_Static_assert(sizeof(struct provio_epoch) == 64, "");

enum provio_kind {
    PROVIO_KIND_FILE = 1,
    PROVIO_KIND_DIRECTORY = 2,
    PROVIO_KIND_PIPE = 3,
    PROVIO_KIND_FIFO = 4,
    PROVIO_KIND_SOCKET = 5,
    PROVIO_KIND_DEVICE = 6,
    PROVIO_KIND_OTHER = 7,
};

enum provio_handle_flags {
    PROVIO_HANDLE_CREATED = 1 << 0,   /* this open made the file: proved by O_EXCL or an absent file before */
    PROVIO_HANDLE_TRUNCATED = 1 << 1, /* O_TRUNC took effect */
    PROVIO_HANDLE_ADOPTED = 1 << 2,   /* came over exec: the open is in an earlier image */
    PROVIO_HANDLE_INHERITED = 1 << 3, /* came over fork */
    PROVIO_HANDLE_CONTINUED = 1 << 4, /* same open file, new thread or epoch */
    PROVIO_HANDLE_STDIO = 1 << 5,     /* bytes from the descriptor's offset, counts are bounds */
    PROVIO_HANDLE_TMPFILE = 1 << 6,   /* O_TMPFILE, memfd */
    PROVIO_HANDLE_CLOSED = 1 << 7,    /* the *_close fields are set */
    PROVIO_HANDLE_OTHER_ALIAS = 1 << 8, /* path differs from the name that the program used (given) */
    PROVIO_HANDLE_INEXACT = 1 << 9,     /* extents were merged: unique bytes are bounds */
    PROVIO_HANDLE_APPEND = 1 << 10,
    PROVIO_HANDLE_CHILD = 1 << 11, /* opened by a vfork child or a spawn file action of this image */
};

/* One direction (read or write) of a handle. Bytes and ns. */
struct provio_direction {
    uint64_t bytes, count, sequential;
    uint64_t first, last;         /* begin of the first call, end of the last */
    uint64_t lo, hi;              /* extent hull: [lo, hi) */
    uint64_t next;                /* where a sequential call would continue */
    uint64_t sampled, sampled_ns; /* latency, 1 call in 64 */
};
_Static_assert(sizeof(struct provio_direction) == 80, "");

/* One open file as seen by one thread in one epoch. Live until CLOSED. */
struct provio_handle {
    struct provio_rec rec; /* op: enum provio_kind */
    uint32_t flags;
    uint32_t image, epoch;
    uint32_t parent; /* the handle this one continues, inherits or adopts; in parent_file */
    uint32_t parent_file;
    uint32_t path;  /* absolute; symbolic links resolved where they were followed */
    uint32_t given; /* what the program said, made absolute; 0: the same */
    uint32_t tid;
    int32_t fd;
    uint32_t oflags, mode; /* open(2) flags; st_mode */
    uint32_t extents_read, extents_write;
    uint32_t object; /* the current HDF5 object at open, 0: none */
    uint32_t reserved0;
    uint64_t dev, ino;
    uint64_t size_open, size_close;
    int64_t mtime_open, mtime_close, ctime_open, ctime_close; /* CLOCK_REALTIME ns */
    uint64_t t_open, t_close;
    struct provio_direction read, write;
    uint64_t open_ns;   /* duration of the open call */
    uint64_t reserved1; /* BLOCKS: when it last reached the file, for the writer alone */
};
_Static_assert(sizeof(struct provio_handle) == 320, "");

#define PROVIO_EXTENTS 16
/* Exact extents of one direction, in order of first touch. Live. */
struct provio_extents {
    struct provio_rec rec; /* op: PROVIO_OP_READ or PROVIO_OP_WRITE */
    uint32_t handle;
    uint32_t count;
    uint32_t reserved;
    struct {
        uint64_t begin, end;
    } extent[PROVIO_EXTENTS];
};
_Static_assert(sizeof(struct provio_extents) == 272, "");

enum provio_op_flags {
    PROVIO_OPF_CHILD = 1 << 0,    /* done by a vfork child or a spawn file action of this image */
    PROVIO_OPF_IDENTITY = 1 << 1, /* dev, ino, size, mtime, ctime are those of path */
    PROVIO_OPF_NOFOLLOW = 1 << 2, /* about a link itself */
    PROVIO_OPF_DIRECTORY = 1 << 3,
};

/* One operation that is not a plain read or write. */
struct provio_op_rec {
    struct provio_rec rec; /* op: enum provio_op */
    uint16_t err;          /* errno, 0: it succeeded */
    uint16_t flags;
    uint64_t t;   /* end of the call */
    uint32_t dur; /* ns, saturating; 0: not measured */
    uint32_t arg;
    uint32_t path, path2; /* absolute strings; 0 where the handle says it */
    uint32_t handle;
    uint32_t reserved;
    int64_t result;
    uint64_t dev, ino, ino2;
    uint64_t size;
    int64_t mtime, ctime;
};
_Static_assert(sizeof(struct provio_op_rec) == 96, "");

/* One read or write, full mode only, in IO blocks. Image and epoch are the handle's. */
struct provio_io {
    uint8_t type; /* PROVIO_REC_IO, stored last */
    uint8_t op;
    uint16_t err;
    uint32_t dur;    /* ns, saturating */
    uint64_t t;      /* begin of the call */
    uint32_t handle; /* ref */
    uint32_t object; /* current HDF5 object, 0: none */
    int64_t offset;  /* -1: a channel */
    int64_t result;  /* bytes, or -1 with err */
    uint32_t tid;
    uint32_t reserved;
};
_Static_assert(sizeof(struct provio_io) == 48, "");

struct provio_gap_rec {
    struct provio_rec rec; /* op: enum provio_gap */
    uint32_t image;
    uint64_t t;
    uint32_t path; /* the program or file concerned, 0: none */
    uint32_t arg;
    uint64_t count;
};
_Static_assert(sizeof(struct provio_gap_rec) == 32, "");

#endif
