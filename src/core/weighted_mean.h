/*
 * Weighted means that forget, in shared memory: each is one word, so that it is read and written as
 * one. 40 bits are its value or values, which its user packs; 8 bits its weight, the number of
 * samples that it was made of; 16 bits the time of the last one. Its value has no meaning where
 * the weight is 0; zeroed memory has no weight.
 *
 * Readers never wait, writers neither: two that meet lose one sample. Private to the core.
 */
#ifndef ELASTIC_CORE_WEIGHTED_MEAN_H
#define ELASTIC_CORE_WEIGHTED_MEAN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Times count in units of 16 s: sixteen bits of them last for twelve days. */
#define EL_MEAN_UNIT 16

/* A weight halves in a quarter of an hour: long enough for a mean, short enough for a site's day. */
#define EL_MEAN_HALF_LIFE (900 / EL_MEAN_UNIT)

/* The largest weight; it fits eight bits. */
#define EL_MEAN_WEIGHT_MAX 64

/* From this weight on a mean counts for more than what is known without it. */
#define EL_MEAN_WEIGHT_EVEN 8

/* A sample beyond so many times the mean, or below this part of it, counts as if it were there. */
#define EL_MEAN_OUTLIER 2

#define EL_MEAN_WEIGHT_SHIFT 40
#define EL_MEAN_STAMP_SHIFT 48

typedef struct {
    uint64_t value;  /* below 2^40 */
    uint32_t weight; /* as of now */
} el_mean_t;

/* `now` in seconds, as the words have it. */
static inline uint16_t el_mean_stamp(uint32_t now)
{
    return (uint16_t)(now / EL_MEAN_UNIT);
}

static inline el_mean_t el_mean_unpack(uint64_t word, uint16_t now)
{
    uint32_t weight = (uint32_t)(word >> EL_MEAN_WEIGHT_SHIFT & 0xff);
    uint16_t then = (uint16_t)(word >> EL_MEAN_STAMP_SHIFT);
    unsigned halvings = (uint16_t)(now - then) / EL_MEAN_HALF_LIFE;

    return (el_mean_t){
        .value = word & ((UINT64_C(1) << EL_MEAN_WEIGHT_SHIFT) - 1),
        .weight = halvings < 8 ? weight >> halvings : 0,
    };
}

static inline el_mean_t el_mean_load(const _Atomic uint64_t *word, uint16_t now)
{
    return el_mean_unpack(atomic_load_explicit(word, memory_order_relaxed), now);
}

/* Puts `mean` in place of what was `before`; not where another one has written since. */
static inline void el_mean_store(_Atomic uint64_t *word, uint64_t before, el_mean_t mean,
                                 uint16_t now)
{
    uint64_t after = mean.value | (uint64_t)mean.weight << EL_MEAN_WEIGHT_SHIFT
                     | (uint64_t)now << EL_MEAN_STAMP_SHIFT;

    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* The weight after one more sample. */
static inline uint32_t el_mean_more(uint32_t weight)
{
    return weight < EL_MEAN_WEIGHT_MAX ? weight + 1 : weight;
}

static inline uint32_t el_mean_bounded(uint64_t value, uint64_t low, uint64_t high)
{
    return (uint32_t)(value < low ? low : value > high ? high : value);
}

/* A mean of 1 … `max` after one more sample, of which it then holds the `weight`-th part. */
static inline uint32_t el_mean_update(uint32_t mean, uint64_t sample, uint32_t weight,
                                      uint32_t max)
{
    uint64_t counted = el_mean_bounded(sample, mean / EL_MEAN_OUTLIER,
                                       (uint64_t)mean * EL_MEAN_OUTLIER);
    int64_t step = (int64_t)counted - (int64_t)mean;
    int64_t updated = (int64_t)mean + step / (int64_t)weight;

    return el_mean_bounded((uint64_t)updated, 1, max);
}

/* `count` means become what zeroed memory is. */
static inline void el_mean_reset(_Atomic uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        atomic_store(&words[i], 0);
    }
}

#endif
