/*
 * What was counted, over time: what compression saved, and the last hour by minutes, load and
 * position; for a page that somebody looks at now and then.
 */
#ifndef ELASTIC_HISTORY_H
#define ELASTIC_HISTORY_H

#include "elastic/counters.h"

#include <stdbool.h>

/*
 * What compression saved: bytes, and beside what mod_deflate at level 6 would have done with the
 * same bodies, CPU time and bytes.
 *
 * What mod_deflate would have taken is known of the sampled bodies only, from measured costs; it is
 * scaled to all of them, as the CPU time is that was really taken. Pure; any thread.
 */

typedef struct {
    uint64_t responses;     /* that went out compressed */
    uint64_t precompressed; /* that were served from precompressed files; in none of the following */
    uint64_t in;            /* bytes before */
    uint64_t out;           /* bytes after */
    double encoding_usec;   /* CPU time of that */
    double beside_usec;     /* CPU time of improving kept encodings, and of measuring setups */
    double stock_out;       /* bytes that mod_deflate would have sent */
    double stock_usec;      /* CPU time that it would have taken */
} el_savings_t;

/* By what was counted so far. Nothing was sampled: as if mod_deflate did the same, in no time. */
el_savings_t el_savings_of(const el_counters_t *counters);

/* What this took less than mod_deflate, below 0: more. CPU time in µs; bytes. */
double el_savings_cpu(const el_savings_t *savings);
double el_savings_bytes(const el_savings_t *savings);

#define EL_HISTORY_MINUTES 60

/* The sums of a minute's samples, in millionths. */
typedef struct {
    _Atomic uint64_t minute; /* which one, of any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
} el_history_minute_t;

typedef struct {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
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

#endif
