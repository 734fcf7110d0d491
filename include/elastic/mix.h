/*
 * The mix: what a site's responses are like of late. Half of what was is forgotten in ten seconds,
 * but never so much that fewer than some responses are left: of a quiet site the last ones count,
 * however old they are.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_MIX_H
#define ELASTIC_MIX_H

#include "elastic/counters.h"
#include "elastic/snapshot.h"

#include <stdint.h>

/* Counters, as weights: what is left of them. */
typedef struct {
    double sets[EL_CODING_SETS]; /* responses by the set that their coding was chosen from */
    double responses;            /* compressed ones */
    double bytes;                /* of these, before */
} el_mix_weights_t;

/* Zeros at the beginning. */
typedef struct {
    el_mix_weights_t weights;
    uint64_t sets[EL_CODING_SETS]; /* the counters until now */
    uint64_t responses;
    uint64_t bytes;
    uint64_t at; /* µs of the monotonic clock */
} el_mix_t;

/* One that all children share, in memory that was zeroed; see snapshot.h. */
typedef struct el_mix_shared {
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_mix_t)];
} el_mix_shared_t;

/* Takes what was counted until `now` (µs of the monotonic clock). */
void el_mix_follow(el_mix_t *mix, const el_counters_t *counters, uint64_t now);

/* The same for the shared one, whose mix is then `mix`. Of two at a time one is lost. */
void el_mix_follow_shared(el_mix_shared_t *shared, const el_counters_t *counters, uint64_t now,
                          el_mix_t *mix);

/* The mean compressed body in bytes; 0 where there was none. */
uint64_t el_mix_body(const el_mix_t *mix);

#endif
