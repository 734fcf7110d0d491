/*
 * Estimates: what is known of a quantity that drifts, from measurements that are noisy and rare.
 *
 * An estimate is a sum of parts, and parts are shared: what a setup takes is what the machine, its
 * coding and it itself add to the table's figure. A measurement shows the sum alone. What it
 * differs by is shared out by how uncertain the parts are: one of which much is known hardly moves,
 * one that was not measured of late takes most of it. So a machine that has become slower is
 * noticed for the setups that are not in use as well. This is a Kalman filter whose parts are taken
 * as independent.
 *
 * Without measurements a part is 0, give or take its spread; what was learned fades back to that
 * with time. A measurement beyond what noise explains counts as one at its edge, and makes the
 * parts more uncertain: a single one is hardly noticed, a change that lasts is followed within some
 * of them.
 *
 * Each part is one word in shared memory; zeroed memory knows nothing. Readers never wait, writers
 * neither: two that meet lose one measurement. Any thread; no clock.
 */
#ifndef ELASTIC_ESTIMATE_H
#define ELASTIC_ESTIMATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds in which all but a third of what was learned has faded. */
#define EL_ESTIMATE_FADE 3600

#define EL_ESTIMATE_PARTS 4

/* The parts of an estimate; words are numbered from the beginning of the caller's memory. */
typedef struct {
    size_t count;
    size_t word[EL_ESTIMATE_PARTS];
    double spread[EL_ESTIMATE_PARTS]; /* standard deviations without measurements, above 0 */
    double noise; /* that of a measurement, above 0 */
} el_estimate_t;

/* The sum of the parts at `now` (seconds of any clock that all callers share, less than 2^24 apart). */
double el_estimate_value(const _Atomic uint64_t *words, const el_estimate_t *estimate,
                         uint32_t now);

/* Takes a measurement of the sum; parts stay within ±127. */
void el_estimate_learn(_Atomic uint64_t *words, const el_estimate_t *estimate, double measured,
                       uint32_t now);

/* Seconds since a part's last measurement; UINT32_MAX where there was none. */
uint32_t el_estimate_age(const _Atomic uint64_t *word, uint32_t now);

#endif
