/*
 * The last hour by minutes, load and position, and what was counted before today: for a page that
 * somebody looks at now and then.
 *
 * In shared memory. One caller at a time adds, whoever takes a sample; two that meet lose a part of a
 * minute. Readers never wait. Zeroed memory has no history. Any thread; no clock.
 */
#ifndef ELASTIC_HISTORY_H
#define ELASTIC_HISTORY_H

#include "elastic/savings.h"

#include <stdbool.h>

#define EL_HISTORY_MINUTES 60

/* The sums of a minute's samples, in millionths. */
typedef struct {
    _Atomic uint64_t minute; /* which one, of any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
} el_history_minute_t;

typedef struct el_history {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
    _Atomic uint64_t day; /* 0: none has begun since the counters did */
    _Atomic uint64_t before[EL_SAVINGS_COUNT]; /* what was counted when it began */
} el_history_t;

/* What a sample showed: shares of 0 … 1. */
typedef struct {
    double load;
    double position;
} el_history_point_t;

/* Adds a sample in `minute`, above 0. */
void el_history_add(el_history_t *history, uint64_t minute, el_history_point_t point);

/* The means of `minute`. False where there was no sample in it, or it is too long ago. */
bool el_history_get(const el_history_t *history, uint64_t minute, el_history_point_t *point);

/* Begins `day`, above 0, where another one has been: keeps what the counters of savings are now. */
void el_history_begin(el_history_t *history, uint64_t day, const el_counters_t *counters);

/* What these have counted since `day` began; on the first one, since they began. */
el_savings_counts_t el_history_today(const el_history_t *history, uint64_t day,
                                     const el_counters_t *counters);

#endif
