#include "elastic/cost.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * An estimate tracks a drifting quantity from rare and noisy measurements. It is the sum of several
 * means, from one that many setups share to the setup's own. A measurement shows only the sum. The
 * more setups share a mean, the faster it follows: a slower machine shows for setups that are not
 * in use, too, and the differences between setups are learned over time.
 *
 * Without measurements a mean fades to 0. An outlier counts as the largest difference that noise
 * explains: a single one hardly matters, and a lasting change is followed within a few
 * measurements.
 *
 * Each mean is one word; if two writers meet, one measurement is lost.
 */

/* Means of an estimate at most; the one shared most comes first. */
#define MEANS 3

typedef struct {
    size_t count;
    size_t word[MEANS]; /* indexes into el_costs_t.word */
    double gain[MEANS]; /* part of a measurement's difference that each mean takes, 0 … 1 */
} estimate_t;

/*
 * Largest difference of a measurement, as a logarithm: half or twice the expectation. Bodies and
 * other work on the machine explain a third of that.
 */
#define OFF_MOST 1.

/*
 * A mean moves at least by these parts of a difference, divided by its number of measurements, so
 * that a new site is learned from a few.
 */
#define SHARED_FIRST 0.5
#define OWN_FIRST 0.1

/*
 * Factor for all but the first measurement in a second: a busy site must not follow noise faster
 * than real changes happen.
 */
#define SAME_SECOND 0.2

/*
 * A mean's word: the value in 24 bits, in units of 2^-16; the number of measurements in 16 bits;
 * the second of the last one in 24 bits.
 */
#define VALUE_ONE 65536.
#define VALUE_MAX 127.
#define COUNT_SHIFT 24
#define COUNT_MAX 0xffff
#define STAMP_SHIFT 40
#define LOW_24 ((UINT64_C(1) << 24) - 1)

/* Seconds by which the clock of another process may be ahead. */
#define AHEAD_MOST 60

/* Seconds from the word's last measurement to `now`; 0 if that process's clock is ahead. */
static uint32_t cost_age_of(uint64_t word, uint32_t now)
{
    uint32_t age = (uint32_t)((now - (word >> STAMP_SHIFT)) & LOW_24);

    return age < LOW_24 - AHEAD_MOST ? age : 0;
}

/* The part of a mean that has not faded. */
static double cost_left_of(uint64_t word, uint32_t now)
{
    return exp(-(double)cost_age_of(word, now) / EL_ESTIMATE_FADE);
}

/* The value: 24 bits with a sign. */
static double cost_value_of(uint64_t word)
{
    return ((double)((word & LOW_24) ^ 1u << 23) - (1u << 23)) / VALUE_ONE;
}

/* Moves a mean by a part of `off`. Does nothing if another writer was faster. */
static void cost_move(_Atomic uint64_t *word, double off, double first, double gain, uint32_t now)
{
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed), after;
    double left = cost_left_of(before, now);
    double count = fmin(COUNT_MAX, (double)(before >> COUNT_SHIFT & COUNT_MAX) * left + 1);
    double part = cost_age_of(before, now) > 0 ? gain : gain * SAME_SECOND;
    double value = cost_value_of(before) * left + fmax(part, first / count) * off;

    value = fmin(VALUE_MAX, fmax(-VALUE_MAX, value));
    after = ((uint64_t)(int64_t)round(value * VALUE_ONE) & LOW_24)
            | (uint64_t)round(count) << COUNT_SHIFT | (now & LOW_24) << STAMP_SHIFT;
    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

static double cost_mean_of(const _Atomic uint64_t *word, uint32_t now)
{
    uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

    return cost_value_of(value) * cost_left_of(value, now);
}

static double cost_sum_of(const _Atomic uint64_t *words, const estimate_t *estimate, uint32_t now)
{
    double value = 0;

    for (size_t i = 0; i < estimate->count; i++) {
        value += cost_mean_of(&words[estimate->word[i]], now);
    }
    return value;
}

/* Adds a measurement. */
static void cost_learn(_Atomic uint64_t *words, const estimate_t *estimate, double measured,
                       uint32_t now)
{
    double off = measured - cost_sum_of(words, estimate, now);

    off = fmin(OFF_MOST, fmax(-OFF_MOST, off));
    for (size_t i = 0; i < estimate->count; i++) {
        cost_move(&words[estimate->word[i]], off, i == 0 ? SHARED_FIRST : OWN_FIRST,
                  estimate->gain[i], now);
    }
}

/*
 * Gains of the means. With a measurement a second, the machine's and the coding's mean together
 * follow a change within half a minute; the setup's own mean averages about fifty measurements. For
 * sizes, the coding's mean follows faster than a setup's time does, because bodies of a length vary
 * more than codings do. In a model of a site, other gains and more means changed the loss by less
 * than 1 %.
 */
#define MACHINE_GAIN 0.1
#define CODING_GAIN 0.06
#define SETUP_GAIN 0.02
#define LENGTH_GAIN 0.1
#define FIT_GAIN 0.03

