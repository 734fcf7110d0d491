/*
 * The price of a byte: the CPU time that a response may take for each byte it saves.
 *
 * Every goal but EL_GOAL_CPU gives a saved byte a worth: its time on the client's connection, or
 * the cost of sending it. In a queue, the CPU time of one response also delays the responses behind
 * it. So the price is the worth divided by the delay that a unit of CPU time causes at the current
 * load.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_PRICE_H
#define ELASTIC_PRICE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    EL_GOAL_CPU,  /* keep the busy share between its thresholds */
    EL_GOAL_TIME, /* pages arrive soonest: CPU time plus transfer time */
    EL_GOAL_COST  /* the least cost of CPU and egress together */
} el_goal_kind_t;

typedef struct {
    el_goal_kind_t kind;
    double rate;            /* time: of the clients' connections, bits a second, above 0 */
    bool by_connection;     /* time: use each connection's own rate if it is known, … */
    double least, most;     /* … within these bounds */
    double per_core_hour;   /* cost: price of a core for an hour, 0 or more */
    double per_gbyte;       /* cost: price of 10^9 bytes sent, in the same currency */
} el_goal_t;

/*
 * Parses `cpu`, `time [RATE|auto [LEAST MOST]]` (bit/s, kbit/s, Mbit/s, Gbit/s) or `cost PRICE/h
 * PRICE/GB` from the `len` bytes at `text`; words are separated by blanks, in any case of letters.
 * False, and `goal` unchanged, for other text or a rate of 0. One of the two prices may be 0.
 */
bool el_goal_parse(const char *text, size_t len, el_goal_t *goal);

/*
 * The rate to assume for a connection that took `measured` bits a second, within the goal's bounds.
 * If the application had no more to send (`limited`), the connection may be faster: then the result
 * is goal->rate at least.
 */
double el_goal_rate(const el_goal_t *goal, double measured, bool limited);

/*
 * The worth of a saved byte in ns of CPU time on an idle machine: its time on the connection, or
 * the cost of sending it divided by the cost of CPU time. 0 for EL_GOAL_CPU.
 */
double el_goal_worth(const el_goal_t *goal);

/*
 * The increase of the mean response time if each response takes one unit of CPU time more, that
 * unit included: the derivative, by the service time, of the mean time in a queue M/M/c (Erlang's C
 * formula). 1 without load; 1 / (1 - load)^2 for one CPU. `load` is 0 … 1 of `cpus`, which may be a
 * fraction; below 1 it counts as 1.
 */
double el_price_delay(double load, double cpus);

/* The smoothed load and its delay; zeroed at the beginning. */
typedef struct {
    double load;      /* smoothed, 0 … 1 */
    double deviation; /* mean distance of the samples from it */
    double off;       /* distance of the last sample; 1: beyond noise; below 0: below the load */
    double delay;     /* el_price_delay(), updated only if it changes by much */
    double samples;   /* averaged in the load; a jump reduces them */
} el_price_memory_t;

/*
 * Adds a sample of the load (`busy`, 0 … 1) over the last `seconds`, and returns memory->delay, 1
 * or more. Samples within the usual distance move the load slowly. Two in a row that are further
 * off or at a full CPU, or one much further off, move it at once. The delay changes only by a
 * factor of 1.5 or more, so that neither noise nor the resulting effort make it oscillate.
 */
double el_price_follow(el_price_memory_t *memory, double busy, double cpus, double seconds);

/*
 * The number of responses begun within a slot that counts as a surge, so that the next sample is
 * brought forward: above chance, twice the `mean` number, and half of what fills the CPUs if `mean`
 * keeps them `busy`.
 */
double el_price_surge(double mean, double busy);

#endif
