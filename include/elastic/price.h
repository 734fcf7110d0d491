/*
 * The price of a byte: how much CPU time a response may take for each byte that it saves.
 *
 * The goal says what effort is spent for, and all but that of the CPU's thresholds say what a saved
 * byte is worth: its time on the client's wire, or its cost. CPU time costs more than itself where
 * requests wait for it: in a queue, the time that one response takes delays those behind it as
 * well. So the price is the worth, divided by the delay that a unit of CPU time makes at the load
 * of now.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_PRICE_H
#define ELASTIC_PRICE_H

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
 * Reads `cpu`, `time [RATE|auto [LEAST MOST]]` (bit/s, kbit/s, Mbit/s, Gbit/s) or `cost PRICE/h
 * PRICE/GB` from the `len` bytes at `text`; words are separated by blanks, letters may be of either
 * case. False where it is none of them, or a number is not above 0 (a price may be 0, but not
 * both); `goal` is then untouched.
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

/*
 * By how much the mean response becomes slower where each takes a unit of CPU time more, that unit
 * included: the derivative, by the service time, of the mean time in a queue M/M/c (Erlang's C
 * formula). 1 without load; 1 / (1 - load)^2 for one CPU. `load` is 0 … 1; `cpus` are those that it
 * is a share of, and may be a fraction: below 1 it counts as one CPU.
 */
double el_price_delay(double load, double cpus);

/* What the delay is made of: a load that is followed through noise; zeros at the beginning. */
typedef struct {
    double load;      /* that is gone by, 0 … 1 */
    double deviation; /* of the samples from it, their mean */
    double off;       /* how far the last one was, 1: beyond noise; below 0: below the load */
    double delay;     /* el_price_delay() for it, as of the last time that it changed by much */
    double samples;   /* that the load is the mean of; those before a jump count as a few */
} el_price_memory_t;

/*
 * Takes a sample of the load (`busy`, 0 … 1) of the last `seconds`, and returns memory->delay,
 * which is 1 or more. Samples that are as far from the load as others were move it slowly; two that
 * are further, or of a full CPU, and one that is much further, at once. The delay stays until it
 * would be 1.5 times as large or as small: neither noise nor the effort that follows from it make
 * it go back and forth.
 */
double el_price_follow(el_price_memory_t *memory, double busy, double cpus, double seconds);

/*
 * So many responses begun within a slot are a surge, which is not waited out until the next sample:
 * more than chance, twice the `mean`, half of what fills the CPUs if `mean` made them `busy`.
 */
double el_price_surge(double mean, double busy);

#endif
