#include "elastic/cost.h"

#include <math.h>
#include <stdbool.h>

/*
 * Gains of the means. The machine's and its coding's together follow a change within half a minute where
 * a site is measured once a second; a setup's own is what is left on average over some fifty
 * measurements. Of sizes, how well a coding suits the content shows sooner than a setup's time, because
 * bodies of one length differ more than codings do. In the simulation (tests/sim/learning.c) other gains,
 * and more means, change what is lost by less than 1 %.
 */
#define MACHINE_GAIN 0.1
#define CODING_GAIN 0.06
#define SETUP_GAIN 0.02
#define LENGTH_GAIN 0.1
#define FIT_GAIN 0.03

/*
 * The time of a difference, of that without a dictionary: where nothing is left, and what is added
 * where all is. By libzstd 1.5.4, levels 1 to 9: 0.11 to 0.25 for a page that was edited, 0.9 to 1.5
 * for pages of which 0.8 to 1 is left.
 */
#define DIFFERENCE_LEAST 0.125
#define DIFFERENCE_OWN 1.125

/* Beyond what any engine and body can be, so that a logarithm is a number. */
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

static bool is_setup(el_cost_key_t key)
{
    return (unsigned)key.coding < EL_ALL_CODINGS && key.level >= 0 && key.level < EL_COST_LEVELS
           && key.size_class < EL_SIZE_CLASSES;
}

static size_t index_of(el_cost_key_t key)
{
    return ((size_t)key.coding * EL_COST_LEVELS + (size_t)key.level) * EL_SIZE_CLASSES
           + key.size_class;
}

static el_estimate_t time_of(el_cost_key_t key)
{
    return (el_estimate_t){
        .count = 3,
        .word = {EL_COST_MACHINE, EL_COST_CODING + (size_t)key.coding,
                 EL_COST_TIME + index_of(key)},
        .gain = {MACHINE_GAIN, CODING_GAIN, SETUP_GAIN},
    };
}

static el_estimate_t size_of(el_cost_key_t key)
{
    return (el_estimate_t){
        .count = 2,
        .word = {EL_COST_LENGTH + key.size_class,
                 EL_COST_FIT + (size_t)key.coding * EL_SIZE_CLASSES + key.size_class},
        .gain = {LENGTH_GAIN, FIT_GAIN},
    };
}

/* The logarithm of a factor. */
static double factor(uint32_t measured, uint32_t known)
{
    return log2(fmin(FACTOR_MOST, fmax(1 / FACTOR_MOST, (double)measured / known)));
}

void el_cost_update(el_costs_t *costs, el_cost_key_t key, el_cost_t known, el_cost_t measured,
                    uint32_t now)
{
    el_estimate_t time, size;

    if (!is_setup(key) || !known.nsec || !known.size) {
        return;
    }
    time = time_of(key);
    size = size_of(key);
    el_estimate_learn(costs->word, &time, factor(measured.nsec, known.nsec), now);
    if (!el_coding_is_difference(key.coding)) {
        el_estimate_learn(costs->word, &size, factor(measured.size, known.size), now);
    }
}

static uint32_t corrected(uint32_t known, double factor)
{
    return (uint32_t)fmin(UINT32_MAX, known * exp2(factor));
}

el_cost_t el_cost_expect(const el_costs_t *costs, el_cost_key_t key, el_cost_t known,
                         uint32_t now)
{
    el_estimate_t time, size;

    if (!is_setup(key)) {
        return known;
    }
    time = time_of(key);
    size = size_of(key);
    return (el_cost_t){
        .nsec = corrected(known.nsec, el_estimate_value(costs->word, &time, now)),
        .size = el_coding_is_difference(key.coding)
                    ? known.size
                    : corrected(known.size, el_estimate_value(costs->word, &size, now)),
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
    return is_setup(key) ? el_estimate_age(&costs->word[EL_COST_TIME + index_of(key)], now)
                         : UINT32_MAX;
}

double el_cost_slowness(const el_costs_t *costs, uint32_t now)
{
    return exp2(el_estimate_mean(&costs->word[EL_COST_MACHINE], now));
}

uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes)
{
    double nsec = nbytes ? (double)usec * 1000 * 1024 / (double)nbytes : UINT32_MAX;

    return nsec < UINT32_MAX ? (uint32_t)nsec : UINT32_MAX;
}
