/*
 * process.c: process images: who this is, where it came from, and what it had
 * used when it ended. For whom it works is task.c.
 *
 * Reads /proc once per executed program and once per forked child that does
 * I/O. Raw system calls only; callable in a forked child of a threaded program.
 */
#include "internal.h"

#include <sys/mman.h>

#define PROC_TEXT 4096

static uint32_t execs;
static struct pv_identity identity;
static int objects_known;
static int ended;
static uint64_t own_bytes[2]; /* read and written by us since the image began */
static uint64_t rss_before;   /* ru_maxrss when the program began */
static char scratch[49152];   /* used while the image begins or ends, by one thread */

/* --- reading /proc --- */

/* A vfork child is another process with our memory: the kernel counts its bytes elsewhere. */
long pv_own_bytes(int written, long result) {
    if (result > 0 && !pv_self()->vfork_depth)
        __atomic_fetch_add(&own_bytes[written], (uint64_t)result, __ATOMIC_RELAXED);
    return result;
}

size_t pv_read_file(const char *path, char *out, size_t room) {
    long fd = pv_sys(SYS_openat, (long)AT_FDCWD, path, (long)(O_RDONLY | O_CLOEXEC), 0L);
    if (fd < 0) {
        out[0] = 0;
        return 0;
    }
    long n = pv_own_bytes(0, pv_sys(SYS_read, fd, out, (long)(room - 1)));
    pv_sys(SYS_close, fd);
    if (n < 0) n = 0;
    out[n] = 0;
    return (size_t)n;
}

/* Fields of /proc/<pid>/stat after the name, which may hold anything, itself ')'. */
static const char *after_name(const char *text) {
    const char *end = NULL;
    for (; *text; text++)
        if (*text == ')') end = text;
    return end ? end + 1 : NULL;
}

static uint64_t field_of(const char *text, int number) {
    const char *at = after_name(text);
    if (!at) return 0;
    for (int field = 2; field < number; field++) {
        while (*at == ' ') at++;
        if (field + 1 == number) break;
        while (*at && *at != ' ') at++;
    }
    return pv_parse(&at, 10);
}

static uint64_t value_after(const char *text, const char *label) {
    const char *at = pv_find(text, label);
    if (!at) return 0;
    at += pv_length(label);
    while (*at == ' ' || *at == '\t') at++;
    return pv_parse(&at, 10);
}

int pv_io_counts(uint64_t counts[4]) {
    char text[512];
    for (int i = 0; i < 4; i++) counts[i] = 0;
    size_t n = pv_read_file("/proc/self/io", text, sizeof text);
    if (!n) return 0;
    counts[0] = value_after(text, "rchar: ") + n; /* with this reading, which own_bytes holds too */
    counts[1] = value_after(text, "wchar: ");
    counts[2] = value_after(text, "\nread_bytes: ");
    counts[3] = value_after(text, "\nwrite_bytes: ");
    return 1;
}

static uint64_t pid_namespace(void) {
    struct stat st;
    pv_zero(&st, sizeof st);
    return pv_sys(SYS_newfstatat, (long)AT_FDCWD, "/proc/self/ns/pid", &st, 0L) < 0 ? 0 : st.st_ino;
}

/* --- the image record --- */

static uint32_t link_string(struct pv_thread *t, const char *path) {
    char target[PV_BUFFER];
    long n = pv_sys(SYS_readlinkat, (long)AT_FDCWD, path, target, (long)sizeof target);
    return n > 0 ? pv_string(t, target, (size_t)n) : 0;
}

static uint32_t cwd_string(struct pv_thread *t) {
    char text[PV_BUFFER];
    long n = pv_sys(SYS_getcwd, text, (long)sizeof text);
    return n > 1 ? pv_string(t, text, (size_t)n - 1) : 0;
}

