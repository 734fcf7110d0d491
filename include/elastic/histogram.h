/*
 * A histogram of durations that forgets: counters in shared memory, added to by all children, and
 * faded by one of them each interval. From it comes the percentile of a latency goal.
 *
 * Classes are an eighth of an octave wide (9 percent), from 1 µs to 67 s. All zeros is an empty
 * histogram. Lock-free, any thread; a fade that others add to meanwhile loses nothing of theirs.
 */
#ifndef ELASTIC_HISTOGRAM_H
#define ELASTIC_HISTOGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EL_HISTOGRAM_OCTAVES 26
#define EL_HISTOGRAM_PER_OCTAVE 8
#define EL_HISTOGRAM_CLASSES (EL_HISTOGRAM_OCTAVES * EL_HISTOGRAM_PER_OCTAVE)

/* What one duration counts: a fade leaves fractions of it. */
#define EL_HISTOGRAM_ONE 1024u

typedef struct el_histogram {
    _Atomic uint64_t weight[EL_HISTOGRAM_CLASSES]; /* in 1/EL_HISTOGRAM_ONE */
} el_histogram_t;

/* Counts a duration. Shorter ones than the first class count as its own, longer ones likewise. */
void el_histogram_add(el_histogram_t *histogram, uint64_t nsec);

/* Leaves `keep` (0 … 1) of what is there. */
void el_histogram_fade(el_histogram_t *histogram, double keep);

/*
 * The duration, in µs, that `share` (0 … 1) of the durations do not exceed; between the bounds of
 * its class on a straight line. 0 where less than `least` durations are left, too few to go by.
 */
double el_histogram_quantile(const el_histogram_t *histogram, double share, double least);

#endif
