#include "elastic/warmth.h"

/* More new contexts in a row than these are no coincidence. */
#define FRESH_MOST 3

bool el_warmth_is_usual(el_warmth_t *warmth, el_coding_t coding, int level, bool fresh)
{
    _Atomic uint8_t *in_a_row;
    uint8_t before;

    if ((unsigned)coding >= EL_ALL_CODINGS || level < 0 || level >= EL_COST_LEVELS) {
        return false;
    }
    in_a_row = &warmth->fresh[coding][level];
    before = atomic_load_explicit(in_a_row, memory_order_relaxed);
    if (!fresh) {
        atomic_store_explicit(in_a_row, 0, memory_order_relaxed);
    } else if (before < FRESH_MOST) {
        atomic_store_explicit(in_a_row, before + 1, memory_order_relaxed);
    }
    return !fresh || before >= FRESH_MOST;
}
