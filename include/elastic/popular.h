/*
 * What comes again. Bodies: the sketch knows which paths give those that do, so that only those are
 * hashed; the doorkeeper knows what was seen once, so that only what is seen again gets a place in
 * a store. Encodings: the table of what is asked for often, and that a higher level would make
 * smaller.
 *
 * All of it is in shared memory, of a fixed size, and forgets; zeroed, it knows nothing. Lock-free;
 * any process, any thread; no clock. Where two meet, what one of them noted may be lost.
 */
#ifndef ELASTIC_POPULAR_H
#define ELASTIC_POPULAR_H

#include "elastic/entry.h"
#include "elastic/lockfree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The doorkeeper: two Bloom filters. The newer one takes what is seen; when it has taken as many as
 * the caller says, it becomes the older one, and what that knew is forgotten. So a crawl of a whole
 * site does not sweep the store.
 */

/*
 * Bits of one filter, a power of two: 256 KB. With three bits for each of EL_DOORKEEPER_MOST, one
 * in 140 that was never seen is taken for seen.
 */
#define EL_DOORKEEPER_BITS (1u << 21)
#define EL_DOORKEEPER_MOST 150000u

typedef struct el_door {
    _Atomic uint64_t noted; /* by the newer filters, from the beginning */
    _Atomic uint64_t word[2][EL_DOORKEEPER_BITS / 64];
} el_doorkeeper_t;

/*
 * Notes the 16 bytes at `hash`, which are as good as random, and returns whether they had been seen
 * among the last `most` others, or up to twice as many: 1 … EL_DOORKEEPER_MOST, the same in all
 * calls.
 */
bool el_doorkeeper_note(el_doorkeeper_t *doorkeeper, const uint8_t *hash, uint32_t most);

/* Back to nothing seen. */
void el_doorkeeper_reset(el_doorkeeper_t *doorkeeper);

/*
 * The sketch. Hashing is a small part of encoding, but a page that is never the same twice must not
 * pay for it.
 *
 * For each key there are two counts, of bodies that were hashed and of those among them that had
 * been seen before, in a table of a fixed size. Keys may share a count; each has two, and the one
 * that fewer share is believed. Counts are halved as they grow, so that what changed is learnt
 * anew.
 */

/* Counts of each row, a power of two: 128 KB in all. */
#define EL_SKETCH_COUNTS (1u << 14)
#define EL_SKETCH_ROWS 2

typedef struct el_sketch {
    _Atomic uint32_t taught; /* 1 from the first lesson on */
    _Atomic uint32_t count[EL_SKETCH_ROWS][EL_SKETCH_COUNTS];
} el_sketch_t;

/* Where a body comes from; by el_sketch_key(). */
typedef struct {
    uint64_t host;
    uint64_t path; /* on that host */
} el_sketch_key_t;

/* The key of `path` on `host`, texts of any content. */
el_sketch_key_t el_sketch_key(const char *host, const char *path);

/*
 * Whether a body of `key` is worth hashing. Where bodies were never the same, or too seldom, a
 * sample still is: `turn` is another number for each body, as a count of them.
 */
bool el_sketch_asks(const el_sketch_t *sketch, el_sketch_key_t key, uint32_t turn);

/* A body of `key` was hashed; `again` is whether it had been seen before. */
void el_sketch_learn(el_sketch_t *sketch, el_sketch_key_t key, bool again);

/* Back to knowing nothing. */
void el_sketch_reset(el_sketch_t *sketch);

/*
 * What is asked for often: a table of kept encodings. What was asked for counts half after each
 * EL_POPULAR_HALF seconds. Where a set of the table is full, whatever is new takes one off the
 * count of the least of it, and its place when nothing is left of that: so names that are asked for
 * once displace no others.
 */

/* Seconds after which what was counted counts half. */
#define EL_POPULAR_HALF 60

/*
 * So many times something is to have been asked for before it is taken: what is asked for less is
 * likely not to be asked for again, and its place among the kept encodings may be gone first.
 */
#define EL_POPULAR_LEAST 4

/* Half-lives after which what was taken may be taken again, as it was perhaps not improved. */
#define EL_POPULAR_AGAIN 60

/* The table: 512 items of 64 bytes, 32 KB. Sets and ways are powers of two. */
#define EL_POPULAR_SETS 64
#define EL_POPULAR_WAYS 8

/* An encoding, and what it may become. */
typedef struct {
    el_name_t name;
    uint32_t nbytes; /* of the body, before it was encoded */
    uint8_t coding;  /* what it may become: an el_coding_t */
    uint8_t level;   /* as users count levels */
    uint8_t zero[2];
} el_popular_item_t;
_Static_assert(sizeof(el_popular_item_t) == 40, "an item has no holes");

typedef struct {
    _Atomic uint64_t key;   /* of the name; 0: free */
    _Atomic uint64_t asked; /* how often, when that was, and whether it was taken since */
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_popular_item_t)]; /* see lockfree.h */
} el_popular_slot_t;

/* Zeroed, an empty table. */
typedef struct el_hot {
    el_popular_slot_t slot[EL_POPULAR_SETS * EL_POPULAR_WAYS];
} el_popular_t;

/* `item` was asked for at `now`, in seconds of any clock that all callers share. */
void el_popular_note(el_popular_t *popular, const el_popular_item_t *item, uint32_t now);

/*
 * Takes what was asked for most of late, and at least EL_POPULAR_LEAST times. False where there is
 * nothing. What goes on being asked for is taken again after EL_POPULAR_AGAIN half-lives only:
 * improving it had no effect, perhaps because the store was busy, or has lost it since. Once it has
 * been forgotten, it counts anew.
 */
bool el_popular_take(el_popular_t *popular, uint32_t now, el_popular_item_t *item);

#endif
