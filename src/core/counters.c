#include "elastic/counters.h"

#include "bytes.h"

#include <math.h>
#include <string.h>

const char *const el_precompressed_fault_texts[EL_PRECOMPRESSED_FAULTS_COUNT] = {
#define X(id, note, text) [EL_PRECOMPRESSED_##id] = text,
    EL_PRECOMPRESSED_FAULTS(X)
#undef X
};

static uint64_t counters_get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

uint64_t el_counters_total(const el_counters_t *counters, el_counter_t counter)
{
    uint64_t total = 0;

    for (unsigned s = 0; s < EL_COUNTER_STRIPES; s++) {
        total += counters_get(&counters->stripe[s].count[counter]);
    }
    return total;
}

uint64_t el_counters_cpu_usec(el_counters_t *counters)
{
    double sampled_in = (double)el_counters_total(counters, EL_COUNT_SAMPLED_IN);
    double scale = (double)el_counters_total(counters, EL_COUNT_BYTES_IN) / fmax(1, sampled_in);
    double nsec = (double)el_counters_total(counters, EL_COUNT_SAMPLED_NSEC);
    uint64_t now = (uint64_t)(nsec * scale / 1000), highest = counters_get(&counters->cpu_usec);

    while (now > highest
           && !atomic_compare_exchange_weak(&counters->cpu_usec, &highest, now)) {
    }
    return now > highest ? now : highest;
}

const el_tally_series_info_t el_tally_info[EL_TALLY_SERIES_COUNT] = {
#define X(id, coding, engine, encoded) {coding, engine, encoded},
    EL_TALLY_SERIES(X)
#undef X
};

/*
 * Times from a small page at a low level to a large page at the highest, two classes to a decade.
 * Sizes by powers of two in the range of pages, then by 4 and 16. Each class adds a line for each
 * coding to every scrape.
 */
const el_tally_bound_t el_tally_bounds[EL_TALLY_KINDS][EL_TALLY_BOUNDS] = {
    [EL_TALLY_TIME] = {
        {10000, "1e-05"}, {30000, "3e-05"}, {100000, "0.0001"}, {300000, "0.0003"},
        {1000000, "0.001"}, {3000000, "0.003"}, {10000000, "0.01"}, {30000000, "0.03"},
        {100000000, "0.1"}, {300000000, "0.3"}, {1000000000, "1.0"}, {3000000000, "3.0"},
    },
    [EL_TALLY_SIZE] = {
        {512, "512.0"}, {1024, "1024.0"}, {2048, "2048.0"}, {4096, "4096.0"}, {8192, "8192.0"},
        {16384, "16384.0"}, {32768, "32768.0"}, {65536, "65536.0"}, {131072, "131072.0"},
        {262144, "262144.0"}, {1048576, "1048576.0"}, {16777216, "16777216.0"},
    },
};

const double el_tally_scale[EL_TALLY_KINDS] = {[EL_TALLY_TIME] = 1e9, [EL_TALLY_SIZE] = 1};

el_tally_series_t el_tally_find(el_coding_t coding, const char *engine)
{
    int series = 0;

    while (series < EL_TALLY_SERIES_COUNT
           && (el_tally_info[series].coding != coding || *el_tally_info[series].engine != *engine
               || strcmp(el_tally_info[series].engine, engine) != 0)) {
        series++;
    }
    return (el_tally_series_t)series;
}

static void counters_classify(el_tally_stripe_t *stripe, el_coding_t coding, el_tally_kind_t kind,
                              uint64_t value)
{
    size_t class = 0;

    while (class < EL_TALLY_BOUNDS && value > el_tally_bounds[kind][class].most) {
        class++;
    }
    el_count_add(&stripe->count[coding][kind][class], 1);
    el_count_add(&stripe->sum[coding][kind], value);
}

void el_tally_add(el_tally_t *tally, unsigned process, el_tally_series_t series,
                  const el_tally_body_t *body)
{
    el_tally_stripe_t *stripe = &tally->stripe[process % EL_COUNTER_STRIPES];
    el_coding_t coding = el_tally_info[series].coding;

    el_count_add(&stripe->made[series][EL_TALLY_RESPONSES], 1);
    el_count_add(&stripe->made[series][EL_TALLY_IN], body->in);
    el_count_add(&stripe->made[series][EL_TALLY_OUT], body->out);
    counters_classify(stripe, coding, EL_TALLY_SIZE, body->in);
    if (el_tally_info[series].encoded) {
        counters_classify(stripe, coding, EL_TALLY_TIME, body->nsec);
    }
}

uint64_t el_tally_made(const el_tally_t *tally, el_tally_series_t series, el_tally_count_t which)
{
    uint64_t total = 0;

    for (size_t s = 0; s < EL_COUNTER_STRIPES; s++) {
        total += counters_get(&tally->stripe[s].made[series][which]);
    }
    return total;
}

