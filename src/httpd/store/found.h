/* An encoding that was found in the store, and the memory that it lies in. */
#ifndef ELASTIC_STORE_FOUND_H
#define ELASTIC_STORE_FOUND_H

#include "elastic/entry.h"

typedef struct {
    el_entry_t entry;              /* entry.data lies within `buffer` */
    void *buffer;                  /* NULL: given away, or nothing was found */
    void (*release)(void *buffer); /* may be called from any thread, once */
    uint64_t waited;               /* µs for other machines; 0 before a request's first name */
} el_found_t;

/*
 * `entry`, copied to a buffer of the pool (engines/pool.h) that takes as much memory as it needs.
 * False where memory is short, or bodies in flight may hold no more.
 */
bool el_found_copy(el_found_t *found, const el_entry_t *entry);

/* Releases the buffer, unless it was given away. */
void el_found_release(el_found_t *found);

#endif
