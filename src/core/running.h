/*
 * Running averages that forget: a value, how many samples it stands for, and when the last one
 * came. One sample moves an average by little, an outlier by no more than others. Private to the
 * core.
 */
#ifndef ELASTIC_CORE_RUNNING_H
#define ELASTIC_CORE_RUNNING_H

#include <stdint.h>

/* Stamps count in units of 16 s: sixteen bits of them last for twelve days. */
#define EL_RUNNING_UNIT 16

/* A quarter of an hour: long enough for an average, short enough to follow a site's day. */
#define EL_RUNNING_HALF_LIFE (900 / EL_RUNNING_UNIT)

/* The average's window; it fits eight bits. */
#define EL_RUNNING_WEIGHT_MAX 64

/* From this many samples on an average tells more of its subject than what is known otherwise. */
#define EL_RUNNING_WEIGHT_EVEN 8

/* How far a sample may be from the average to count as it is; beyond, as if it were there. */
#define EL_RUNNING_OUTLIER 2

/* The stamp of `now`, in seconds. */
static inline uint16_t el_running_stamp(uint32_t now)
{
    return (uint16_t)(now / EL_RUNNING_UNIT);
}

/* What is left at `now` of a weight that was `weight` at `then`, both stamps. */
static inline uint32_t el_running_weight(uint32_t weight, uint16_t then, uint16_t now)
{
    unsigned halvings = (uint16_t)(now - then) / EL_RUNNING_HALF_LIFE;

    return halvings < 8 ? weight >> halvings : 0;
}

static inline uint32_t el_running_bounded(uint64_t value, uint64_t low, uint64_t high)
{
    return (uint32_t)(value < low ? low : value > high ? high : value);
}

/* An average of 1 … `max` after one more sample, of which it then holds the `weight`-th part. */
static inline uint32_t el_mean_update(uint32_t average, uint64_t sample, uint32_t weight,
                                        uint32_t max)
{
    uint64_t counted = el_running_bounded(sample, average / EL_RUNNING_OUTLIER,
                                          (uint64_t)average * EL_RUNNING_OUTLIER);
    int64_t step = (int64_t)counted - (int64_t)average;
    int64_t moved = (int64_t)average + step / (int64_t)weight;

    return el_running_bounded((uint64_t)moved, 1, max);
}

#endif
