/*
 * The local copies: those entries of the store that this process used last, in its own memory, so
 * that an entry that is asked for often is neither copied nor checked for each response, and not
 * looked for under the lock of all processes. What is sent lies where it is kept, until nobody
 * sends it any more.
 *
 * A copy has a stamp. It is found while that is not older than the caller says, so that what
 * another process stores in its place is seen. All copies together, those included that are only
 * being sent, never take more than was said at the start. Any thread.
 */
#ifndef ELASTIC_CACHE_LOCAL_H
#define ELASTIC_CACHE_LOCAL_H

#include "elastic/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An encoding that was found in the store, and the memory that it lies in. */
typedef struct {
    el_entry_t entry;              /* entry.data lies within `buffer` */
    void *buffer;                  /* NULL: given away, or nothing was found */
    void (*release)(void *buffer); /* may be called from any thread, once */
    uint64_t waited;               /* µs for other machines; 0 before a request's first name */
} el_found_t;

/* Releases the buffer, unless it was given away. */
void el_found_release(el_found_t *found);

/* When a copy was taken, in a count that grows: of changes, or of seconds. */
typedef struct {
    uint32_t now;
    uint32_t age; /* by how much a copy may be older */
} el_local_stamp_t;

/* In child_init: keeps `most` bytes at most. */
void el_local_open(size_t most);

/* Finds a copy. True: the caller owns `found`, and calls el_found_release(), or gives it away. */
bool el_local_get(const el_name_t *name, el_local_stamp_t stamp, el_found_t *found);

/*
 * Makes a copy of `entry`, in place of what there is of that name, and finds it where `found` is
 * not NULL. False where it does not fit in beside what is being sent, or memory is short.
 */
bool el_local_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found);

#endif
