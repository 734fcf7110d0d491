/*
 * The shared block: what all children of one httpd know together. The controller's position, the
 * last sample, and the counters.
 *
 * The layout is fixed and versioned: a reload may load a newer build of the module into a parent
 * that made the block with an older one. The block lives in memory shared between processes, so it
 * holds no pointers. Readers never wait. One writer at a time: see el_state_claim().
 */
#ifndef ELASTIC_STATE_H
#define ELASTIC_STATE_H

#include "elastic/control.h"
#include "elastic/cost.h"
#include "elastic/decide.h"
#include "elastic/histogram.h"
#include "elastic/position.h"
#include "elastic/ratio.h"
#include "elastic/reading.h"

#include <stdatomic.h>

#define EL_STATE_MAGIC 0x656c6173u /* "elas" */
#define EL_STATE_VERSION 7

/* Stripes of counters: as many writers can add without sharing a cache line. A power of two. */
#define EL_STATE_STRIPES 32

/* Parts per million: how a share of 0 … 1 is stored in an integer. */
#define EL_PPM 1000000u
/* No sample was taken yet. */
#define EL_STATE_NO_LOAD UINT64_MAX

/* How many sets of codings there are; a set has the bit 1 << coding for each. */
#define EL_CODING_SETS (1u << EL_CODINGS)

/* X(identifier): the counters of a stripe, beside one for each reason and each set of codings. */
#define EL_COUNTERS(X)                                                                             \
    X(COMPRESSED)      /* responses that went out encoded */                                       \
    X(BYTES_IN)        /* of those, before */                                                      \
    X(BYTES_OUT)       /* of those, after */                                                       \
    X(SAMPLED_IN)      /* the same as BYTES_IN, of the responses whose CPU time was taken */       \
    X(SAMPLED_NSEC)    /* and that CPU time */                                                     \
    X(PRECOMPRESSED)   /* responses served from siblings */                                        \
    X(PROBES)          /* pieces of bodies encoded to see whether it pays */

typedef enum {
#define X(id) EL_COUNT_##id,
    EL_COUNTERS(X)
#undef X
    EL_COUNT_CODING_SET, /* responses by the set that their coding was chosen from; add it */
    /* the first reason's; add el_reason_t */
    EL_COUNT_SKIPPED = EL_COUNT_CODING_SET + EL_CODING_SETS,
    EL_COUNT_TOTAL = EL_COUNT_SKIPPED + EL_REASON_COUNT
} el_counter_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_COUNT_TOTAL];
} el_stripe_t;

/* What was compressed so far. */
typedef struct {
    uint64_t in; /* bytes */
    uint64_t sampled_in;
    uint64_t sampled_nsec;
} el_state_work_t;

typedef struct {
    uint32_t magic;
    uint32_t version;
    _Atomic uint64_t position;    /* a packed el_control_state_t: read and written as one */
    _Atomic uint64_t next_sample; /* µs of the monotonic clock; the right to sample is won on it */
    _Atomic uint64_t generation;  /* of the configuration; older children do not control */
    _Atomic uint64_t load_ppm;    /* the last sample's busy share, or EL_STATE_NO_LOAD */
    _Atomic uint64_t started;     /* µs of the monotonic clock */
    _Atomic uint64_t samples;
    _Atomic uint64_t steps;       /* changes of the position by the controller */
    _Atomic uint32_t sampling_failed; /* 1 from a failed sample to the next good one */
    _Atomic uint32_t source;      /* an el_source_t */
    el_histogram_t durations;     /* of compressing a response, where a goal asks for it */
    el_costs_t costs;             /* what setups turned out to cost */
    el_ratios_t ratios;           /* what media types turned out to save */

    /* Written by the claim's holder only. */
    el_reading_t last;
    el_control_memory_t memory;
    el_state_work_t worked; /* at the last sample */
    el_stripe_t stripe[EL_STATE_STRIPES];
} el_state_t;

/* What sets the position: this httpd's own controller, or the file that elasticd writes. */
typedef enum { EL_SOURCE_UNKNOWN, EL_SOURCE_FILE, EL_SOURCE_OWN } el_source_t;

/* What a sample goes by. */
typedef struct {
    const el_load_plan_t *plan;
    const el_cpuset_t *mask; /* the CPUs that count; NULL: all */
    const el_reading_t *reading;
    const double *cost;      /* of the positions, as in el_observation_t; NULL: not known */
    const double *ratio;
} el_state_inputs_t;

/* Makes the zeroed memory at `state` a block that starts at `now` (µs) with `control`. */
void el_state_init(el_state_t *state, el_control_state_t control, uint64_t now);

/* Whether the block was made by this layout. */
bool el_state_valid(const el_state_t *state);

/* Back to the beginning, as at a restart: counters, samples, and the position to `control`. */
void el_state_reset(el_state_t *state, el_control_state_t control, uint64_t now);

/* The position now; lock-free, any thread. */
el_control_state_t el_state_control(const el_state_t *state);

/*
 * Adopts new bounds, as after a reload: clamps the position to `config`, makes the caller's
 * generation (the returned number) the only one that controls, and the next sample due in
 * `interval` µs at most.
 */
uint64_t el_state_adopt(el_state_t *state, const el_control_config_t *config, uint64_t now,
                        uint64_t interval);

/*
 * Wins the right to sample, where one is due at `now` for `generation`: true for one caller among
 * all processes and threads, and `*claim` is then the proof that el_state_commit() asks for. A
 * winner that dies loses its tick and nothing else.
 */
bool el_state_claim(el_state_t *state, uint64_t generation, uint64_t now, uint64_t interval,
                    uint64_t *claim);

/* When the next sample is due, µs of the monotonic clock; any thread. */
uint64_t el_state_due(const el_state_t *state);

/*
 * Takes the winner's sample: computes the load against the last reading, keeps this one as the
 * last, and moves the position by `config`. Where the claim has run out (a later one was won), or
 * no tick passed, nothing moves. Returns whether the load was determined.
 */
bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_state_inputs_t *inputs);

/*
 * Takes what another process has published in place of a sample: its load, and its position on the
 * ladder of `config`. Nothing moves where the claim has run out. A sample that comes after it
 * begins anew.
 */
void el_state_follow(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_position_t *position);

/* Stores what sets the position; true where that has changed, and so is worth a line in the log. */
bool el_state_note_source(el_state_t *state, el_source_t source);

/* Stores whether the last sample failed; true where that has changed, as above. */
bool el_state_note_sampling(el_state_t *state, bool failed);

/* Adds to a counter. `lane` (a process or thread number) picks the stripe. Lock-free. */
void el_state_count(el_state_t *state, unsigned lane, el_counter_t counter, uint64_t add);

/* The sum of a counter over all stripes. */
uint64_t el_state_total(const el_state_t *state, el_counter_t counter);

/* CPU µs that encoding took: of the sampled responses, scaled by the bytes of all; else 0. */
uint64_t el_state_cpu_usec(const el_state_t *state);

#endif
