/*
 * Goals: what effort is spent for. That of time says what a saved byte is worth, see price.h. For
 * the others: (goal, curve, what the interval showed) -> the position that reaches it, over which
 * the CPU's thresholds are a guard; that is the controller's part.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_GOAL_H
#define ELASTIC_GOAL_H

#include "elastic/curve.h"

#include <stddef.h>

typedef enum {
    EL_GOAL_CPU,     /* the busy share between its thresholds */
    EL_GOAL_TIME,    /* pages come soonest: CPU time and time on the wire together */
    EL_GOAL_LATENCY, /* 95 of 100 responses are compressed within a time */
    EL_GOAL_COST     /* CPU and egress together cost the least */
} el_goal_kind_t;

typedef struct {
    el_goal_kind_t kind;
    double rate;            /* time: of the clients' wire, bits a second, above 0 */
    bool by_connection;     /* time: each connection's own rate counts where it is known, … */
    double least, most;     /* … within these bounds */
    double p95_usec;        /* latency: the time, above 0 */
    double per_core_hour;   /* cost: the price of a core for an hour, 0 or more */
    double per_gbyte;       /* cost: the price of 10^9 bytes sent, in the same money */
} el_goal_t;

/*
 * Reads `cpu`, `time [RATE|auto [LEAST MOST]]` (bit/s, kbit/s, Mbit/s, Gbit/s), `latency p95 TIME`
 * (us, ms, s; a bare number is ms) or `cost PRICE/h PRICE/GB` from the `len` bytes at `text`; words
 * are separated by blanks, letters may be of either case. False where it is none of them, or a
 * number is not above 0 (a price may be 0, but not both); `goal` is then untouched.
 */
bool el_goal_parse(const char *text, size_t len, el_goal_t *goal);

/*
 * The position at which compressing takes `goal->p95_usec` at the 95th percentile, when it takes
 * `p95_usec` (above 0) at `position`. It goes half of the way (of the costs' logarithm), because
 * the percentile still remembers the positions of before, and stays where the goal is met within
 * 5 percent. Without costs it is a guess from the error alone, at most an eighth of the range away.
 */
double el_goal_latency(const el_goal_t *goal, const el_curve_t *curve, double position,
                       double p95_usec);

/* What a GB of bodies costs at `position`: CPU and egress. The curve must have both figures. */
double el_goal_price(const el_goal_t *goal, const el_curve_t *curve, double position);

/*
 * The position that costs the least: a whole one, because between two setups the price lies between
 * theirs. It stays at `position` where that saves less than 1 percent: figures are running averages
 * and waver.
 */
double el_goal_cheapest(const el_goal_t *goal, const el_curve_t *curve, double position);

/* Whether the goal sets a price in place of a position. */
bool el_goal_is_priced(const el_goal_t *goal);

/*
 * The rate of the wire behind a connection that took `measured` bits a second: within the goal's
 * bounds. Where the application had no more to send (`limited`), the wire may be faster, and the
 * figure only counts where it is above goal->rate.
 */
double el_goal_rate(const el_goal_t *goal, double measured, bool limited);

/*
 * What a saved byte is worth by a priced goal, in nanoseconds of CPU time that nobody waits for: the
 * time of its eight bits on the wire.
 */
double el_goal_worth(const el_goal_t *goal);

#endif
