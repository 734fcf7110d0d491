/*
 * Ratios: bytes after encoding by bytes before, for each media type. Where bodies of a type hardly
 * became smaller, a piece of the next one is encoded on trial before all of it is. Another table has
 * differences by what an ordinary coding makes, for each dictionary (state/costs.h).
 *
 * A table of weighted means that forget, with room for a number of types: of those that share a
 * place, the one with the least weight is replaced.
 *
 * Readers never wait, writers neither: two that meet lose one measurement. Any thread; no clock.
 */
#ifndef ELASTIC_RATIO_H
#define ELASTIC_RATIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Places, and types in each: room for more types than a site has. The places are a power of two. */
#define EL_RATIO_PLACES 64
#define EL_RATIO_WAYS 4

/* Bytes below which the ratio depends on the coding's framing more than on the content. */
#define EL_RATIO_LEAST 1024

/*
 * In shared memory; zeroed memory has no types. Every encoded response writes here, so nothing else
 * is in the same cache lines.
 */
typedef struct el_ratios {
    _Alignas(64) _Atomic uint64_t word[EL_RATIO_PLACES][EL_RATIO_WAYS];
} el_ratios_t;

/* Whether encoding a body of `in` bytes to `out` saves enough to be worth its CPU time. */
bool el_ratio_pays(uint64_t in, uint64_t out);

/*
 * Adds a whole body of `type`, by el_mediatype_hash(), at `now` (seconds of any clock that all
 * callers share). A body below EL_RATIO_LEAST or without a type (0) is left out.
 */
void el_ratio_update(el_ratios_t *ratios, uint32_t type, uint64_t in, uint64_t out, uint32_t now);

/*
 * Whether bodies of `type` are known at `now` not to be worth it, on the average. A type of which
 * no body was added for an hour or so is not known any more.
 */
bool el_ratio_poor(const el_ratios_t *ratios, uint32_t type, uint32_t now);

/*
 * The mean of `type` at `now`, in ten-thousandths; 0 where it is made of less than `least` bodies. Of
 * those half are forgotten in a quarter of an hour.
 */
uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t type, uint32_t least, uint32_t now);

/* Back to no types. */
void el_ratio_reset(el_ratios_t *ratios);

#endif
