/*
 * The machine: finds and reads the kernel's files about CPU load. load.h parses them and chooses
 * the signal.
 *
 * Used by the module's timer and by elasticd; knows POSIX, but not httpd. One thread at a time for
 * each el_machine_t; no allocation.
 */
#ifndef ELASTIC_HOST_MACHINE_H
#define ELASTIC_HOST_MACHINE_H

#include "elastic/control.h"
#include "elastic/entry.h"
#include "elastic/load.h"
#include <stdbool.h>
#include <stddef.h>

/* Room for 1024 CPUs. The rest of /proc/stat is not needed; a row that is cut is ignored. */
#define EL_MACHINE_TEXT (128 * 1024)
/* For all other files. The longest, /proc/self/cgroup, has at most 15 lines. */
#define EL_MACHINE_SMALL (8 * 1024)
#define EL_MACHINE_SIGNALS 160

typedef enum {
    EL_MACHINE_STAT,
    EL_MACHINE_USAGE,
    EL_MACHINE_FILES
} el_machine_file_t;

/* About 150 KB: keep it in static storage. */
typedef struct {
    /* Arguments of el_machine_open(). */
    const char *root;
    const char *proc_stat;
    el_load_kind_t kind;

    /* Found by el_machine_open() and el_machine_refresh(). */
    el_machine_facts_t facts;
    el_load_signals_t signals;
    char signals_text[EL_MACHINE_SIGNALS]; /* the chosen signal and the reason, for people */
    bool masked;                     /* `mask` is known */
    el_cpuset_t mask;                /* the CPUs of affinity and cpuset */
    uint64_t looked_usec;
    char path[EL_MACHINE_FILES][EL_CGROUP_PATH]; /* empty: not available */

    int kept; /* open descriptor of the chosen file, for use after a chroot, or -1 */
    char small[EL_MACHINE_SMALL];
    char text[EL_MACHINE_TEXT];
} el_machine_t;

/*
 * Examines the machine whose files are below `root` ("" for this one) at `now_usec` of the
 * monotonic clock, and chooses a signal by `kind`. A `proc_stat` that is not NULL replaces
 * `root`/proc/stat. The strings must outlive `machine`. Never fails: missing files are ignored.
 */
void el_machine_open(el_machine_t *machine, const char *root, const char *proc_stat,
                     el_load_kind_t kind, uint64_t now_usec);

/* Opens the chosen file and keeps it open, because a chroot will hide it. */
void el_machine_keep(el_machine_t *machine);

/* Closes the kept file. */
void el_machine_close(el_machine_t *machine);

/*
 * Examines the machine again if the last look is 10 s old and no file is kept open: limits and
 * affinity change while a server runs. True if `signals_text` changed.
 */
bool el_machine_refresh(el_machine_t *machine, uint64_t now_usec);

/*
 * Reads the chosen signal. reading->at_usec is `now_usec`; for the kernel's own /proc/stat it is
 * the moment of the read, by the same clock. Sets `path` to the file. False if it cannot be read:
 * errno is the reason, or 0 if the text is not understood.
 */
bool el_machine_read(el_machine_t *machine, uint64_t now_usec, el_reading_t *reading,
                     const char **path);

/* The kernel's numbers of a TCP connection. Any thread. */

typedef struct {
    double rate;  /* rate of the last acknowledged data, bits a second */
    bool limited; /* the application had no more to send: the path may be faster */
} el_tcp_rate_t;

/*
 * Reads Linux 4.9's delivery rate: the rate at which the peer of `fd` acknowledged data. False if
 * the socket is not TCP, nothing was acknowledged yet, or the kernel does not tell. One system
 * call.
 */
bool el_tcp_rate(int fd, el_tcp_rate_t *rate);

/* Likewise from `len` bytes of the kernel's struct tcp_info, aligned as that is. Pure. */
bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate);

/* Facts about files, and the position file on disk. Any thread. */

/*
 * True if `path` is below `folder`, with all symbolic links resolved. False if either is missing,
 * or memory is short.
 */
bool el_path_within(const char *path, const char *folder);

/* Reads the numbers of an open file. False if it is not a regular file. */
bool el_file_stat(int descriptor, el_file_id_t *id);

/*
 * True if an open file is on tmpfs or ramfs, or its file system is unknown: later writes through a
 * mapping then change no number. An overlay hides such a file system below it.
 */
bool el_file_is_in_memory(int descriptor);

/* The position file. Its followers read it, and elasticd writes it. */

/*
 * Reads the file at `path`, or the descriptor `kept` if that is not -1, at `now_usec`. SHORT if it
 * cannot be opened or read, with errno set; otherwise errno is 0. FOREIGN if it is not a regular
 * file. STOPPED if the lock shows that the writer has died.
 */
el_position_verdict_t el_position_file_read(const char *path, int kept, uint64_t now_usec,
                                            el_position_t *position);

/* A position file opened and locked by its only writer. */
typedef struct {
    const char *path;
    int fd;
} el_position_file_t;

typedef enum {
    EL_POSITION_FILE_OPEN,
    EL_POSITION_FILE_TAKEN,  /* another process writes it */
    EL_POSITION_FILE_REFUSED, /* it exists and is not a position file */
    EL_POSITION_FILE_ERROR   /* errno is the reason */
} el_position_file_result_t;

/*
 * Opens or creates the file at `path`, readable by all, and locks it. `path` must outlive `file`.
 * The lock lasts until this process and its children have ended, in any way.
 */
el_position_file_result_t el_position_file_open(el_position_file_t *file, const char *path);

/*
 * Writes `position` in place and marks it as locked. If the path names another file by now, or
 * none, opens that first. False on failure, with errno set.
 */
bool el_position_file_write(el_position_file_t *file, const el_position_t *position);

void el_position_file_close(el_position_file_t *file);

#endif
