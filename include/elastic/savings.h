/*
 * What compression saved: bytes, and beside what mod_deflate at level 6 would have done with the same
 * bodies, CPU time and bytes.
 *
 * What mod_deflate would have taken is known of the sampled bodies only, from measured costs; it is
 * scaled to all of them, as the CPU time is that was really taken. Pure; any thread.
 */
#ifndef ELASTIC_SAVINGS_H
#define ELASTIC_SAVINGS_H

#include "elastic/counters.h"

typedef struct {
    uint64_t responses;     /* that went out compressed */
    uint64_t precompressed; /* that were served from siblings; in none of the following */
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

#endif
