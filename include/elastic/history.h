/*
 * The last hour by minutes, load and position, and what was counted before today: for a page that
 * somebody looks at now and then.
 *
 * In shared memory. One caller at a time adds, whoever takes a sample; two that meet lose a part of a
 * minute. Readers never wait. Zeroed memory has no history. Any thread; no clock.
 */
#ifndef ELASTIC_HISTORY_H
#define ELASTIC_HISTORY_H

#include "elastic/counters.h"

#include <stdbool.h>

#define EL_HISTORY_MINUTES 60

/* The sums of a minute's samples, in millionths. */
typedef struct {
    _Atomic uint64_t minute; /* which one, of any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
} el_history_minute_t;

/* The counters that are told by the day, as they were when it began. */
#define EL_HISTORY_COUNTERS 4

typedef struct el_history {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
    _Atomic uint64_t day; /* 0: none has begun since the counters did */
    _Atomic uint64_t before[EL_HISTORY_COUNTERS];
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

/*
 * The counters of EL_HISTORY_COUNTERS, in this order: responses, bytes before, bytes after, responses
 * from siblings. Begins `day`, above 0, where another one has been: keeps what they are now.
 */
void el_history_begin(el_history_t *history, uint64_t day, const el_counters_t *counters);

/* The counter number `which` of that order, since `day` began: since all of them did, on the first. */
uint64_t el_history_today(const el_history_t *history, uint64_t day, unsigned which,
                          const el_counters_t *counters);

/* Back to none. */
void el_history_reset(el_history_t *history);

#endif
