/* Files: what the kernel says of them, and the position file on disk. Any thread. */
#ifndef ELASTIC_HOST_FILES_H
#define ELASTIC_HOST_FILES_H

#include "elastic/entry.h"
#include "elastic/control.h"

#include <stdbool.h>

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
 * Reads the file at `path`, or from the descriptor `kept` where that is not -1, at `now_usec`. A
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
