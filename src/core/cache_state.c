#include "elastic/cache_state.h"

#include <string.h>

/* Seconds between two lines. */
#define QUIET 60

void el_cache_state_reset(el_cache_state_t *state)
{
    el_door_reset(&state->door);
    el_sketch_reset(&state->sketch);
    atomic_store(&state->calls.word, 0);
    atomic_store(&state->puts.word, 0);
    atomic_store(&state->written, 0);
    atomic_store(&state->complained, 0);
}

_Atomic uint32_t *el_cache_state_changes(el_cache_state_t *state, const el_name_t *name)
{
    uint32_t hash;

    memcpy(&hash, name->hash, sizeof(hash));
    return &state->changes[(hash ^ name->coding) % EL_CACHE_CHANGES];
}

bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now)
{
    uint32_t last = atomic_load(&state->complained);

    /* 0 is no time: a machine's clock begins at its start. */
    return (last == 0 || now - last >= QUIET)
           && atomic_compare_exchange_strong(&state->complained, &last, now > 0 ? now : 1);
}
