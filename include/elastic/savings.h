/*
 * What compression saved: bytes, and beside what mod_deflate at level 6 would have done with the same
 * bodies, CPU time, bytes and money.
 *
 * What mod_deflate would have taken is known of the sampled bodies only, from measured costs; it is
 * scaled to all of them, as the CPU time is that was really taken. Pure; any thread.
 */
#ifndef ELASTIC_SAVINGS_H
#define ELASTIC_SAVINGS_H

#include "elastic/counters.h"
#include "elastic/goal.h"

/* X(identifier): the counters that savings are computed from. */
#define EL_SAVINGS_COUNTERS(X)                                                                     \
    X(COMPRESSED)                                                                                  \
    X(PRECOMPRESSED)                                                                               \
    X(BYTES_IN)                                                                                    \
    X(BYTES_OUT)                                                                                   \
    X(SAMPLED_IN)                                                                                  \
    X(SAMPLED_OUT)                                                                                 \
    X(SAMPLED_NSEC)                                                                                \
    X(STOCK_OUT)                                                                                   \
    X(STOCK_NSEC)                                                                                  \
    X(EXPLORED_NSEC)                                                                               \
    X(IMPROVED_NSEC)

typedef enum {
#define X(id) EL_SAVINGS_##id,
    EL_SAVINGS_COUNTERS(X)
#undef X
    EL_SAVINGS_COUNT
} el_savings_counter_t;

/* What they have counted over some time. */
typedef struct {
    uint64_t count[EL_SAVINGS_COUNT];
} el_savings_counts_t;

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

/* All that was counted so far. */
el_savings_counts_t el_savings_counted(const el_counters_t *counters);

/* Nothing was sampled: as if mod_deflate did the same, in no time. */
el_savings_t el_savings_of(const el_savings_counts_t *counts);

/* What this took less than mod_deflate, below 0: more. CPU time in µs; bytes. */
double el_savings_cpu(const el_savings_t *savings);
double el_savings_bytes(const el_savings_t *savings);

/* Money at the prices of `goal`; below 0: it cost more. 0 where the goal has no prices. */
typedef struct {
    double plain; /* beside sending the same bodies uncompressed */
    double stock; /* beside mod_deflate */
} el_savings_money_t;

el_savings_money_t el_savings_money(const el_savings_t *savings, const el_goal_t *goal);

#endif
