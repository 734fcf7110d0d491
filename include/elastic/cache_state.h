/*
 * What all children share of the store of encodings, beside the store itself. Zeroed, a new one. Any
 * process, any thread.
 */
#ifndef ELASTIC_CACHE_STATE_H
#define ELASTIC_CACHE_STATE_H

#include "elastic/door.h"
#include "elastic/pause.h"
#include "elastic/sketch.h"

typedef struct el_cache_state {
    el_door_t door;
    el_sketch_t sketch;
    el_pause_t calls;            /* of a store that other machines reach */
    el_pause_t puts;             /* of storing there */
    _Atomic uint64_t written;    /* bytes that the store has taken so far */
    _Atomic uint32_t complained; /* seconds of the monotonic clock, when a fault was logged last */
} el_cache_state_t;
_Static_assert(sizeof(el_cache_state_t) <= 1 << 20, "the memory that was promised");

/* Back to the beginning, as at a restart. */
void el_cache_state_reset(el_cache_state_t *state);

/* Whether a fault may be logged at `now`, a second: true for one caller within a minute. */
bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now);

#endif
