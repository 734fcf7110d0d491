/*
 * A server as the controller sees it. Pages take CPU time to make and, by the position, to
 * compress; work that exceeds the CPU waits. Deterministic: the same seed gives the same run.
 */
#ifndef ELASTIC_TESTS_PLANT_H
#define ELASTIC_TESTS_PLANT_H

#include "elastic/control.h"

#include <stdint.h>

#define PLANT_TOP 8

/* CPU time of an interval, µs: half a second of one CPU. */
#define PLANT_CAPACITY 500000.

typedef struct {
    /* The server. */
    double cost[PLANT_TOP + 1]; /* real cost of compression at a position, µs per KB */
    double page;                /* cost of the rest of a response, µs per KB */

    /* Errors of the measured load. */
    double noise; /* largest error of the busy share */
    double lag;   /* share of the work done at the last position */

    /* Its state. */
    el_control_state_t state;
    el_control_memory_t memory;
    double last_position;
    double backlog; /* KB */
    uint64_t seed;

    /* The last interval's real values. */
    double busy;
    bool moved;
} plant_t;

/* A server of one CPU with gzip's nine levels, no noise and no lag, at the ceiling. */
plant_t plant_new(void);

/* KB per interval with which the load at `position` is `busy`. */
double plant_rate(const plant_t *plant, double position, double busy);

/* A random number, even in −1 … 1. */
double plant_random(plant_t *plant);

/* Runs an interval in which `rate` KB arrive evenly, then the controller. */
void plant_hold(plant_t *plant, const el_control_config_t *config, double rate);

#endif
