/*
 * Shared by the tests of the controller in models: random numbers, the same in each run, and the
 * module's samples of the load.
 */
#ifndef ELASTIC_TESTS_SIM_H
#define ELASTIC_TESTS_SIM_H

#include "../unit/suites.h"
#include "elastic/price.h"

#include <math.h>

/* From a seed other than 0 (xorshift64): above 0 up to 1, and normal. */
static inline double sim_even(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)((*seed >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

static inline double sim_normal(uint64_t *seed)
{
    return sqrt(-2 * log(sim_even(seed))) * cos(2 * 3.14159265358979 * sim_even(seed));
}

/* For qsort(). */
static inline int sim_compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

/* Length in seconds of the slots in which arrivals are counted; also between samples in a surge. */
#define SLOT 0.1
#define SOON 4

typedef struct {
    double rate;           /* of the clients' connections, bits a second */
    size_t interval;       /* slots from one sample to the next */
    size_t sampled, due;   /* first slots of the last sample and the next */
    unsigned soon;         /* samples left at a distance of one slot */
    size_t slot;           /* of the last arrival */
    double in_slot, since; /* arrivals in the slot, and since the last sample */
    double surge;          /* arrivals in a slot that hasten the next sample */
    el_price_memory_t memory;
    double price;
} sampler_t;

static inline sampler_t sampler_new(double rate, size_t interval)
{
    return (sampler_t){.rate = rate, .interval = interval, .due = interval, .price = 8e9 / rate};
}

/* Takes the sample that is due: in its `seconds` the CPUs were `busy`. */
static inline void sampler_take(sampler_t *sampler, double busy, double cpus, double seconds)
{
    sampler->price = 8e9 / sampler->rate / el_price_follow(&sampler->memory, busy, cpus, seconds);
    sampler->surge = ceil(el_price_surge(sampler->since * SLOT / seconds, busy));
    sampler->since = 0;
    sampler->sampled = sampler->due;
    sampler->due += sampler->soon > 0 ? 1 : sampler->interval;
    sampler->soon -= sampler->soon > 0;
}

/* Counts a response whose encoding begins at `now`: after its arrival if the CPU is full. */
static inline void sampler_count(sampler_t *sampler, double now)
{
    size_t slot = (size_t)(now / SLOT);

    sampler->in_slot = sampler->slot == slot ? sampler->in_slot + 1 : 1;
    sampler->slot = slot;
    sampler->since++;
    if (sampler->in_slot == sampler->surge) {
        sampler->due = slot + 1;
        sampler->soon = SOON;
    }
}

#endif
