#include "elastic/cost.h"

#include "weighted_mean.h"

#include <stdbool.h>

/*
 * A correction is a weighted mean of two factors, as fractions of 4096, so that they are read and
 * written as one: of the time in the low 20 bits, of the size in those above.
 */
#define ONE 4096u
#define FACTOR_BITS 20
#define FACTOR_MAX ((1u << FACTOR_BITS) - 1)

/* How far the first measurement, which has only the table to be compared with, may be from it. */
#define OUTLIER_FIRST 16

_Static_assert(2 * FACTOR_BITS <= EL_MEAN_WEIGHT_SHIFT, "two factors fit a mean's value");

typedef struct {
    uint32_t time, size; /* factors */
    uint32_t weight;
} correction_t;

static correction_t correction_of(el_mean_t mean)
{
    return (correction_t){
        .time = (uint32_t)(mean.value & FACTOR_MAX),
        .size = (uint32_t)(mean.value >> FACTOR_BITS),
        .weight = mean.weight,
    };
}

static correction_t load(const _Atomic uint64_t *word, uint16_t now)
{
    return correction_of(el_mean_load(word, now));
}

static uint32_t first(uint64_t factor)
{
    return el_mean_bounded(factor, ONE / OUTLIER_FIRST, ONE * OUTLIER_FIRST);
}

/* `c` after one more measurement. */
static correction_t updated(correction_t c, uint64_t time, uint64_t size)
{
    if (c.weight == 0) {
        return (correction_t){first(time), first(size), 1};
    }
    c.weight = el_mean_more(c.weight);
    c.time = el_mean_update(c.time, time, c.weight, FACTOR_MAX);
    c.size = el_mean_update(c.size, size, c.weight, FACTOR_MAX);
    return c;
}

static void store(_Atomic uint64_t *word, uint64_t before, correction_t c, uint16_t now)
{
    uint64_t value = (uint64_t)c.time | (uint64_t)c.size << FACTOR_BITS;

    el_mean_store(word, before, (el_mean_t){value, c.weight}, now);
}

static void update(_Atomic uint64_t *word, uint64_t time, uint64_t size, uint16_t now)
{
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed);

    store(word, before, updated(correction_of(el_mean_unpack(before, now)), time, size), now);
}

/* Puts `value` among the first `count` of `sorted`, which rise. */
static void insert(uint32_t *sorted, unsigned count, uint32_t value)
{
    for (; count > 0 && sorted[count - 1] > value; count--) {
        sorted[count] = sorted[count - 1];
    }
    sorted[count] = value;
}

/*
 * The machine's speed: the middle one of the codings' factors, the lower of two. A mean would take
 * one slow engine for a slow machine, on which the others would be no better.
 */
static uint32_t speed_of(const el_costs_t *costs, uint16_t now)
{
    uint32_t times[EL_CODINGS];
    unsigned count = 0;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        correction_t c = load(&costs->coding[i], now);

        if (c.weight > 0) {
            insert(times, count++, c.time);
        }
    }
    return count ? times[(count - 1) / 2] : ONE;
}

/* How many bytes are left of a body depends on the body: for them the site's mean counts. */
static void update_site(el_costs_t *costs, uint64_t size, uint16_t now)
{
    uint64_t before = atomic_load_explicit(&costs->site, memory_order_relaxed);
    correction_t site = updated(correction_of(el_mean_unpack(before, now)), ONE, size);

    site.time = speed_of(costs, now);
    store(&costs->site, before, site, now);
}

unsigned el_cost_class(uint64_t nbytes)
{
    unsigned size_class = 0;

    if (nbytes == 0) {
        return EL_SIZE_CLASSES - 2;
    }
    for (uint64_t top = 2048; size_class < EL_SIZE_CLASSES - 1 && nbytes > top; top *= 4) {
        size_class++;
    }
    return size_class;
}

static bool is_setup(el_cost_key_t key)
{
    return (unsigned)key.coding < EL_CODINGS && key.level >= 0 && key.level < EL_COST_LEVELS
           && key.size_class < EL_SIZE_CLASSES;
}

void el_cost_update(el_costs_t *costs, el_cost_key_t key, el_cost_t known, el_cost_t measured,
                    uint32_t now)
{
    uint16_t stamp = el_mean_stamp(now);
    uint64_t time, size;

    if (!is_setup(key) || !known.nsec || !known.size) {
        return;
    }
    time = (uint64_t)measured.nsec * ONE / known.nsec;
    size = (uint64_t)measured.size * ONE / known.size;
    update(&costs->coding[key.coding], time, size, stamp);
    update(&costs->setup[key.coding][key.level][key.size_class], time, size, stamp);
    update_site(costs, size, stamp);
}

/* The mean of two factors, of the whole and of a part of it, by the weight of the latter. */
static uint32_t weighted(uint32_t whole, uint32_t part, uint32_t weight)
{
    uint32_t even = EL_MEAN_WEIGHT_EVEN;

    return (uint32_t)(((uint64_t)whole * even + (uint64_t)part * weight) / (even + weight));
}

static uint32_t corrected(uint32_t known, uint64_t factor)
{
    uint64_t value = known * factor / ONE;

    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

el_cost_t el_cost_expect(const el_costs_t *costs, el_cost_key_t key, el_cost_t known,
                         uint32_t now)
{
    uint16_t stamp = el_mean_stamp(now);
    correction_t site, engine, own;

    if (!is_setup(key)) {
        return known;
    }
    site = load(&costs->site, stamp);
    engine = load(&costs->coding[key.coding], stamp);
    own = load(&costs->setup[key.coding][key.level][key.size_class], stamp);
    if (site.weight == 0) {
        site.time = site.size = ONE;
    }
    engine.time = weighted(site.time, engine.time, engine.weight);
    return (el_cost_t){
        .nsec = corrected(known.nsec, weighted(engine.time, own.time, own.weight)),
        .size = corrected(known.size, weighted(site.size, own.size, own.weight)),
    };
}

unsigned el_cost_weight(const el_costs_t *costs, el_cost_key_t key, uint32_t now)
{
    const _Atomic uint64_t *word;

    if (!is_setup(key)) {
        return 0;
    }
    word = &costs->setup[key.coding][key.level][key.size_class];
    return load(word, el_mean_stamp(now)).weight;
}

double el_cost_slowness(const el_costs_t *costs, uint32_t now)
{
    correction_t site = load(&costs->site, el_mean_stamp(now));

    return site.weight ? (double)site.time / ONE : 1;
}

uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes)
{
    double nsec = nbytes ? (double)usec * 1000 * 1024 / (double)nbytes : UINT32_MAX;

    return nsec < UINT32_MAX ? (uint32_t)nsec : UINT32_MAX;
}

void el_cost_reset(el_costs_t *costs)
{
    el_mean_reset(&costs->site, 1);
    el_mean_reset(costs->coding, EL_CODINGS);
    for (unsigned c = 0; c < EL_CODINGS; c++) {
        for (unsigned l = 0; l < EL_COST_LEVELS; l++) {
            el_mean_reset(costs->setup[c][l], EL_SIZE_CLASSES);
        }
    }
}
