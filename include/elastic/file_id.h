/*
 * The numbers of a file's content: as long as they are the same, the content is, and nobody needs to
 * read it to know. They mean something on this machine only, and while it runs.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_FILE_ID_H
#define ELASTIC_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel says of an open file. It has no gaps: equal bytes are equal numbers. */
typedef struct {
    uint64_t device;
    uint64_t inode;
    uint64_t size;         /* bytes */
    int64_t modified_sec;  /* seconds since 1970, of the last change of the content */
    int64_t changed_sec;   /* and of the last change of content, names or rights */
    uint32_t modified_nsec;
    uint32_t changed_nsec;
} el_file_id_t;
_Static_assert(sizeof(el_file_id_t) == 48, "numbers without gaps");

/*
 * Whether the next change of the file is certain to show in its numbers. `now_usec` is the clock's
 * time, in µs since 1970, at which they were read or before.
 *
 * Not where the file has changed within the last two seconds: clocks of file systems tick, some every
 * two seconds, and changes within a tick look the same. Not where the time of the last change is a
 * whole second: such a file system, an image that was made elsewhere for one, may not keep it at all.
 */
bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec);

#endif
