/*
 * The sketch: which paths of which hosts give bodies that come again, so that only those are hashed.
 * Hashing is a small part of encoding, but a page that is never the same twice must not pay for it.
 *
 * For each place there are two counts, of bodies that were hashed and of those among them that had
 * been seen before, in a table of a fixed size. Places may share a count; each has two, and the one
 * that fewer share is believed. Counts are halved as they grow, so that what changed is learnt anew.
 * In shared memory; zeroed, it knows nothing. Any process, any thread.
 */
#ifndef ELASTIC_SKETCH_H
#define ELASTIC_SKETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts of each row, a power of two: 128 KB in all. */
#define EL_SKETCH_COUNTS (1u << 14)
#define EL_SKETCH_ROWS 2

typedef struct el_sketch {
    _Atomic uint32_t taught; /* 1 from the first lesson on */
    _Atomic uint32_t count[EL_SKETCH_ROWS][EL_SKETCH_COUNTS];
} el_sketch_t;

/* Where a body comes from; by el_sketch_place(). */
typedef struct {
    uint64_t host;
    uint64_t path; /* on that host */
} el_place_t;

/* The place of `path` on `host`, texts of any content. */
el_place_t el_sketch_place(const char *host, const char *path);

/*
 * Whether a body of `place` is worth hashing. Where bodies were never the same, or too seldom, a
 * sample still is: `turn` is another number for each body, as a count of them.
 */
bool el_sketch_asks(const el_sketch_t *sketch, el_place_t place, uint32_t turn);

/* A body of `place` was hashed; `again` is whether it had been seen before. */
void el_sketch_learn(el_sketch_t *sketch, el_place_t place, bool again);

/* Back to knowing nothing. */
void el_sketch_reset(el_sketch_t *sketch);

#endif
