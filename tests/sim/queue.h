/*
 * A queue with one or more CPUs: pages arrive at random, take CPU time to be made and encoded, and
 * then their bytes take time on the client's wire. The setup of each response is the one that the
 * price of its moment pays for, or a fixed one. Deterministic: the same seed, the same run.
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
    double rate;     /* of the wire, bits a second */
    double kbytes;   /* of a page */
    double making;   /* seconds of CPU time that a page takes to be made */
    double base;     /* share of the CPUs that making takes */
    double others;   /* share of the CPUs that other programs take, by a nice of 19: none waits */
    double flood;    /* so many times as many pages come … */
    double flood_at; /* … from this second on … */
    double flood_end; /* … until this one */
    double seconds;  /* of the run */
    double interval; /* between samples of the load, seconds */
    double noise;    /* standard deviation of a sample's error … */
    double lasting;  /* … which depends on those of so many seconds before; 0: on none */
    const el_rung_t *rungs; /* as el_ladder_build() left them */
    size_t count;
    int fixed;       /* the rung of every response; below 0: the price decides */
    uint64_t seed;
} queue_t;

typedef struct {
    double mean;       /* of the total time, seconds: waiting, making, encoding and the wire */
    double p95;
    double bytes;      /* of a response, the mean */
    double unsteady;   /* share of responses in minutes with more than two changes of the rung */
    double floored;    /* seconds from the flood's begin until every response takes rung 0 */
    double calm;       /* seconds from its end until none has a mean time above 1.2 times that of
                          before it */
} queue_result_t;

queue_result_t queue_run(const queue_t *queue);

#endif