/*
 * Time of a dictionary-compressed body relative to that without a dictionary: the first factor if
 * nothing of the body is left, plus the second if all of it is. Measured with libzstd 1.5.4 at
 * levels 1 to 9: 0.11 to 0.25 for an edited page, 0.9 to 1.5 for pages of which 0.8 to 1 is left.
 */
#define DIFFERENCE_LEAST 0.125
#define DIFFERENCE_OWN 1.125

/* Bounds a factor, so that its logarithm is finite; no engine comes near. */
#define FACTOR_MOST 65536.

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

/*
 * ns by which encoding a body in a server takes longer than the tables say. The tables were
 * measured in a loop, but in a server other work has filled the caches. The largest class adds no
 * more than the one before: its bodies fill the caches themselves.
 */
static const uint32_t start_nsec[EL_SIZE_CLASSES] = {12000, 20000, 28000, 40000, 40000};

el_cost_t el_cost_in_server(el_cost_t known, uint64_t nbytes)
{
    unsigned size_class = el_cost_class(nbytes);
    double kbytes = (double)(nbytes ? nbytes : EL_COST_UNKNOWN_LENGTH) / 1024;

    known.nsec += (uint32_t)(start_nsec[size_class] / fmax(1, kbytes));
    return known;
}

static bool cost_is_setup(el_cost_key_t key)
{
    return (unsigned)key.coding < EL_ALL_CODINGS && key.level >= 0 && key.level < EL_COST_LEVELS
           && key.size_class < EL_SIZE_CLASSES;
}

static size_t cost_index_of(el_cost_key_t key)
{
    return ((size_t)key.coding * EL_COST_LEVELS + (size_t)key.level) * EL_SIZE_CLASSES
           + key.size_class;
}

static estimate_t cost_time_of(el_cost_key_t key)
{
    return (estimate_t){
        .count = 3,
        .word = {EL_COST_MACHINE, EL_COST_CODING + (size_t)key.coding,
                 EL_COST_TIME + cost_index_of(key)},
        .gain = {MACHINE_GAIN, CODING_GAIN, SETUP_GAIN},
    };
}

static estimate_t cost_size_of(el_cost_key_t key)
{
    return (estimate_t){
        .count = 2,
        .word = {EL_COST_LENGTH + key.size_class,
                 EL_COST_FIT + (size_t)key.coding * EL_SIZE_CLASSES + key.size_class},
        .gain = {LENGTH_GAIN, FIT_GAIN},
    };
}

static double cost_factor(uint32_t measured, uint32_t known)
{
    return log2(fmin(FACTOR_MOST, fmax(1 / FACTOR_MOST, (double)measured / known)));
}

void el_cost_update(el_costs_t *costs, el_cost_key_t key, el_cost_t known, el_cost_t measured,
                    uint32_t now)
{
    estimate_t time, size;

    if (!cost_is_setup(key) || !known.nsec || !known.size) {
        return;
    }
    time = cost_time_of(key);
    size = cost_size_of(key);
    cost_learn(costs->word, &time, cost_factor(measured.nsec, known.nsec), now);
    if (!el_coding_needs_dictionary(key.coding)) {
        cost_learn(costs->word, &size, cost_factor(measured.size, known.size), now);
    }
}

static uint32_t cost_corrected(uint32_t known, double factor)
{
    return (uint32_t)fmin(UINT32_MAX, known * exp2(factor));
}

el_cost_t el_cost_expect(const el_costs_t *costs, el_cost_key_t key, el_cost_t known,
                         uint32_t now)
{
    estimate_t time, size;

    if (!cost_is_setup(key)) {
        return known;
    }
    time = cost_time_of(key);
    size = cost_size_of(key);
    return (el_cost_t){
        .nsec = cost_corrected(known.nsec, cost_sum_of(costs->word, &time, now)),
        .size = el_coding_needs_dictionary(key.coding)
                    ? known.size
                    : cost_corrected(known.size, cost_sum_of(costs->word, &size, now)),
    };
}

el_cost_t el_cost_differ(el_cost_t plain, uint32_t own)
{
    double part = own / 10000.;

    return (el_cost_t){
        .nsec = (uint32_t)(plain.nsec * (DIFFERENCE_LEAST + DIFFERENCE_OWN * part)),
        .size = (uint32_t)(plain.size * part),
    };
}

uint32_t el_cost_age(const el_costs_t *costs, el_cost_key_t key, uint32_t now)
{
    uint64_t value = 0;

    if (cost_is_setup(key)) {
        value = atomic_load_explicit(&costs->word[EL_COST_TIME + cost_index_of(key)],
                                     memory_order_relaxed);
    }
    return value ? cost_age_of(value, now) : UINT32_MAX;
}

double el_cost_slowness(const el_costs_t *costs, uint32_t now)
{
    return exp2(cost_mean_of(&costs->word[EL_COST_MACHINE], now));
}

uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes)
{
    double nsec = nbytes ? (double)usec * 1000 * 1024 / (double)nbytes : UINT32_MAX;

    return nsec < UINT32_MAX ? (uint32_t)nsec : UINT32_MAX;
}
