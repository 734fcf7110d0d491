#include "elastic/cost.h"

#include <math.h>
#include <stdbool.h>

/*
 * Standard deviations, in powers of two. A machine takes half or twice as long as the table's, a
 * coding's engine 0.7 to 1.4 times what the machine lets expect. Measurements of one setup differ
 * by a fifth, from body to body and by what else the CPU does.
 */
#define TIME_NOISE 0.25
#define SPREAD_MACHINE 1.
#define SPREAD_CODING 0.5
#define SPREAD_TIME 0.35

/*
 * Bodies differ more than times do, and levels of one coding hardly in what they save of one: less
 * than neighbouring levels are apart, so that chance does not change their order.
 */
#define SIZE_NOISE 0.35
#define SPREAD_SITE 0.7
#define SPREAD_LENGTH 0.5
#define SPREAD_FIT 0.15
#define SPREAD_SIZE 0.02

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
        .spread = {SPREAD_MACHINE, SPREAD_CODING, SPREAD_TIME},
        .noise = TIME_NOISE,
    };
}

static el_estimate_t size_of(el_cost_key_t key)
{
    return (el_estimate_t){
        .count = 4,
        .word = {EL_COST_SITE, EL_COST_LENGTH + key.size_class,
                 EL_COST_FIT + (size_t)key.coding * EL_SIZE_CLASSES + key.size_class,
                 EL_COST_SIZE + index_of(key)},
        .spread = {SPREAD_SITE, SPREAD_LENGTH, SPREAD_FIT, SPREAD_SIZE},
        .noise = SIZE_NOISE,
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
    el_estimate_t machine = time_of((el_cost_key_t){.coding = EL_GZIP});

    machine.count = 1;
    return exp2(el_estimate_value(costs->word, &machine, now));
}

uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes)
{
    double nsec = nbytes ? (double)usec * 1000 * 1024 / (double)nbytes : UINT32_MAX;

    return nsec < UINT32_MAX ? (uint32_t)nsec : UINT32_MAX;
}

void el_cost_reset(el_costs_t *costs)
{
    for (size_t i = 0; i < EL_COST_WORDS; i++) {
        atomic_store(&costs->word[i], 0);
    }
}
