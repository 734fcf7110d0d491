/*
 * Goals: what effort is spent for. All but that of the CPU's thresholds say what a saved byte is
 * worth; price.h makes the price of now of it.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_GOAL_H
#define ELASTIC_GOAL_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    EL_GOAL_CPU,  /* the busy share between its thresholds */
    EL_GOAL_TIME, /* pages come soonest: CPU time and time on the wire together */
    EL_GOAL_COST  /* CPU and egress together cost the least */
} el_goal_kind_t;

typedef struct {
    el_goal_kind_t kind;
    double rate;            /* time: of the clients' wire, bits a second, above 0 */
    bool by_connection;     /* time: each connection's own rate counts where it is known, … */
    double least, most;     /* … within these bounds */
    double per_core_hour;   /* cost: the price of a core for an hour, 0 or more */
    double per_gbyte;       /* cost: the price of 10^9 bytes sent, in the same money */
} el_goal_t;

/*
 * Reads `cpu`, `time [RATE|auto [LEAST MOST]]` (bit/s, kbit/s, Mbit/s, Gbit/s) or
 * `cost PRICE/h PRICE/GB` from the `len` bytes at `text`; words are separated by blanks, letters may
 * be of either case. False where it is none of them, or a number is not above 0 (a price may be 0,
 * but not both); `goal` is then untouched.
 */
bool el_goal_parse(const char *text, size_t len, el_goal_t *goal);

/*
 * The rate of the wire behind a connection that took `measured` bits a second: within the goal's
 * bounds. Where the application had no more to send (`limited`), the wire may be faster, and the
 * figure only counts where it is above goal->rate.
 */
double el_goal_rate(const el_goal_t *goal, double measured, bool limited);

/*
 * What a saved byte is worth, in nanoseconds of CPU time that nobody waits for, by a goal that sets
 * a price: its time on the wire, or what sending it costs by what CPU time costs.
 */
double el_goal_worth(const el_goal_t *goal);

#endif
