#include "elastic/counters.h"

static const struct {
    const char *note;
    const char *text;
} sibling_faults[] = {
#define X(id, note, text) [EL_SIBLING_##id] = {note, text},
    EL_SIBLING_FAULTS(X)
#undef X
};

const char *el_sibling_fault_note(el_sibling_fault_t fault)
{
    return sibling_faults[fault].note;
}

const char *el_sibling_fault_text(el_sibling_fault_t fault)
{
    return sibling_faults[fault].text;
}

/* Counters order nothing, so they need no barriers. */
void el_counters_add(el_counters_t *counters, unsigned process, el_counter_t counter,
                     uint64_t add)
{
    el_stripe_t *stripe = &counters->stripe[process % EL_COUNTER_STRIPES];

    atomic_fetch_add_explicit(&stripe->count[counter], add, memory_order_relaxed);
}

uint64_t el_counters_total(const el_counters_t *counters, el_counter_t counter)
{
    uint64_t total = 0;

    for (unsigned s = 0; s < EL_COUNTER_STRIPES; s++) {
        total += atomic_load_explicit(&counters->stripe[s].count[counter], memory_order_relaxed);
    }
    return total;
}

uint64_t el_counters_shown(el_counters_t *counters, el_shown_t which, double estimate)
{
    _Atomic uint64_t *shown = &counters->shown[which];
    uint64_t highest = atomic_load_explicit(shown, memory_order_relaxed);
    uint64_t now = estimate > 0 ? (uint64_t)estimate : 0;

    while (now > highest && !atomic_compare_exchange_weak(shown, &highest, now)) {
    }
    return now > highest ? now : highest;
}
