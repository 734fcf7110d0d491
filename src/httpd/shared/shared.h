/*
 * The shared block's life in httpd: one anonymous shared mapping for each parent process, kept over
 * graceful restarts, and read by every child.
 */
#ifndef ELASTIC_SHARED_SHARED_H
#define ELASTIC_SHARED_SHARED_H

#include "httpd/config/glue.h"

#include "elastic/block.h"
#include "elastic/ladder.h"

/* The settings of the controller, and of what it shares with requests. */
typedef struct {
    el_control_config_t control;
    const char *goal;     /* control's, as it was configured */
    unsigned start;       /* the position of a new controller */
    const char *position; /* the file whose position is followed, or NULL */
    uint64_t interval;    /* µs between samples */
    int64_t max_memory;   /* bytes that bodies in flight may hold, or EL_NO_MAX_MEMORY */
    bool max_of_requests; /* that is the bound of request bodies alone: the default */
    double idle;          /* the share of the CPU that improving kept encodings may use; 0: none */
    bool idle_top;        /* up to the highest level that there is */
} el_shared_config_t;

/*
 * The block and its configuration, for this process; written in post_config and before the child's
 * threads start, read-only afterwards.
 */
typedef struct {
    el_block_t *block; /* from post_config on */
    el_shared_config_t config;
    uint64_t generation; /* this configuration's */
    unsigned process;    /* this process's number, in a child; it picks its counters */
} el_shared_t;

extern el_shared_t el_shared;

/*
 * In post_config: makes the block, or finds the one of before the restart, and adopts the new
 * bounds. APR_ENOMEM: no memory for it, which is logged.
 */
apr_status_t el_shared_open(const el_shared_config_t *config, server_rec *main_server);

/* In pre_mpm, which runs at a start and a restart, but not at a graceful one: begins anew. */
void el_shared_reset(void);

/* In child_init: this process begins to count, with nothing in use. */
void el_shared_child(void);

/* Counts the encoders of this process that work for a body; any thread. */
void el_holders_begin(void);
void el_holders_end(void);

/*
 * Forgets encoders and memory of processes that are gone, killed perhaps. A system call for each
 * process: the child that samples calls it now and then, and the status.
 */
void el_holders_forget_gone(void);

/* The effort for one response: a whole position 0 … `top`, or a price. */
typedef struct {
    unsigned position;
    unsigned top;
    double price; /* of a saved byte, ns of CPU time; below 0: the position counts */
} el_effort_t;

/* The effort by `control` and the present price; takes no turn between two positions. */
el_effort_t el_shared_effort_at(el_control_state_t control);

/*
 * The effort for the next response: if the controller's position lies between two, one of them by
 * turns. Called once for a response.
 */
el_effort_t el_shared_effort(el_control_state_t control);

/* The level within `range` for a response; the ceiling if ElasticControl is off. */
int el_shared_level(el_range_t range, el_effort_t effort);

/* True if the level of a coding with these bounds follows the load. */
bool el_shared_is_adaptive(el_range_t range);

/* Adds to a counter. */
static inline void el_shared_count(el_counter_t counter, uint64_t add)
{
    el_counters_add(&el_shared.block->counters, el_shared.process, counter, add);
}

#endif
