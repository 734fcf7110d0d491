/*
 * The near copies: those entries of the store that this process used last, in its own memory, so that
 * an entry that is asked for often is neither copied nor checked for each response, and not looked for
 * under the lock of all processes. What is sent lies where it is kept, until nobody sends it any more.
 *
 * A copy has a stamp. It is found while that is not older than the caller says, so that what another
 * process stores in its place is seen. All copies together, those included that are only being sent,
 * never take more than was said at the start. Any thread.
 */
#ifndef ELASTIC_STORE_NEAR_H
#define ELASTIC_STORE_NEAR_H

#include "httpd/store/found.h"

#include "elastic/lockfree.h"

/* When a copy was taken, in a count that grows: of changes, or of seconds. */
typedef struct {
    uint32_t now;
    uint32_t age; /* by how much a copy may be older */
} el_near_stamp_t;

/*
 * In child_init: keeps `most` bytes at most, and counts them in `held`, which all processes share. A
 * copy of the process that is made later counts nothing.
 */
void el_near_open(el_held_t *held, size_t most);

/* Finds a copy. True: the caller owns `found`, and calls el_found_release(), or gives it away. */
bool el_near_get(const el_name_t *name, el_near_stamp_t stamp, el_found_t *found);

/*
 * Makes a copy of `entry`, in place of what there is of that name, and finds it where `found` is not
 * NULL. False where it does not fit in beside what is being sent, or memory is short.
 */
bool el_near_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found);

#endif
