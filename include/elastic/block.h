/*
 * The shared block: one anonymous mapping that all children of an httpd share, and what is in it.
 *
 * Its layout is fixed and versioned: a reload may load a newer build of the module into a parent
 * that made the block with an older one. It holds no pointers. Each part has its own header, which
 * says who may write it; a caller of one part gets a pointer to that part alone.
 */
#ifndef ELASTIC_BLOCK_H
#define ELASTIC_BLOCK_H

#include "elastic/cache_state.h"
#include "elastic/cost.h"
#include "elastic/counters.h"
#include "elastic/history.h"
#include "elastic/lockfree.h"
#include "elastic/popular.h"
#include "elastic/ratio.h"
#include "elastic/state.h"
#include "elastic/tally.h"
#include "elastic/vhosts.h"

#define EL_BLOCK_MAGIC 0x656c6173u /* "elas" */
#define EL_BLOCK_VERSION 31

typedef struct {
    uint32_t magic;
    uint32_t version;
    el_state_t state;
    el_counters_t counters;
    el_costs_t costs;         /* corrections of the built-in table */
    el_ratios_t shares;       /* of differences, by their dictionaries */
    el_held_t held;           /* memory of bodies in flight */
    el_hot_t hot;             /* kept encodings that are asked for often */
    _Atomic uint64_t improve_at; /* µs: the next of them may be improved from then on */
    el_cache_state_t cache;   /* what the store of encodings knows of bodies */
    el_history_t history;     /* the last hour, and what was before today */
    el_tally_t tally;         /* of encoded bodies, for monitoring */
    el_vhosts_t vhosts;       /* what is counted of each virtual host */
    el_held_t busy;           /* encoders in use: bodies, where the name says bytes */
    el_held_t pooled;         /* memory that is kept for the next bodies */
} el_block_t;

/* Makes the zeroed memory at `block` a block that starts at `now` (µs) with `control`. */
void el_block_init(el_block_t *block, el_control_state_t control, uint64_t now);

/* Whether the block was made by this layout. */
bool el_block_valid(const el_block_t *block);

/*
 * Back to the beginning, as at a restart: counters, samples, what was measured, and the position to
 * `control`.
 */
void el_block_reset(el_block_t *block, el_control_state_t control, uint64_t now);

#endif
