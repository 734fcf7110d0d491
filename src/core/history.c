#include "elastic/history.h"

/* A share of 1. */
#define WHOLE 1e6

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void add(_Atomic uint64_t *word, double share)
{
    uint64_t value = share > 0 ? (uint64_t)(share * WHOLE + 0.5) : 0;

    atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

static void empty(el_history_minute_t *slot, uint64_t minute)
{
    set(&slot->minute, 0);
    set(&slot->samples, 0);
    set(&slot->load, 0);
    set(&slot->position, 0);
    set(&slot->minute, minute);
}

void el_history_add(el_history_t *history, uint64_t minute, el_history_point_t point)
{
    el_history_minute_t *slot = &history->minute[minute % EL_HISTORY_MINUTES];

    if (get(&slot->minute) != minute) {
        empty(slot, minute);
    }
    add(&slot->load, point.load);
    add(&slot->position, point.position);
    atomic_fetch_add_explicit(&slot->samples, 1, memory_order_relaxed);
}

bool el_history_get(const el_history_t *history, uint64_t minute, el_history_point_t *point)
{
    const el_history_minute_t *slot = &history->minute[minute % EL_HISTORY_MINUTES];
    uint64_t samples = get(&slot->samples);

    if (get(&slot->minute) != minute || samples == 0) {
        return false;
    }
    point->load = (double)get(&slot->load) / WHOLE / (double)samples;
    point->position = (double)get(&slot->position) / WHOLE / (double)samples;
    return true;
}

void el_history_begin(el_history_t *history, uint64_t day, const uint64_t counts[EL_PAST_COUNTS])
{
    uint64_t last = atomic_exchange(&history->day, day);

    for (int i = 0; last != 0 && last != day && i < EL_PAST_COUNTS; i++) {
        atomic_fetch_add_explicit(&history->before[i], counts[i], memory_order_relaxed);
    }
}
