#include "elastic/price.h"

#include <math.h>
#include <stdbool.h>

/* A load beyond this counts as this: the delay of a full queue has no bound. */
#define LOAD_MOST 0.999

/* Erlang's formula goes from CPU to CPU; from so many on, the delay is that of so many. */
#define CPUS_MOST 512

/*
 * How fast the load is followed: by a mean over so many seconds, or, where samples are far off, by
 * this share of the way. Up further than down: effort that is spent too late delays others.
 */
#define SECONDS_SLOW 40.
#define FAST_UP 1.
#define FAST_DOWN 0.3

/*
 * A sample is far off from so many mean deviations on, and the share rises up to there by the sixth
 * power: half as far off hardly counts. The deviation is bounded, so that a load that jumps does not
 * make the next jump look like noise.
 */
#define DEVIATIONS 5.
#define DEVIATION_FIRST 0.05
#define DEVIATION_LEAST 0.02
#define DEVIATION_MOST 0.15

/* A machine hides how much more is asked of it where less than this part of one CPU is idle. */
#define IDLE_LEAST 0.03

/* The delay is set anew where it would be so many times as large, or as small. */
#define BAND 1.5

/* So many samples are averaged evenly first. */
#define FIRST_SAMPLES 5

/* The delay of `cpus` CPUs, a whole number. */
static double delay_of(double load, unsigned cpus)
{
    double c = cpus;
    double a = load * c; /* offered load in CPUs: requests a second times the service time */
    double b = 1, db = 0; /* Erlang's B, and its derivative by `a` */
    double wait, dwait, free;

    if (a <= 0) {
        return 1;
    }
    for (unsigned n = 1; n <= cpus; n++) {
        double before = a * b;
        double dbefore = b + a * db;

        b = before / (n + before);
        db = dbefore * n / ((n + before) * (n + before));
    }
    /* Erlang's C over the CPUs that are free: the mean wait for a service time of 1. */
    free = c - a * (1 - b);
    wait = c * b / (free * (c - a));
    dwait = wait * (db / b + (1 - b - a * db) / free + 1 / (c - a));
    return 1 + wait + a * dwait;
}

double el_price_delay(double load, double cpus)
{
    double whole, part;

    load = fmin(LOAD_MOST, fmax(0, load));
    cpus = fmin(CPUS_MOST, fmax(1, cpus));
    part = modf(cpus, &whole);
    if (part == 0) {
        return delay_of(load, (unsigned)whole);
    }
    return (1 - part) * delay_of(load, (unsigned)whole)
           + part * delay_of(load, (unsigned)whole + 1);
}

/*
 * The share of the way to a sample that is `error` off. A single sample that is far off may be noise,
 * a full CPU too where it is often busy: it takes two in a row, or one that is twice as far off.
 */
static double gain(el_price_memory_t *memory, double error, double seconds, bool full)
{
    double slow = 1 - exp(-seconds / SECONDS_SLOW);
    double fast = error > 0 ? FAST_UP : FAST_DOWN;
    double off = fmax(full ? 1 : 0, fabs(error) / (DEVIATIONS * memory->deviation));
    double both = error * memory->off > 0 ? fmin(off, fabs(memory->off)) : 0;

    memory->off = copysign(off, error);
    off = fmin(1, fmax(off / 2, both));
    if (memory->samples <= FIRST_SAMPLES) {
        slow = fmax(slow, 1 / memory->samples);
    }
    return slow + fmax(0, fast - slow) * pow(off, 6);
}

double el_price_follow(el_price_memory_t *memory, double busy, double cpus, double seconds)
{
    double error, delay;
    bool full = busy >= 1 - IDLE_LEAST / fmax(1, cpus);

    if (memory->samples == 0) {
        memory->load = busy;
        memory->deviation = DEVIATION_FIRST;
    }
    memory->samples++;
    error = busy - memory->load;
    memory->load += error * gain(memory, error, seconds, full);
    memory->deviation += (1 - exp(-seconds / (2 * SECONDS_SLOW)))
                         * (fmin(fabs(error), DEVIATION_MOST) - memory->deviation);
    memory->deviation = fmax(DEVIATION_LEAST, memory->deviation);
    delay = el_price_delay(memory->load, cpus);
    if (delay > memory->delay * BAND || delay < memory->delay / BAND) {
        memory->delay = delay;
    }
    return memory->delay;
}