/* "pid:start" from the parent upward: for whoever has no record of its own. */
static uint32_t ancestor_string(struct pv_thread *t, uint64_t pid) {
    char line[512], file[32], stat_text[PROC_TEXT];
    struct pv_text text = pv_text_on(line, sizeof line);
    for (int depth = 0; pid > 1 && depth < 12; depth++) {
        struct pv_text name = pv_text_on(file, sizeof file);
        pv_text_add(&name, "/proc/");
        pv_text_number(&name, pid);
        pv_text_add(&name, "/stat");
        pv_text_end(&name);
        if (!pv_read_file(file, stat_text, sizeof stat_text)) break;
        if (depth) pv_text_bytes(&text, "\0", 1);
        pv_text_number(&text, pid);
        pv_text_add(&text, ":");
        pv_text_number(&text, field_of(stat_text, 22));
        pid = field_of(stat_text, 4);
    }
    return text.at > line ? pv_string(t, line, (size_t)(text.at - line)) : 0;
}

static int is_listed(const char *list, const char *name, size_t length) {
    while (*list) {
        size_t n = 0;
        while (list[n] && list[n] != ',') n++;
        if (n && list[n - 1] == '*' ? length >= n - 1 && pv_same(list, name, n - 1)
                                    : n == length && pv_same(list, name, n))
            return 1;
        list += n + (list[n] == ',');
    }
    return 0;
}

/* The documented allow-list; anything else of the environment is never recorded. */
static const char allowed[][24] = {
    "SLURM_JOB_ID",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_NODEID",
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_ID",
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "OMP_NUM_THREADS",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV",
    "HOSTNAME",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "container",
    "NXF_TASK_WORKDIR",
    "AIRFLOW_CTX_*",
};

static int is_allowed(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (allowed[i][0] == name[0] && is_listed(allowed[i], name, length)) return 1;
    return pv_settings.value[PV_WIRE_ALLOW][0] && is_listed(pv_settings.value[PV_WIRE_ALLOW], name, length);
}

static size_t pick_environment(char **envp, char *out, size_t room) {
    struct pv_text text = pv_text_on(out, room);
    for (char **at = envp; *at; at++) {
        size_t n = 0;
        while ((*at)[n] && (*at)[n] != '=') n++;
        if (!is_allowed(*at, n)) continue;
        char value[512];
        size_t length = pv_redact_text(*at, pv_length(*at), value, sizeof value);
        if (text.at + length + 1 > text.end) break;
        if (text.at != out) pv_text_bytes(&text, "", 1);
        pv_text_bytes(&text, value, length);
    }
    return (size_t)(text.at - out);
}

static uint32_t rank_of(char **envp) {
    static const char *const names[] = {
        "PMI_RANK=", "PMIX_RANK=", "OMPI_COMM_WORLD_RANK=", "MV2_COMM_WORLD_RANK=", "SLURM_PROCID="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **at = envp; *at; at++)
            if (pv_starts(*at, names[i])) {
                const char *value = *at + pv_length(names[i]);
                return (uint32_t)pv_parse(&value, 10) + 1;
            }
    return 0;
}

static uint64_t next_field(const char **at, unsigned base) {
    if (**at == ':') (*at)++;
    return pv_parse(at, base);
}

/*
 * PROVIO_FROM: "<file>:<image ref hex>:<execs>:<pid>:<start>:<pidns>:<pid in /proc>": the image that
 * executed this program. If it was in this process, what /proc said there holds.
 */
static void read_from(struct provio_image *image, struct pv_identity *known, size_t *name) {
    const char *from = pv_settings.value[PV_WIRE_FROM], *at = from;
    while (*at && *at != ':') at++;
    *name = *at ? (size_t)(at - from) : 0;
    if (!*name) return;
    image->parent = (uint32_t)next_field(&at, 16);
    uint32_t before = (uint32_t)next_field(&at, 10);
    image->execs = 1;
    if (next_field(&at, 10) != image->nspid) return;
    image->execs = before + 1;
    known->start_ticks = next_field(&at, 10);
    known->pidns = next_field(&at, 10);
    known->pid = (uint32_t)next_field(&at, 10);
}

static void fill_origin(struct pv_thread *t, struct provio_image *image, size_t name) {
    const char *own = pv_arena_name(), *from = pv_settings.value[PV_WIRE_FROM];
    if (name) {
        if (pv_length(own) != name || !pv_same(own, from, name))
            image->parent_file = pv_string(t, from, name);
        pv_parent_file = image->parent_file;
        return;
    }
    image->ancestors = ancestor_string(t, image->ppid);
}

