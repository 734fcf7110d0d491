/*
 * What all children share of the store of encodings, beside the store itself. Zeroed, a new one. Any
 * process, any thread.
 */
#ifndef ELASTIC_CACHE_STATE_H
#define ELASTIC_CACHE_STATE_H

#include "elastic/entry.h"
#include "elastic/lockfree.h"
#include "elastic/popular.h"

/* Names share counts of changes: where another one changes, a copy is taken anew for nothing. */
#define EL_CACHE_CHANGES 1024u

typedef struct el_cache_state {
    el_door_t door;
    el_sketch_t sketch;
    el_pause_t calls;            /* of a store that other machines reach */
    el_pause_t puts;             /* of storing there */
    _Atomic uint64_t written;    /* bytes that the store has taken so far */
    _Atomic uint32_t complained; /* seconds of the monotonic clock, when a fault was logged last */
    _Atomic uint32_t changes[EL_CACHE_CHANGES];
    el_held_t near; /* bytes of the entries that processes have copies of */
} el_cache_state_t;
_Static_assert(sizeof(el_cache_state_t) <= 1 << 20, "the memory that was promised");

/* Back to the beginning, as at a restart. */
void el_cache_state_reset(el_cache_state_t *state);

/*
 * What counts how often the entry of `name` was stored: whoever has a copy of it sees by that whether
 * it is still the same.
 */
_Atomic uint32_t *el_cache_state_changes(el_cache_state_t *state, const el_name_t *name);

/* Whether a fault may be logged at `now`, a second: true for one caller within a minute. */
bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now);

#endif