uint64_t el_tally_encoded(const el_tally_t *tally)
{
    uint64_t total = 0;

    for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
        total += el_tally_info[series].encoded
                     ? el_tally_made(tally, (el_tally_series_t)series, EL_TALLY_RESPONSES) : 0;
    }
    return total;
}

void el_tally_read(const el_tally_t *tally, el_coding_t coding, el_tally_kind_t kind,
                   el_tally_total_t *total)
{
    *total = (el_tally_total_t){0};
    for (size_t s = 0; s < EL_COUNTER_STRIPES; s++) {
        const el_tally_stripe_t *stripe = &tally->stripe[s];

        total->sum += counters_get(&stripe->sum[coding][kind]);
        for (size_t class = 0; class <= EL_TALLY_BOUNDS; class++) {
            total->count[class] += counters_get(&stripe->count[coding][kind][class]);
        }
    }
}

#define NOBODY 0

uint64_t el_vhosts_hash(const char *name)
{
    uint64_t sum = EL_HASH_START;

    for (; *name; name++) {
        sum = el_hash_add(sum, (unsigned char)el_text_lower(*name));
    }
    return sum != NOBODY ? sum : 1;
}

static unsigned counters_slot_of(const el_vhosts_t *vhosts, uint64_t name)
{
    unsigned slot = 0;

    while (slot < EL_VHOSTS && atomic_load(&vhosts->name[slot]) != name) {
        slot++;
    }
    return slot;
}

void el_vhosts_assign(el_vhosts_t *vhosts, const uint64_t *names, size_t count, unsigned *slots)
{
    /* Free the slots of names that are not among these. */
    for (unsigned slot = 0; slot < EL_VHOSTS; slot++) {
        uint64_t name = atomic_load(&vhosts->name[slot]);
        size_t i = 0;

        while (i < count && names[i] != name) {
            i++;
        }
        if (i == count) {
            atomic_store(&vhosts->name[slot], NOBODY);
        }
    }
    for (size_t i = 0; i < count; i++) {
        slots[i] = counters_slot_of(vhosts, names[i]);
        if (slots[i] < EL_VHOSTS) {
            continue;
        }
        /* Clear the slot as it is assigned: older processes may have counted in it until now. */
        slots[i] = counters_slot_of(vhosts, NOBODY);
        for (unsigned c = 0; c < EL_COUNTER_STRIPES * EL_VHOST_COUNTS; c++) {
            atomic_store_explicit(&vhosts->stripe[c / EL_VHOST_COUNTS]
                                       .count[slots[i]][c % EL_VHOST_COUNTS],
                                  0, memory_order_relaxed);
        }
        atomic_store(&vhosts->name[slots[i]], names[i]);
    }
}

uint64_t el_vhosts_total(const el_vhosts_t *vhosts, unsigned slot, el_vhost_count_t count)
{
    uint64_t total = 0;

    for (unsigned s = 0; s < EL_COUNTER_STRIPES; s++) {
        total += counters_get(&vhosts->stripe[s].count[slot][count]);
    }
    return total;
}

/* The scale of stored shares. */
#define WHOLE 1e6

static void counters_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void el_history_add(el_history_t *history, uint64_t minute, el_history_point_t point)
{
    el_history_minute_t *slot = &history->minute[minute % EL_HISTORY_MINUTES];
    uint64_t saved = (uint64_t)(int64_t)point.saved;

    if (counters_get(&slot->minute) != minute) {
        counters_set(&slot->minute, 0);
        counters_set(&slot->samples, 0);
        counters_set(&slot->load, 0);
        counters_set(&slot->position, 0);
        counters_set(&slot->saved, 0);
        counters_set(&slot->minute, minute);
    }
    el_count_add(&slot->load, (uint64_t)(fmax(0, point.load) * WHOLE + 0.5));
    el_count_add(&slot->position, (uint64_t)(fmax(0, point.position) * WHOLE + 0.5));
    el_count_add(&slot->saved, saved - atomic_exchange(&history->saved, saved));
    el_count_add(&slot->samples, 1);
}

bool el_history_get(const el_history_t *history, uint64_t minute, el_history_point_t *point)
{
    const el_history_minute_t *slot = &history->minute[minute % EL_HISTORY_MINUTES];
    uint64_t samples = counters_get(&slot->samples);

    if (counters_get(&slot->minute) != minute || samples == 0) {
        return false;
    }
    point->load = (double)counters_get(&slot->load) / WHOLE / (double)samples;
    point->position = (double)counters_get(&slot->position) / WHOLE / (double)samples;
    point->saved = (double)(int64_t)counters_get(&slot->saved);
    return true;
}

void el_history_begin(el_history_t *history, uint64_t day, const uint64_t counts[EL_PAST_COUNTS])
{
    uint64_t last = atomic_exchange(&history->day, day);

    for (int i = 0; last != 0 && last != day && i < EL_PAST_COUNTS; i++) {
        el_count_add(&history->before[i], counts[i]);
    }
}
