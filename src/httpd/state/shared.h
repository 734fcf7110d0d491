/*
 * The shared block's life in httpd, and the controller's settings that go with it: one anonymous
 * shared mapping for each parent process, kept over graceful restarts, and read by every child.
 */
#ifndef ELASTIC_SHARED_H
#define ELASTIC_SHARED_H

#include "httpd/base/glue.h"

#include "elastic/control.h"
#include "elastic/ladder.h"
#include "elastic/cost.h"
#include "elastic/counters.h"
#include "elastic/histogram.h"
#include "elastic/ratio.h"
#include "elastic/state.h"

/*
 * What the process knows of the controller since its configuration was read. Read-only afterwards.
 */
typedef struct {
    /* Parts of the block, which exist from post_config on. */
    el_state_t *state;
    el_counters_t *counters;
    el_histogram_t *durations;
    el_costs_t *costs;
    el_ratios_t *ratios;

    el_control_config_t control;
    const char *position; /* the file whose position is followed, or NULL */
    uint64_t interval;   /* µs */
    uint64_t generation; /* this configuration's */
} el_shared_t;

extern el_shared_t el_shared;

/*
 * In post_config: makes the block or finds the one of before the restart, and adopts the new
 * bounds. APR_ENOMEM where there is no memory for it.
 */
apr_status_t el_shared_open(server_rec *main_server);

/*
 * In pre_mpm, which runs at a start and at a restart, but not at a graceful one: back to the
 * beginning.
 */
void el_shared_reset(server_rec *main_server);

/* µs of the monotonic clock, which all processes share. */
uint64_t el_shared_now(void);

/* The same in seconds. */
uint32_t el_shared_sec(void);

/* The level within `range` at the position now; the ceiling where ElasticControl is off. */
int el_shared_level(el_range_t range);

/*
 * The whole position of the next request, of 0 … `top`: of the two that the position is between,
 * one by its turn.
 */
unsigned el_shared_next_position(unsigned *top);

/*
 * The level that the next request takes within `range`: of the setups that the position is between,
 * one by its turn.
 */
int el_shared_next_level(el_range_t range);

/* Counts what compressing a response took, where the goal is a latency. */
void el_shared_duration(uint64_t nsec);

/* Adds to a counter, in this process's stripe. */
void el_shared_count(el_counter_t counter, uint64_t add);

#endif
