/*
 * Ratios: how much smaller bodies of a media type became of late. Where that was next to nothing,
 * a body of the type is worth a probe before it is worth an encoder.
 *
 * A table of running averages that forget, of as many types as it has room for: of those that share
 * a place, the one of which least is known gives way.
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

/* Bytes below which a body tells more of the coding's own framing than of its content. */
#define EL_RATIO_LEAST 1024

/*
 * Part of the shared block; zero bytes are nothing known. Every encoded response writes here, so
 * nothing else is in the same cache lines.
 */
typedef struct el_ratios {
    _Alignas(64) _Atomic uint64_t word[EL_RATIO_PLACES][EL_RATIO_WAYS];
} el_ratios_t;

/* Whether a body of `in` bytes that became `out` is worth having been encoded. */
bool el_ratio_pays(uint64_t in, uint64_t out);

/*
 * Takes what became of a whole body of `type`, by el_mediatype_hash(), at `now` (seconds of any
 * clock that all callers share). What tells nothing, a body too small or without a type (0), is
 * not taken.
 */
void el_ratio_update(el_ratios_t *ratios, uint32_t type, uint64_t in, uint64_t out, uint32_t now);

/*
 * Whether bodies of `type` are known at `now` not to be worth it, on the average. What is not
 * learned of for an hour or so is not known any more.
 */
bool el_ratio_poor(const el_ratios_t *ratios, uint32_t type, uint32_t now);

/* Forgets everything. */
void el_ratio_reset(el_ratios_t *ratios);

#endif
