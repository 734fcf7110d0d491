#include "elastic/cost.h"

#include "running.h"

#include <stdbool.h>

/*
 * A correction is one word, so that it is read and written as one: both factors as fractions of
 * 4096, the weight (how many measurements it stands for), and when the last one came.
 */
#define ONE 4096u
#define FACTOR_BITS 20
#define FACTOR_MAX ((1u << FACTOR_BITS) - 1)
#define WEIGHT_SHIFT 40
#define STAMP_SHIFT 48

/* How far the first measurement, which has only the table to be compared with, may be from it. */
#define OUTLIER_FIRST 16

typedef struct {
    uint32_t time, size; /* factors */
    uint32_t weight;
    uint16_t stamp;
} correction_t;

static correction_t unpack(uint64_t word, uint16_t now)
{
    correction_t c = {
        .time = (uint32_t)(word & FACTOR_MAX),
        .size = (uint32_t)(word >> FACTOR_BITS & FACTOR_MAX),
        .weight = (uint32_t)(word >> WEIGHT_SHIFT & 0xff),
        .stamp = (uint16_t)(word >> STAMP_SHIFT),
    };

    c.weight = el_running_weight(c.weight, c.stamp, now);
    return c;
}

static uint64_t pack(correction_t c)
{
    return (uint64_t)c.time | (uint64_t)c.size << FACTOR_BITS | (uint64_t)c.weight << WEIGHT_SHIFT
           | (uint64_t)c.stamp << STAMP_SHIFT;
}

static uint32_t first(uint64_t factor)
{
    return el_running_bounded(factor, ONE / OUTLIER_FIRST, ONE * OUTLIER_FIRST);
}

/* The factors of a word after one more measurement. */
static correction_t taught(uint64_t word, uint64_t time, uint64_t size, uint16_t now)
{
    correction_t c = unpack(word, now);

    if (c.weight == 0) {
        c.time = first(time);
        c.size = first(size);
        c.weight = 1;
    } else {
        c.weight += c.weight < EL_RUNNING_WEIGHT_MAX;
        c.time = el_mean_update(c.time, time, c.weight, FACTOR_MAX);
        c.size = el_mean_update(c.size, size, c.weight, FACTOR_MAX);
    }
    c.stamp = now;
    return c;
}

static void learn(_Atomic uint64_t *word, uint64_t time, uint64_t size, uint16_t now)
{
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed);

    atomic_compare_exchange_strong_explicit(word, &before,
                                            pack(taught(before, time, size, now)),
                                            memory_order_relaxed, memory_order_relaxed);
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
        correction_t c =
            unpack(atomic_load_explicit(&costs->coding[i], memory_order_relaxed), now);

        if (c.weight > 0) {
            insert(times, count++, c.time);
        }
    }
    return count ? times[(count - 1) / 2] : ONE;
}

/* The bytes that a body leaves depend on the body: of them the site's mean tells more. */
static void learn_site(el_costs_t *costs, uint64_t size, uint16_t now)
{
    uint64_t before = atomic_load_explicit(&costs->site, memory_order_relaxed);
    correction_t site = taught(before, ONE, size, now);

    site.time = speed_of(costs, now);
    atomic_compare_exchange_strong_explicit(&costs->site, &before, pack(site),
                                            memory_order_relaxed, memory_order_relaxed);
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

static bool is_setup(el_coding_t coding, int level, unsigned size_class)
{
    return (unsigned)coding < EL_CODINGS && level >= 0 && level < EL_COST_LEVELS
           && size_class < EL_SIZE_CLASSES;
}

void el_cost_update(el_costs_t *costs, el_coding_t coding, int level, unsigned size_class,
                    el_cost_t known, el_cost_t measured, uint32_t now)
{
    uint16_t stamp = el_running_stamp(now);
    uint64_t time, size;

    if (!is_setup(coding, level, size_class) || !known.nsec || !known.size) {
        return;
    }
    time = (uint64_t)measured.nsec * ONE / known.nsec;
    size = (uint64_t)measured.size * ONE / known.size;
    learn(&costs->coding[coding], time, size, stamp);
    learn(&costs->setup[coding][level][size_class], time, size, stamp);
    learn_site(costs, size, stamp);
}

/* Two factors, by the weight of the second: of the whole, and of a part of it. */
static uint32_t blend(uint32_t whole, uint32_t part, uint32_t weight)
{
    uint32_t even = EL_RUNNING_WEIGHT_EVEN;

    return (uint32_t)(((uint64_t)whole * even + (uint64_t)part * weight) / (even + weight));
}

static uint32_t corrected(uint32_t known, uint64_t factor)
{
    uint64_t value = known * factor / ONE;

    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

el_cost_t el_cost_expect(const el_costs_t *costs, el_coding_t coding, int level,
                         unsigned size_class, el_cost_t known, uint32_t now)
{
    uint16_t stamp = el_running_stamp(now);
    correction_t site, engine, own;

    if (!is_setup(coding, level, size_class)) {
        return known;
    }
    site = unpack(atomic_load_explicit(&costs->site, memory_order_relaxed), stamp);
    engine = unpack(atomic_load_explicit(&costs->coding[coding], memory_order_relaxed), stamp);
    own = unpack(atomic_load_explicit(&costs->setup[coding][level][size_class],
                                      memory_order_relaxed), stamp);
    if (site.weight == 0) {
        site.time = site.size = ONE;
    }
    engine.time = blend(site.time, engine.time, engine.weight);
    return (el_cost_t){
        .nsec = corrected(known.nsec, blend(engine.time, own.time, own.weight)),
        .size = corrected(known.size, blend(site.size, own.size, own.weight)),
    };
}

unsigned el_cost_weight(const el_costs_t *costs, el_coding_t coding, int level,
                        unsigned size_class, uint32_t now)
{
    uint64_t word;

    if (!is_setup(coding, level, size_class)) {
        return 0;
    }
    word = atomic_load_explicit(&costs->setup[coding][level][size_class], memory_order_relaxed);
    return unpack(word, el_running_stamp(now)).weight;
}

double el_cost_slowness(const el_costs_t *costs, uint32_t now)
{
    correction_t site = unpack(atomic_load_explicit(&costs->site, memory_order_relaxed),
                               el_running_stamp(now));

    return site.weight ? (double)site.time / ONE : 1;
}

uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes)
{
    double nsec = nbytes ? (double)usec * 1000 * 1024 / (double)nbytes : UINT32_MAX;

    return nsec < UINT32_MAX ? (uint32_t)nsec : UINT32_MAX;
}

void el_cost_reset(el_costs_t *costs)
{
    atomic_store(&costs->site, 0);
    for (unsigned c = 0; c < EL_CODINGS; c++) {
        atomic_store(&costs->coding[c], 0);
        for (unsigned l = 0; l < EL_COST_LEVELS; l++) {
            for (unsigned s = 0; s < EL_SIZE_CLASSES; s++) {
                atomic_store(&costs->setup[c][l][s], 0);
            }
        }
    }
}
