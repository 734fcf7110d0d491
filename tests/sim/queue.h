/*
 * A queue with one or more CPUs. Pages arrive at random, take CPU time to make and encode, and then
 * time to be sent to the client. The current price chooses the setup of each response, unless it is
 * fixed. Deterministic: the same seed gives the same run.
 */
#ifndef ELASTIC_TESTS_QUEUE_H
#define ELASTIC_TESTS_QUEUE_H

#include "elastic/ladder.h"
#include "elastic/price.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_CPUS_MOST 64

typedef struct {
    /* The machine and its clients. */
    unsigned cpus;
    double rate;     /* of the client's connection, bits a second */
    double kbytes;   /* of a page */
    double making;   /* CPU seconds to make a page */
    double base;     /* share of the CPUs used for making pages */
    double others;   /* share of the CPUs used by programs at nice 19 */
    double flood;    /* factor of the arrivals … */
    double flood_at; /* … from this second … */
    double flood_end; /* … to this second */
    double seconds;  /* of the run */
    double interval; /* between samples of the load, seconds */
    double noise;    /* standard deviation of a sample's error */
    double lasting;  /* seconds over which errors correlate; 0: independent */
    const el_rung_t *rungs; /* as el_ladder_build() leaves them */
    size_t count;
    int fixed;       /* index of the only setup; below 0: the price decides */
    uint64_t seed;
} queue_t;

typedef struct {
    double mean;       /* total time in seconds: waiting, making, encoding, sending */
    double p95;
    double bytes;      /* mean bytes of a response */
    double unsteady;   /* share of responses in minutes with over two changes of setup */
    double floored;    /* seconds from the flood's begin until only the cheapest is used */
    double calm;       /* seconds from its end until the mean stays below 1.2 times that before */
} queue_result_t;

queue_result_t queue_run(const queue_t *queue);

#endif
