/*
 * The shared block: one anonymous mapping that all children of an httpd share.
 *
 * Its layout is fixed and versioned: a reload may load a newer build of the module into a parent
 * that made the block with an older one. It holds no pointers.
 */
#ifndef ELASTIC_BLOCK_H
#define ELASTIC_BLOCK_H

#include "elastic/control.h"
#include "elastic/cost.h"
#include "elastic/counters.h"
#include "elastic/entry.h"
#include "elastic/load.h"
#include "elastic/lockfree.h"
#include "elastic/dictionary.h"

/*
 * The controller's state: the position, the last sample, and the right to take the next one.
 *
 * One child at a time samples: the one that wins the claim. A claim lasts for one interval, then
 * another child may win the next one. A child that dies loses only its sample. The sample of a slow
 * child is dropped if another has moved the position since it began. Readers never wait and never
 * see half a write.
 */

/* Parts per million: the scale of a stored share of 0 … 1. */
#define EL_PPM 1000000u
/* No price is set: the position counts. */
#define EL_STATE_NO_PRICE UINT64_MAX
/* No sample was taken yet. */
#define EL_STATE_NO_LOAD UINT64_MAX

/* The source of the position: this httpd's own controller, or the file that elasticd writes. */
typedef enum { EL_SOURCE_UNKNOWN, EL_SOURCE_FILE, EL_SOURCE_OWN } el_source_t;

/* The state that one sample leaves to the next. 24 KB. */
typedef struct {
    el_reading_t reading;
    el_control_memory_t memory;
    uint64_t improved_nsec; /* CPU time spent until then on improving cached encodings */
    uint64_t encoded;       /* bodies encoded until then */
} el_sample_t;

typedef struct el_state {
    _Atomic uint64_t position;    /* a packed el_control_state_t, and the number of writes */
    _Atomic uint64_t next_sample; /* µs of the monotonic clock; a child claims a sample with it */
    _Atomic uint64_t sampled;     /* time of the last claim, same clock */
    _Atomic uint64_t generation;  /* of the configuration; older children do not control */
    _Atomic uint64_t arrivals;    /* the number of a time slot, and the responses begun in it */
    _Atomic uint32_t surge;       /* arrivals in a slot that hasten the next sample; 0: never */
    _Atomic uint32_t soon;        /* samples left that follow each other after one slot */
    _Atomic uint64_t load_ppm;    /* the last sample's busy share, or EL_STATE_NO_LOAD */
    _Atomic uint64_t price;       /* of a saved byte, millionths of a ns, or EL_STATE_NO_PRICE */
    _Atomic uint64_t samples;
    _Atomic uint64_t steps;       /* changes of the position by the controller */
    _Atomic uint32_t sampling_failed; /* 1 from a failed sample to the next good one */
    _Atomic uint32_t source;      /* an el_source_t */
    _Atomic uint64_t last_checksum;
    _Atomic uint64_t last[EL_SNAPSHOT_WORDS(el_sample_t)]; /* an el_sample_t; see lockfree.h */
} el_state_t;

/* The inputs of a sample. */
typedef struct {
    const el_load_signals_t *signals;
    const el_cpuset_t *mask; /* the CPUs that count; NULL: all */
    const el_reading_t *reading;
    const el_counters_t *counters;
    const el_tally_t *tally;
} el_state_inputs_t;

/* The current position. Never waits; any thread. */
el_control_state_t el_state_control(const el_state_t *state);

/*
 * Adopts new bounds, as after a reload. Clamps the position to `config`, lets only the caller's
 * generation (the returned number) control from now on, and makes the next sample due in at most
 * `interval` µs. Earlier claims become invalid.
 */
uint64_t el_state_adopt(el_state_t *state, const el_control_config_t *config, uint64_t now,
                        uint64_t interval);

/*
 * Claims the sample that is due at `now` (µs) for `generation`. True for one caller among all
 * processes and threads; pass `*claim` to el_state_commit().
 */
