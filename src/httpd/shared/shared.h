/*
 * The shared block in httpd: one anonymous shared mapping for each parent process. It is kept over
 * graceful restarts, and every child reads it.
 */
#ifndef ELASTIC_SHARED_SHARED_H
#define ELASTIC_SHARED_SHARED_H

#include "httpd/config/glue.h"

#include "elastic/block.h"
#include "elastic/ladder.h"

/* The settings of the controller, and those that it shares with requests. */
typedef struct {
    el_control_config_t control;
    const char *goal;     /* as configured */
    unsigned start;       /* the position of a new controller */
    const char *position; /* the position file to follow, or NULL */
    uint64_t interval;    /* µs between samples */
    int64_t max_memory;   /* bytes that bodies in flight may hold, or EL_NO_MAX_MEMORY */
    bool max_of_requests; /* max_memory bounds request bodies alone: the default */
    double idle;          /* CPU share for improving cached encodings; 0: none */
    bool idle_top;        /* improve up to the highest level of all */
} el_shared_config_t;

/*
 * The block and its configuration in this process. Written in post_config and in child_init before
 * the threads start, read-only afterwards.
 */
typedef struct {
    el_block_t *block; /* from post_config on */
    el_shared_config_t config;
    uint64_t generation; /* this configuration's */
    unsigned process;    /* this child's number, which picks its stripe of counters */
} el_shared_t;

extern el_shared_t el_shared;

/*
 * In post_config: makes the block, or finds the one from before the restart, and adopts the new
 * bounds. APR_ENOMEM: no memory, which is logged.
 */
apr_status_t el_shared_open(const el_shared_config_t *config, server_rec *main_server);

/* In pre_mpm, at a start and a restart but not at a graceful one: resets the block. */
void el_shared_reset(void);

/* In child_init: enters this process, with no encoder in use. */
void el_shared_child(void);

/* Counts this process's encoders that work on a body; any thread. */
void el_holders_begin(void);
void el_holders_end(void);

/*
 * Forgets encoders and memory of processes that died. Makes a system call for each process; the
 * sampling child calls it now and then, and so does the status page.
 */
void el_holders_forget_gone(void);

/* The effort for one response: a whole position 0 … `top`, or a price. */
typedef struct {
    unsigned position;
    unsigned top;
    double price; /* of a saved byte, ns of CPU time; below 0: the position counts */
} el_effort_t;

/* The effort by `control` and the present price. A position between two is rounded down. */
el_effort_t el_shared_effort_at(el_control_state_t control);

/*
 * The effort for the next response. If the controller's position lies between two, responses take
 * them in turns. Call it once for each response.
 */
el_effort_t el_shared_effort(el_control_state_t control);

/* The level within `range` for a response; the highest if ElasticControl is off. */
int el_shared_level(el_range_t range, el_effort_t effort);

/* True if the level of a coding with these bounds follows the load. */
bool el_shared_is_adaptive(el_range_t range);

static inline void el_shared_count(el_counter_t counter, uint64_t add)
{
    el_counters_add(&el_shared.block->counters, el_shared.process, counter, add);
}

#endif
