/*
 * A server as the controller sees one: what arrives costs CPU to make and, by the position, to
 * compress; what the CPU cannot do waits. Deterministic: the same seed, the same run.
 */
#ifndef ELASTIC_TESTS_PLANT_H
#define ELASTIC_TESTS_PLANT_H

#include "elastic/control.h"

#include <stdint.h>

#define PLANT_TOP 8

/* An interval's CPU time: half a second of one CPU, µs. */
#define PLANT_CAPACITY 500000.

typedef struct {
    /* The server. */
    double cost[PLANT_TOP + 1]; /* what compression really takes at a position, µs per KB */
    double page;                /* what the rest of a response takes, µs per KB */

    /* What the controller is told. */
    double noise; /* of the busy share: up to this much more or less */
    double lag;   /* share of the work that still goes by the last position */

    /* Its state. */
    el_control_state_t state;
    el_control_memory_t memory;
    double last_position;
    double backlog; /* KB */
    uint64_t seed;

    /* The last interval, as it really was. */
    double busy;
    bool moved;
} plant_t;

/* A server of one CPU with gzip's nine levels, no noise and no lag, at the ceiling. */
plant_t plant_new(void);

/* KB per interval with which the load at `position` is `busy`. */
double plant_rate(const plant_t *plant, double position, double busy);

/* Evenly in −1 … 1. */
double plant_random(plant_t *plant);

/* An interval in which `rate` KB arrive evenly; then the controller's turn. */
void plant_hold(plant_t *plant, const el_control_config_t *config, double rate);

#endif
