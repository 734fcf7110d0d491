#include "elastic/mix.h"

#include <math.h>

/* So that a minute leaves a sixty-fourth. */
#define HALF_LIFE_USEC 10e6

/* Responses that are remembered at least. */
#define LEAST 16.

/* The share of `weight` that is kept, after a time that keeps `share`, where `more` came. */
static double kept(double weight, double more, double share)
{
    return weight + more <= LEAST ? 1 : fmax(share, (LEAST - more) / weight);
}

/* What a counter grew by since `*last`, which becomes its count now. */
static double grown(const el_counters_t *counters, unsigned counter, uint64_t *last)
{
    uint64_t before = *last;

    *last = el_counters_total(counters, (el_counter_t)counter);
    /* Counters that were set back grew from 0. */
    return (double)(*last >= before ? *last - before : *last);
}

void el_mix_follow(el_mix_t *mix, const el_counters_t *counters, uint64_t now)
{
    double share = now > mix->at ? exp2(-(double)(now - mix->at) / HALF_LIFE_USEC) : 1;
    double more[EL_CODING_SETS], all = 0, before = 0, keep;

    for (unsigned set = 0; set < EL_CODING_SETS; set++) {
        more[set] = grown(counters, EL_COUNT_CODING_SET + set, &mix->sets[set]);
        before += mix->weights.sets[set];
        all += more[set];
    }
    keep = kept(before, all, share);
    for (unsigned set = 0; set < EL_CODING_SETS; set++) {
        mix->weights.sets[set] = mix->weights.sets[set] * keep + more[set];
    }
    all = grown(counters, EL_COUNT_COMPRESSED, &mix->responses);
    keep = kept(mix->weights.responses, all, share);
    mix->weights.responses = mix->weights.responses * keep + all;
    mix->weights.bytes = mix->weights.bytes * keep
                         + grown(counters, EL_COUNT_BYTES_IN, &mix->bytes);
    mix->at = now;
}

void el_mix_follow_shared(el_mix_shared_t *shared, const el_counters_t *counters, uint64_t now,
                          el_mix_t *mix)
{
    /* Zeros where there is none: then everything until now is new. */
    el_snapshot_read(shared->words, &shared->checksum, mix, sizeof(*mix));
    el_mix_follow(mix, counters, now);
    el_snapshot_write(shared->words, &shared->checksum, mix, sizeof(*mix));
}

uint64_t el_mix_body(const el_mix_t *mix)
{
    return mix->weights.responses > 0
               ? (uint64_t)(mix->weights.bytes / mix->weights.responses + 0.5)
               : 0;
}
