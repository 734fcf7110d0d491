/*
 * The doorkeeper: remembers what was seen once, so that only what is seen again gets a place in a
 * store, and a crawl of a whole site does not sweep it.
 *
 * Two Bloom filters in shared memory. The newer one takes what is seen; when it has taken as many as
 * the caller says, it becomes the older one, and what that knew is forgotten. Zeroed memory
 * has seen nothing. Writers that meet may lose what one of them noted. Any process, any thread.
 */
#ifndef ELASTIC_DOOR_H
#define ELASTIC_DOOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Bits of one filter, a power of two: 256 KB. With three bits for each of EL_DOOR_MOST, one in 140
 * that was never seen is taken for seen.
 */
#define EL_DOOR_BITS (1u << 21)
#define EL_DOOR_MOST 150000u

typedef struct el_door {
    _Atomic uint64_t noted; /* by the newer filters, from the beginning */
    _Atomic uint64_t word[2][EL_DOOR_BITS / 64];
} el_door_t;

/*
 * Notes the 16 bytes at `hash`, which are as good as random, and returns whether they had been seen
 * among the last `most` others, or up to twice as many: 1 … EL_DOOR_MOST, the same in all calls.
 */
bool el_door_note(el_door_t *door, const uint8_t *hash, uint32_t most);

/* Back to nothing seen. */
void el_door_reset(el_door_t *door);

#endif