bool el_state_claim(el_state_t *state, uint64_t generation, uint64_t now, uint64_t interval,
                    uint64_t *claim);

/*
 * Counts a response that begins at `now` (µs) and will be encoded. True for the one caller that
 * finds a surge while a price is set: arrivals that will change the load. The next sample is then
 * due at `now`, or a tenth of a second after the last one. Any thread.
 */
bool el_state_arrival(el_state_t *state, uint64_t now);

/*
 * Completes the claimed sample: computes the load since the last reading, stores this reading, and
 * moves the position by `config`. Returns whether the load was determined. False and no change if
 * the claim is no longer valid, because a later one was won or new bounds were adopted. Takes 30 KB
 * of stack.
 */
bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_state_inputs_t *inputs);

/*
 * Adopts the load and position that another process published, in place of a sample. The position
 * is scaled to the top of `config`. Nothing changes if the claim is no longer valid. The next own
 * sample starts without a previous reading.
 */
void el_state_follow(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_position_t *position);

/* Stores the source of the position. True if it changed, so that the caller logs it. */
bool el_state_note_source(el_state_t *state, el_source_t source);

/* Stores whether the last sample failed. True if that changed. */
bool el_state_note_sampling(el_state_t *state, bool failed);

/* Names share change counters. A collision only costs the reader one more copy. */
#define EL_CACHE_CHANGES 1024u

/* Facts of the cache of encodings, shared by all children. Any process, any thread. */
typedef struct el_cache_state {
    el_doorkeeper_t doorkeeper;
    el_sketch_t sketch;
    el_pause_t calls;            /* pauses look-ups in a remote store */
    el_pause_t puts;             /* pauses stores there */
    _Atomic uint64_t written;    /* bytes that the store has taken so far */
    _Atomic uint32_t complained; /* time of the last logged fault, seconds of the monotonic clock */
    _Atomic uint32_t changes[EL_CACHE_CHANGES];
} el_cache_state_t;
_Static_assert(sizeof(el_cache_state_t) <= 1 << 20, "the memory that was promised");

/*
 * The counter of stores under `name`. A process that keeps a copy of the entry compares the counter
 * to see whether the copy is still current.
 */
_Atomic uint32_t *el_cache_state_changes(el_cache_state_t *state, const el_name_t *name);

/* True for one caller a minute: it may log a fault at `now` (seconds). */
bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now);

#define EL_BLOCK_MAGIC 0x656c6173u /* "elas" */
/* Raised when the meaning of a part changes. If a part grows, the size differs. */
#define EL_BLOCK_VERSION 40

typedef struct {
    uint32_t magic;
    uint32_t version;
    uint64_t size;
    el_state_t state;
    el_counters_t counters;
    el_costs_t costs;         /* corrections of the engines' tables of costs */
    el_ratios_t shares;       /* size ratios of pages and dictionaries; see el_setup_t.shares */
    el_in_flight_t held;      /* bytes of bodies in flight */
    el_popular_t popular;     /* cached encodings that are requested often */
    _Atomic uint64_t improve_at; /* µs: the idle thread improves no encoding before */
    el_cache_state_t cache;   /* facts of the cache of encodings */
    el_history_t history;     /* the last hour, and totals before today */
    el_tally_t tally;         /* of encoded bodies, for monitoring */
    el_vhosts_t vhosts;       /* counts of each virtual host */
    el_precompressed_verdicts_t precompressed; /* verdicts on precompressed files */
    el_in_flight_t busy;      /* encoders in use; counts bodies, not bytes */
} el_block_t;

/* Initializes the zeroed memory at `block`, starting at `now` (µs) with `control`. */
void el_block_init(el_block_t *block, el_control_state_t control, uint64_t now);

/* True if the block has this build's layout. */
bool el_block_valid(const el_block_t *block);

/* Resets counters, samples and measurements as at a restart, and sets the position to `control`. */
void el_block_reset(el_block_t *block, el_control_state_t control, uint64_t now);

#endif
