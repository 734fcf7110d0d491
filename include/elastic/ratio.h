/*
 * Ratios: bytes after by bytes before, for each of a number of keys: what dictionaries leave of
 * pages, and what pages become without one (shared/costs.h).
 *
 * A table of weighted means that forget: of the keys that share a place, the one with the least
 * weight is replaced.
 *
 * Readers never wait, writers neither: two that meet lose one measurement. Any thread; no clock.
 */
#ifndef ELASTIC_RATIO_H
#define ELASTIC_RATIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Places, and keys in each: those of the pages of the last minutes. The places are a power of two.
 */
#define EL_RATIO_PLACES 64
#define EL_RATIO_WAYS 4

/* Bytes below which the ratio depends on the coding's framing more than on the content. */
#define EL_RATIO_LEAST 1024

/*
 * In shared memory; zeroed memory has no keys. Every response with a dictionary at hand writes
 * here, so nothing else is in the same cache lines.
 */
typedef struct el_ratios {
    _Alignas(64) _Atomic uint64_t word[EL_RATIO_PLACES][EL_RATIO_WAYS];
} el_ratios_t;

/* A key that only this kind of text of an origin has, by all likelihood; never 0. */
uint32_t el_ratio_key(const char *origin, unsigned kind, const char *text);

/*
 * Adds a whole body of `key`, a hash, at `now` (seconds of any clock that all callers share). A
 * body below EL_RATIO_LEAST or without a key (0) is left out.
 */
void el_ratio_update(el_ratios_t *ratios, uint32_t key, uint64_t in, uint64_t out, uint32_t now);

/*
 * The mean of `key` at `now`, in ten-thousandths; 0 where it is made of less than `least` bodies.
 * Of those half are forgotten in a quarter of an hour.
 */
uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t key, uint32_t least, uint32_t now);

#endif
