/*
 * The shared block: one anonymous mapping that all children of an httpd share, and what is in it.
 *
 * Its layout is fixed and versioned: a reload may load a newer build of the module into a parent
 * that made the block with an older one. It holds no pointers. Who may write a part is said where
 * it is declared; its functions take that part alone.
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
 * One child at a time samples: the one that wins the claim. A claim lasts for an interval; after
 * that another child may win the next, so a child that dies loses its sample and nothing else. One
 * that is only slow may come back and find itself too late: whatever it does then moves nothing,
 * because a sample counts only where nobody else has moved the position since it began. Readers
 * never wait, and nothing is ever read in half.
 */

/* Parts per million: how a share of 0 … 1 is stored in an integer. */
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
    uint64_t improved_nsec; /* CPU time that improving kept encodings took, until then */
    uint64_t encoded;       /* bodies that were encoded until then */
} el_sample_t;

typedef struct el_state {
    _Atomic uint64_t position;    /* a packed el_control_state_t, and how often it was set */
    _Atomic uint64_t next_sample; /* µs of the monotonic clock; the right to sample is won on it */
    _Atomic uint64_t sampled;     /* when it was won last, likewise */
    _Atomic uint64_t generation;  /* of the configuration; older children do not control */
    _Atomic uint64_t arrivals;    /* a slot of time, and the responses that began in it */
    _Atomic uint32_t surge;       /* so many bring the next sample forward; 0: none do */
    _Atomic uint32_t soon;        /* samples that then follow at the distance of a slot */
    _Atomic uint64_t load_ppm;    /* the last sample's busy share, or EL_STATE_NO_LOAD */
    _Atomic uint64_t price;       /* of a saved byte, millionths of a ns, or EL_STATE_NO_PRICE */
    _Atomic uint64_t samples;
    _Atomic uint64_t steps;       /* changes of the position by the controller */
    _Atomic uint32_t sampling_failed; /* 1 from a failed sample to the next good one */
    _Atomic uint32_t source;      /* an el_source_t */
    _Atomic uint64_t last_checksum;
    _Atomic uint64_t last[EL_SNAPSHOT_WORDS(el_sample_t)]; /* the last el_sample_t: lockfree.h */
} el_state_t;

/* The readings and counts of a sample. */
typedef struct {
    const el_load_signals_t *signals;
    const el_cpuset_t *mask; /* the CPUs that count; NULL: all */
    const el_reading_t *reading;
    const el_counters_t *counters;
    const el_tally_t *tally;
} el_state_inputs_t;

/* The position now; lock-free, any thread. */
el_control_state_t el_state_control(const el_state_t *state);

/*
 * Adopts new bounds, as after a reload: clamps the position to `config`, makes the caller's
 * generation (the returned number) the only one that controls, and the next sample due in
 * `interval` µs at most. Claims that were won before have run out.
 */
uint64_t el_state_adopt(el_state_t *state, const el_control_config_t *config, uint64_t now,
                        uint64_t interval);

/*
 * Wins the right to sample, if one is due at `now` for `generation`: true for one caller among
 * all processes and threads, and `*claim` is then the proof that el_state_commit() asks for.
 */
bool el_state_claim(el_state_t *state, uint64_t generation, uint64_t now, uint64_t interval,
                    uint64_t *claim);

/*
 * Counts a response that begins at `now` and will be encoded. True for one caller if they have
 * become so many that the load will be another one, and prices follow the load: the next sample is
 * now due at `now`, or a tenth of a second after the last one. Any thread.
 */
bool el_state_arrival(el_state_t *state, uint64_t now);

/*
 * Takes the winner's sample: computes the load against the last reading, keeps this one as the
 * last, and moves the position by `config`. Returns whether the load was determined. If the
 * claim has run out (a later one was won, or new bounds were adopted), nothing changes, and the
 * return is false. Takes 30 KB of stack.
 */
bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_state_inputs_t *inputs);

/*
 * Takes what another process has published in place of a sample: its load, and its position on the
 * ladder of `config`. Nothing changes if the claim has run out. A sample that comes after it
 * begins anew.
 */
void el_state_follow(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_position_t *position);

/* Stores what sets the position; true if that has changed, and so is worth a line in the log. */
bool el_state_note_source(el_state_t *state, el_source_t source);

/* Stores whether the last sample failed; true if that has changed, as above. */
bool el_state_note_sampling(el_state_t *state, bool failed);

/* Names share counts of changes: if another one changes, a copy is taken anew for nothing. */
#define EL_CACHE_CHANGES 1024u

/* Shared by all children, beside the store of encodings itself. Any process, any thread. */
typedef struct el_cache_state {
    el_doorkeeper_t doorkeeper;
    el_sketch_t sketch;
    el_pause_t calls;            /* of a store that other machines reach */
    el_pause_t puts;             /* of storing there */
    _Atomic uint64_t written;    /* bytes that the store has taken so far */
    _Atomic uint32_t complained; /* seconds of the monotonic clock, when a fault was logged last */
    _Atomic uint32_t changes[EL_CACHE_CHANGES];
} el_cache_state_t;
_Static_assert(sizeof(el_cache_state_t) <= 1 << 20, "the memory that was promised");

/*
 * The counter of stores under `name`: a process that has a copy of the entry sees by it whether
 * that is still the same.
 */
_Atomic uint32_t *el_cache_state_changes(el_cache_state_t *state, const el_name_t *name);

/* True if a fault may be logged at `now`, a second: true for one caller within a minute. */
bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now);

#define EL_BLOCK_MAGIC 0x656c6173u /* "elas" */
/*
 * Raised when the meaning of a part changes. A part that grows, as by a new counter or reason,
 * shows in the size.
 */
#define EL_BLOCK_VERSION 39

typedef struct {
    uint32_t magic;
    uint32_t version;
    uint64_t size; /* of the structure */
    el_state_t state;
    el_counters_t counters;
    el_costs_t costs;         /* corrections of the built-in table */
    el_ratios_t shares;       /* of dictionary-compressed bodies, by their dictionaries */
    el_in_flight_t held;      /* memory of bodies in flight */
    el_popular_t popular;     /* cached encodings that are asked for often */
    _Atomic uint64_t improve_at; /* µs: the next of them may be improved from then on */
    el_cache_state_t cache;   /* what the store of encodings knows of bodies */
    el_history_t history;     /* the last hour, and what was before today */
    el_tally_t tally;         /* of encoded bodies, for monitoring */
    el_vhosts_t vhosts;       /* what is counted of each virtual host */
    el_precompressed_verdicts_t precompressed; /* files that were looked into */
    el_in_flight_t busy;      /* encoders in use: bodies, if the name says bytes */
} el_block_t;

/* Makes the zeroed memory at `block` a block that starts at `now` (µs) with `control`. */
void el_block_init(el_block_t *block, el_control_state_t control, uint64_t now);

/* True if the block was made by this layout. */
bool el_block_valid(const el_block_t *block);

/*
 * Back to the beginning, as at a restart: counters, samples, what was measured, and the position to
 * `control`.
 */
void el_block_reset(el_block_t *block, el_control_state_t control, uint64_t now);

#endif
