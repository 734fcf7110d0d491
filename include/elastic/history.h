/*
 * The last hour by minutes, load and position, and what was counted before today: for a page that
 * somebody looks at now and then.
 *
 * In shared memory. One caller at a time adds, whoever takes a sample; two that meet lose a part of
 * a minute. Readers never wait. Zeroed memory has no history. Any thread; no clock.
 */
#ifndef ELASTIC_HISTORY_H
#define ELASTIC_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EL_HISTORY_MINUTES 60

/* The sums of a minute's samples, in millionths. */
typedef struct {
    _Atomic uint64_t minute; /* which one, of any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
} el_history_minute_t;

/* What grows from a start on: time, bytes before and after encoding, CPU time; times in µs. */
enum { EL_PAST_TIME, EL_PAST_IN, EL_PAST_OUT, EL_PAST_CPU, EL_PAST_COUNTS };

typedef struct {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
    _Atomic uint64_t day;                    /* the last one that began; 0: none */
    _Atomic uint64_t before[EL_PAST_COUNTS]; /* from the start until then */
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
 * Begins `day`, above 0, unless it has begun; `counts` are of the day that ends. The first day has
 * what was counted from the start on.
 */
void el_history_begin(el_history_t *history, uint64_t day, const uint64_t counts[EL_PAST_COUNTS]);

#endif