/* What was counted before is not this program's: an earlier program's, the kernel's and ld.so's reading
 * of this one, ours. */
static void fill_counts(struct provio_image *image) {
    uint64_t counts[4];
    if (!pv_io_counts(counts)) return;
    image->rchar = counts[0] - own_bytes[0];
    image->wchar = counts[1] - own_bytes[1];
}

static void fill_strings(struct pv_thread *t, struct provio_image *image) {
    char text[PROC_TEXT];
    const struct pv_start *start = pv_startup();
    int cut = 0;
    size_t n = pv_read_file("/proc/self/cgroup", text, sizeof text);
    image->cgroup = n ? pv_string(t, text, n) : 0;
    image->exe = link_string(t, "/proc/self/exe");
    image->cwd = cwd_string(t);
    n = pv_redact_argv(start->argv, scratch, sizeof scratch, &cut);
    image->argv = pv_string(t, scratch, n);
    n = pick_environment(start->envp, scratch, sizeof scratch);
    if (n) image->env = pv_string(t, scratch, n);
    image->rank = rank_of(start->envp);
    n = pv_loaded_objects(scratch, sizeof scratch, 0, &objects_known);
    if (n) image->objects = pv_string(t, scratch, n);
}

/* What /proc says about this process, unless an image of it has read that already. */
static void identify(const struct pv_identity *known) {
    char text[PROC_TEXT];
    const char *at = text;
    identity.nspid = (uint32_t)pv_sys(SYS_getpid);
    identity.pid = known->pid;
    identity.start_ticks = known->start_ticks;
    identity.pidns = known->pidns;
    if (known->start_ticks) return;
    pv_read_file("/proc/self/stat", text, sizeof text);
    identity.pid = (uint32_t)pv_parse(&at, 10);
    if (!identity.pid) identity.pid = identity.nspid;
    identity.start_ticks = field_of(text, 22);
    identity.pidns = pid_namespace();
}

static void fill_process(struct provio_image *image) {
    image->pid = identity.pid;
    image->nspid = identity.nspid;
    image->start_ticks = identity.start_ticks;
    image->pidns = identity.pidns;
    image->ppid = (uint32_t)pv_sys(SYS_getppid);
    image->uid = (uint32_t)pv_sys(SYS_getuid);
    image->euid = (uint32_t)pv_sys(SYS_geteuid);
    image->gid = (uint32_t)pv_sys(SYS_getgid);
}

static uint32_t write_image(struct pv_thread *t, const struct provio_image *filled,
                            enum provio_origin origin) {
    struct provio_image *image = pv_reserve(t, sizeof *image);
    if (!image) return 0;
    struct provio_rec head = image->rec;
    *image = *filled;
    image->rec = head;
    pv_publish(t, image, PROVIO_REC_IMAGE, (uint8_t)origin);
    return pv_ref(image);
}

static void begin(struct pv_thread *t, const struct provio_image *filled, enum provio_origin origin) {
    t->epoch = 0;
    pv_image = write_image(t, filled, origin);
    execs = filled->execs;
    ended = 0;
    if (t->mixed) t->mixed->image = pv_image;
    /* A child forked by a thread with a live task is live for it as a whole: only that thread is in it. */
    t->epoch = pv_image_epoch = pv_epoch_write(t, pv_task_of_thread(), 0, pv_task_is_live());
}

static void fill_task(struct provio_image *image) {
    const struct pv_task *task = pv_task_of_thread();
    pv_copy(image->run, task->run, 16);
    pv_copy(image->attempt, task->attempt, 16);
}

static uint64_t peak_memory(void) {
    struct rusage used;
    pv_zero(&used, sizeof used);
    pv_sys(SYS_getrusage, (long)RUSAGE_SELF, &used);
    return (uint64_t)used.ru_maxrss * 1024u;
}

