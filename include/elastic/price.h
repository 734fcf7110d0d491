/*
 * The price of a byte: how much CPU time a response may take for each byte that it saves.
 *
 * A saved byte is worth its time on the client's wire, or its cost; see el_goal_worth(). CPU time
 * costs more than itself where requests wait for it: in a queue, the time that one response takes
 * delays those behind it as well. So the price is the worth, divided by the delay that a unit of CPU
 * time makes at the load of now.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_PRICE_H
#define ELASTIC_PRICE_H

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
    double off;       /* how far the last one was, where 1 is beyond noise; below 0: below the load */
    double delay;     /* el_price_delay() for it, as of the last time that it changed by much */
    double samples;   /* until now */
} el_price_memory_t;

/*
 * Takes a sample of the load (`busy`, 0 … 1) of the last `seconds`, and returns memory->delay, which
 * is 1 or more. Samples that are as far from the load as others were move it slowly; two that are
 * further, or of a full CPU, and one that is much further, at once. The delay stays until it would be
 * 1.5 times as large or as small: neither noise nor the effort that follows from it make it go back
 * and forth.
 */
double el_price_follow(el_price_memory_t *memory, double busy, double cpus, double seconds);

#endif
