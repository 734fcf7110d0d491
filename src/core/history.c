#include "elastic/history.h"

/* What is known of sampled bodies, `value` of `part`, for the `whole`. */
static double scaled(uint64_t value, uint64_t whole, uint64_t part)
{
    return (double)value * ((double)whole / (double)part);
}

el_savings_t el_savings_of(const el_counters_t *counters)
{
    uint64_t in = el_counters_total(counters, EL_COUNT_BYTES_IN);
    uint64_t out = el_counters_total(counters, EL_COUNT_BYTES_OUT);
    uint64_t sampled_in = el_counters_total(counters, EL_COUNT_SAMPLED_IN);
    uint64_t sampled_out = el_counters_total(counters, EL_COUNT_SAMPLED_OUT);
    uint64_t beside = el_counters_total(counters, EL_COUNT_EXPLORED_NSEC)
                      + el_counters_total(counters, EL_COUNT_IMPROVED_NSEC);
    el_savings_t savings = {
        .responses = el_counters_total(counters, EL_COUNT_COMPRESSED),
        .precompressed = el_counters_total(counters, EL_COUNT_PRECOMPRESSED),
        .in = in,
        .out = out,
        .beside_usec = (double)beside / 1000,
        .stock_out = (double)out,
    };

    if (sampled_in > 0) {
        uint64_t took = el_counters_total(counters, EL_COUNT_SAMPLED_NSEC);
        uint64_t would_take = el_counters_total(counters, EL_COUNT_STOCK_NSEC);

        savings.encoding_usec = scaled(took, in, sampled_in) / 1000;
        savings.stock_usec = scaled(would_take, in, sampled_in) / 1000;
    }
    /* By what was sent, which is exact: the sampled bodies may be worse to compress than others. */
    if (sampled_out > 0) {
        savings.stock_out =
            scaled(el_counters_total(counters, EL_COUNT_STOCK_OUT), out, sampled_out);
    }
    return savings;
}

double el_savings_cpu(const el_savings_t *savings)
{
    return savings->stock_usec - savings->encoding_usec - savings->beside_usec;
}

double el_savings_bytes(const el_savings_t *savings)
{
    return savings->stock_out - (double)savings->out;
}

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
