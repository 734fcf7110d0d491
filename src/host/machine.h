/*
 * The machine: finds and reads the kernel's files on the CPU load. The parsing and the choice
 * between the signals are the core's (load.h).
 *
 * Shared by the module's timer and by elasticd. Knows POSIX, and neither httpd nor a library. One
 * thread at a time for each el_machine_t; no allocation.
 */
#ifndef ELASTIC_HOST_MACHINE_H
#define ELASTIC_HOST_MACHINE_H

#include "elastic/control.h"
#include "elastic/entry.h"
#include "elastic/load.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * The rows of 1024 CPUs fit. What follows them in /proc/stat is not needed; a row that the buffer's
 * end cuts is not taken.
 */
#define EL_MACHINE_TEXT (128 * 1024)
/* Of all other files; /proc/self/cgroup, the longest, has at most 15 lines, one a hierarchy. */
#define EL_MACHINE_SMALL (8 * 1024)
#define EL_MACHINE_SIGNALS 160

typedef enum {
    EL_MACHINE_STAT,
    EL_MACHINE_USAGE,
    EL_MACHINE_FILES
} el_machine_file_t;

/* About 150 KB: it belongs in static storage. */
typedef struct {
    /* As given. */
    const char *root;
    const char *proc_stat;
    el_load_kind_t kind;

    /* As found. */
    el_machine_facts_t facts;
    el_load_signals_t signals;
    char signals_text[EL_MACHINE_SIGNALS]; /* which and why, for people */
    bool masked;                     /* `mask` is known */
    el_cpuset_t mask;                /* the CPUs that are ours: affinity and cpuset */
    uint64_t looked_usec;
    char path[EL_MACHINE_FILES][EL_CGROUP_PATH]; /* empty: there is none */

    int kept; /* the descriptor of what counts, from before the root changed, or -1 */
    char small[EL_MACHINE_SMALL];
    char text[EL_MACHINE_TEXT];
} el_machine_t;

/*
 * Looks at the machine whose files are under `root` ("" for this one), at `now_usec` of the
 * monotonic clock, and chooses by `kind`. `proc_stat` is read in place of `root`/proc/stat if it
 * is not NULL. The strings must live as long as `machine`. Never fails: what is not found does not
 * count.
 */
void el_machine_open(el_machine_t *machine, const char *root, const char *proc_stat,
                     el_load_kind_t kind, uint64_t now_usec);

/* Opens the file of the signal that counts and keeps it, for when a chroot will hide it. */
void el_machine_keep(el_machine_t *machine);

/* Closes what was kept. */
void el_machine_close(el_machine_t *machine);

/*
 * Looks again if the last look is 10 s old, and no file is kept: limits and affinity change
 * while a server runs. True if `signals_text` became another.
 */
bool el_machine_refresh(el_machine_t *machine, uint64_t now_usec);

/*
 * Reads the signal that counts, at `now_usec`; the kernel's own /proc/stat at the moment of its
 * reading, by the same clock. `path` is then the file. False if it cannot be read: errno says
 * why, or is 0 if its text is not understood.
 */
bool el_machine_read(el_machine_t *machine, uint64_t now_usec, el_reading_t *reading,
                     const char **path);

/* The kernel's numbers of a TCP connection. Any thread. */

typedef struct {
    double rate;  /* at which the peer took the last data, bits a second */
    bool limited; /* by what the application had to send, so that the path may carry more */
} el_tcp_rate_t;

/*
 * The rate at which `fd`'s peer has acknowledged data, Linux 4.9's delivery rate. False if the
 * socket is no TCP, nothing was acknowledged yet, or the kernel does not say. A system call.
 */
bool el_tcp_rate(int fd, el_tcp_rate_t *rate);

/* The same of the kernel's answer: `len` bytes of its struct tcp_info, aligned as that is. Pure. */
bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate);

/* Files: facts that the kernel has of them, and the position file on disk. Any thread. */

/*
 * True if `path` lies below `folder`, all symbolic links of both resolved. False if either is
 * not there, or memory is short.
 */
bool el_path_within(const char *path, const char *folder);

/* Reads the numbers of an open file. False if it is no regular file. */
bool el_file_stat(int descriptor, el_file_id_t *id);

/*
 * True if an open file lies in memory only, on tmpfs or ramfs, or that is not known: then later
 * changes through a mapping show in no number. An overlay over such a file system does not tell.
 */
bool el_file_is_in_memory(int descriptor);

/* The position file is read by whoever follows it, and written by elasticd. */

/*
 * Reads the file at `path`, or from the descriptor `kept` if that is not -1, at `now_usec`. A
 * file that cannot be opened or read is SHORT, and errno says why; otherwise errno is 0. What is
 * not a regular file is FOREIGN. A position whose writer is gone without a word, as its lock shows,
 * is STOPPED at once.
 */
el_position_verdict_t el_position_file_read(const char *path, int kept, uint64_t now_usec,
                                            el_position_t *position);

/* A file that this process writes, and nobody else: it is locked. */
typedef struct {
    const char *path;
    int fd;
} el_position_file_t;

/* How opening the file ended. */
typedef enum {
    EL_POSITION_FILE_OPEN,
    EL_POSITION_FILE_TAKEN,  /* another process writes it */
    EL_POSITION_FILE_REFUSED, /* it is there, and is no position file */
    EL_POSITION_FILE_ERROR   /* errno says why */
} el_position_file_result_t;

/*
 * Opens or makes the file at `path` (which must live as long), readable by all, and locks it. The
 * lock goes with the process, however it ends, and to its children.
 */
el_position_file_result_t el_position_file_open(el_position_file_t *file, const char *path);

/*
 * Writes `position` in place, as that of a locked file. If the name has come to mean another
 * file, or none, that one is opened first. False if it could not be written, and errno says why.
 */
bool el_position_file_write(el_position_file_t *file, const el_position_t *position);

void el_position_file_close(el_position_file_t *file);

#endif
