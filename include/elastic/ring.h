/*
 * A bounded store in one piece of memory, which processes may share: what is new takes the place of
 * what is oldest. Entries are found by names that are as good as random, a keyed hash for one.
 *
 * Pure; the caller sees to it that one thread at a time uses a ring. Where it died meanwhile, the ring
 * is to be cleared.
 */
#ifndef ELASTIC_RING_H
#define ELASTIC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a name. */
#define EL_RING_NAME 32

/* Bytes of the smallest memory that can be a ring. */
#define EL_RING_LEAST 65536

typedef struct el_ring el_ring_t;

/* Makes the `nbytes` at `memory`, aligned as for any type and EL_RING_LEAST or more, an empty ring. */
el_ring_t *el_ring_init(void *memory, size_t nbytes);

/* Forgets all. */
void el_ring_clear(el_ring_t *ring);

/* Bytes of the largest entry: an eighth of the ring, so that no entry drives out all others. */
size_t el_ring_most(const el_ring_t *ring);

typedef struct {
    const uint8_t *bytes; /* in the ring; stay until the next el_ring_add() */
    size_t nbytes;
    bool old; /* in the older half: what comes now drives it out before long */
} el_ring_found_t;

/* Finds the entry of `name`; false where there is none. */
bool el_ring_find(const el_ring_t *ring, const uint8_t name[EL_RING_NAME], el_ring_found_t *found);

/*
 * Adds an entry of `nbytes` under `name`, in place of an earlier one. Returns where the caller is to
 * write them, NULL where there are too many.
 */
uint8_t *el_ring_add(el_ring_t *ring, const uint8_t name[EL_RING_NAME], size_t nbytes);

#endif
