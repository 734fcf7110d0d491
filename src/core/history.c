#include "elastic/history.h"

#define BYTES_PER_GB 1e9
#define USEC_PER_HOUR 3.6e9

el_savings_counts_t el_savings_counted(const el_counters_t *counters)
{
    static const el_counter_t which[EL_SAVINGS_COUNT] = {
#define X(id) [EL_SAVINGS_##id] = EL_COUNT_##id,
        EL_SAVINGS_COUNTERS(X)
#undef X
    };
    el_savings_counts_t counts;

    for (int i = 0; i < EL_SAVINGS_COUNT; i++) {
        counts.count[i] = el_counters_total(counters, which[i]);
    }
    return counts;
}

/* `value`, which is known of `part`, of `whole`. */
static double scaled(uint64_t value, uint64_t whole, uint64_t part)
{
    return (double)value * ((double)whole / (double)part);
}

el_savings_t el_savings_of(const el_savings_counts_t *counts)
{
    const uint64_t *count = counts->count;
    uint64_t in = count[EL_SAVINGS_BYTES_IN], sampled_in = count[EL_SAVINGS_SAMPLED_IN];
    uint64_t out = count[EL_SAVINGS_BYTES_OUT], sampled_out = count[EL_SAVINGS_SAMPLED_OUT];
    el_savings_t savings = {
        .responses = count[EL_SAVINGS_COMPRESSED],
        .precompressed = count[EL_SAVINGS_PRECOMPRESSED],
        .in = in,
        .out = out,
        .beside_usec =
            (double)(count[EL_SAVINGS_EXPLORED_NSEC] + count[EL_SAVINGS_IMPROVED_NSEC]) / 1000,
        .stock_out = (double)out,
    };

    if (sampled_in > 0) {
        savings.encoding_usec = scaled(count[EL_SAVINGS_SAMPLED_NSEC], in, sampled_in) / 1000;
        savings.stock_usec = scaled(count[EL_SAVINGS_STOCK_NSEC], in, sampled_in) / 1000;
    }
    /* By what was sent, which is exact: the sampled bodies may be worse to compress than others. */
    if (sampled_out > 0) {
        savings.stock_out = scaled(count[EL_SAVINGS_STOCK_OUT], out, sampled_out);
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

static double money(double nbytes, double usec, const el_goal_t *goal)
{
    return nbytes / BYTES_PER_GB * goal->per_gbyte + usec / USEC_PER_HOUR * goal->per_core_hour;
}

el_savings_money_t el_savings_money(const el_savings_t *savings, const el_goal_t *goal)
{
    double spent = savings->encoding_usec + savings->beside_usec;

    return (el_savings_money_t){
        .plain = money((double)savings->in - (double)savings->out, -spent, goal),
        .stock = money(el_savings_bytes(savings), el_savings_cpu(savings), goal),
    };
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

void el_history_begin(el_history_t *history, uint64_t day, const el_counters_t *counters)
{
    uint64_t before = get(&history->day);
    el_savings_counts_t now;

    if (before == day) {
        return;
    }
    now = el_savings_counted(counters);
    for (int i = 0; before > 0 && i < EL_SAVINGS_COUNT; i++) {
        set(&history->before[i], now.count[i]);
    }
    set(&history->day, day);
}

/* Before the first sample of a day, all that was counted is of the days before. */
el_savings_counts_t el_history_today(const el_history_t *history, uint64_t day,
                                     const el_counters_t *counters)
{
    uint64_t began = get(&history->day);
    el_savings_counts_t counts = el_savings_counted(counters);

    for (int i = 0; i < EL_SAVINGS_COUNT; i++) {
        uint64_t before = get(&history->before[i]);
        bool is_over = began != day && began > 0;

        counts.count[i] = !is_over && counts.count[i] > before ? counts.count[i] - before : 0;
    }
    return counts;
}
