/*
 * Estimates: what is known of a quantity that drifts, from measurements that are noisy and rare.
 *
 * An estimate is the sum of some means, from one that many quantities share to one of its own. What a
 * setup takes is what the machine, its coding and it itself add to the table's figure. A measurement
 * shows the sum alone. The means that more share follow it faster: a machine that has become slower is
 * noticed for the setups that are not in use as well, and what a setup differs by is learned in time.
 *
 * Without measurements a mean is 0; what was learned fades back to that with time. A measurement far
 * off counts as one at the edge of what noise explains: a single one is hardly noticed, a change that
 * lasts is followed within some of them.
 *
 * Each mean is one word in shared memory; zeroed memory knows nothing. Readers never wait, writers
 * neither: two that meet lose one measurement. Any thread; no clock.
 */
#ifndef ELASTIC_ESTIMATE_H
#define ELASTIC_ESTIMATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds in which all but a third of what was learned has faded. */
#define EL_ESTIMATE_FADE 3600

#define EL_ESTIMATE_MEANS 3

/* The means of an estimate, that which most share first. */
typedef struct {
    size_t count;
    size_t word[EL_ESTIMATE_MEANS]; /* their numbers among the caller's words */
    double gain[EL_ESTIMATE_MEANS]; /* the part of a measurement's difference that each takes, 0 … 1 */
} el_estimate_t;

/* The sum of the means at `now` (seconds of any clock that all callers share, less than 2^24 apart). */
double el_estimate_value(const _Atomic uint64_t *words, const el_estimate_t *estimate,
                         uint32_t now);

/* One mean at `now`. */
double el_estimate_mean(const _Atomic uint64_t *word, uint32_t now);

/* Takes a measurement of the sum; means stay within ±127. */
void el_estimate_learn(_Atomic uint64_t *words, const el_estimate_t *estimate, double measured,
                       uint32_t now);

/* Seconds since a mean's last measurement; UINT32_MAX where there was none. */
uint32_t el_estimate_age(const _Atomic uint64_t *word, uint32_t now);

#endif