void pv_process_start(struct pv_thread *t) {
    struct provio_image image;
    struct pv_identity known = {0, 0, 0, 0};
    size_t name;
    pv_zero(&image, sizeof image);
    image.t = pv_now();
    rss_before = peak_memory();
    image.nspid = (uint32_t)pv_sys(SYS_getpid);
    read_from(&image, &known, &name);
    identify(&known);
    fill_process(&image);
    fill_task(&image);
    fill_strings(t, &image);
    fill_origin(t, &image, name);
    fill_counts(&image);
    begin(t, &image, PROVIO_ORIGIN_EXEC);
}

/* Before the first thing that a forked child does: its counts begin at zero. */
void pv_process_fresh(void) {
    own_bytes[0] = own_bytes[1] = 0;
}

/* A forked child is still the same program: what its parent recorded holds for it. */
void pv_process_forked(struct pv_thread *t) {
    struct provio_image image;
    pv_zero(&image, sizeof image);
    rss_before = 0;
    image.t = pv_fork_moment();
    image.execs = execs;
    image.parent = pv_image;
    identify(&(struct pv_identity){0, 0, 0, 0});
    fill_process(&image);
    fill_task(&image);
    if (pv_blocks) image.parent_file = pv_string(t, pv_arena_parent(), pv_length(pv_arena_parent()));
    pv_parent_file = image.parent_file;
    begin(t, &image, PROVIO_ORIGIN_FORK);
}

/* --- the end --- */

static void usage(struct provio_image_end *end) {
    struct rusage used;
    pv_zero(&used, sizeof used);
    pv_sys(SYS_getrusage, (long)RUSAGE_SELF, &used);
    end->utime = (uint64_t)used.ru_utime.tv_sec * 1000000000u + (uint64_t)used.ru_utime.tv_usec * 1000u;
    end->stime = (uint64_t)used.ru_stime.tv_sec * 1000000000u + (uint64_t)used.ru_stime.tv_usec * 1000u;
    end->maxrss = (uint64_t)used.ru_maxrss * 1024u;
    if (end->maxrss > rss_before) return;
    /* It survives exec: the peak is an earlier program's, or that of who called vfork. */
    char text[PROC_TEXT];
    if (!pv_read_file("/proc/self/status", text, sizeof text)) return;
    uint64_t high = value_after(text, "VmHWM:") * 1024u;
    if (high) end->maxrss = high;
}

static uint32_t new_objects(struct pv_thread *t) {
    int now = 0;
    size_t n = pv_loaded_objects(scratch, sizeof scratch, objects_known, &now);
    return n ? pv_string(t, scratch, n) : 0;
}

#define STORED_END (long)(sizeof(struct provio_image_end) + sizeof(struct provio_block))

/* A child that did nothing has no image, and so leaves nothing here. After EXEC the record of a
 * FAILED_EXEC says that the image goes on. */
void pv_process_end(enum provio_end why, int status) {
    struct pv_thread *t = pv_state == PV_ON && *pv_generation ? pv_thread() : NULL;
    if (!t || (ended && why == PROVIO_END_EXIT)) return;
    ended = why != PROVIO_END_FAILED_EXEC;
    if (ended) calls_image_end(t, why);
    uint32_t objects = ended ? new_objects(t) : 0;
    uint64_t counts[4] = {0, 0, 0, 0};
    struct provio_image_end *end = pv_reserve(t, sizeof *end);
    if (!end) return;
    end->image = pv_image;
    end->t = pv_now();
    end->objects = objects;
    end->status = status;
    if (ended) {
        usage(end);
        if (pv_blocks) pv_arena_store_all();
        pv_io_counts(counts);
        if (pv_blocks) counts[1] += (uint64_t)pv_own_bytes(1, STORED_END); /* is about to happen */
    }
    end->rchar = counts[0];
    end->wchar = counts[1];
    end->read_bytes = counts[2];
    end->write_bytes = counts[3];
    end->own_read = (uint32_t)own_bytes[0];
    end->own_written = (uint32_t)own_bytes[1];
    pv_publish(t, end, PROVIO_REC_IMAGE_END, (uint8_t)why);
    own_bytes[1] -= pv_blocks && ended ? (uint64_t)STORED_END : 0;
}

uint32_t pv_execs(void) {
    return execs;
}

const struct pv_identity *pv_process_identity(void) {
    return &identity;
}
