#include "elastic/ladder.h"

#include "bytes.h"

#include <math.h>
#include <stdlib.h>

/*
 * Prices at the floor and at the ceiling, in ns of CPU time for a saved byte. By the built-in
 * costs, the bytes of the default bounds cost 10 to 1400; five eighths of the scale, where a server
 * starts, gives mod_deflate's sizes. docs/internals/engines.md has the figures. If the bounds of a
 * site leave only dearer setups, the scale follows them.
 */
#define PRICE_LOW 8.
#define PRICE_HIGH 1536.

unsigned el_ladder_top(const el_range_t *ranges)
{
    int widest = 0;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        int width = ranges[i].max - ranges[i].min;

        if (ranges[i].enabled && width > widest) {
            widest = width;
        }
    }
    return (unsigned)widest;
}

int el_ladder_level(el_range_t range, unsigned position, unsigned top)
{
    uint64_t width = (uint64_t)(range.max - range.min);

    if (position >= top) {
        return range.max;
    }
    /* In whole numbers: width × position / top + 1/2, rounded down. */
    return range.min + (int)((2 * width * position + top) / (2 * (uint64_t)top));
}

unsigned el_ladder_start(const el_range_t *ranges)
{
    el_range_t gzip = ranges[EL_GZIP];
    int stock = el_coding_info(EL_GZIP)->stock_level;
    unsigned top = el_ladder_top(ranges);
    unsigned best = top;

    if (!gzip.enabled || stock > gzip.max) {
        return top;
    }
    if (stock < gzip.min) {
        return 0;
    }
    for (unsigned p = top; p-- > 0;) {
        if (abs(el_ladder_level(gzip, p, top) - stock)
            < abs(el_ladder_level(gzip, best, top) - stock)) {
            best = p;
        }
    }
    return best;
}

/* ns of CPU time for each byte that `b` saves over `a`; `b` makes fewer. */
static double ladder_price_between(const el_rung_t *a, const el_rung_t *b)
{
    double saved = ((double)a->cost.size - (double)b->cost.size) / 10000 * 1024;

    return ((double)b->cost.nsec - (double)a->cost.nsec) / saved;
}

size_t el_ladder_bound(el_rung_t *rungs, size_t count, el_rung_t most)
{
    el_rung_t fewest = rungs[0];
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        fewest = rungs[i].cost.size < fewest.cost.size ? rungs[i] : fewest;
        if (rungs[i].cost.size <= most.cost.size
            || (rungs[i].coding == most.coding && rungs[i].level >= most.level)) {
            rungs[left++] = rungs[i];
        }
    }
    if (left == 0) {
        rungs[left++] = fewest;
    }
    return left;
}

size_t el_ladder_build(el_rung_t *rungs, size_t count)
{
    size_t left = 0;

    /* Insertion sort: setups come coding by coding in order of level, nearly sorted. */
    for (size_t i = 1; i < count; i++) {
        el_rung_t rung = rungs[i];
        size_t at = i;

        /* Less time first; with equal time, fewer bytes first. */
        for (; at > 0 && (rung.cost.nsec < rungs[at - 1].cost.nsec
                          || (rung.cost.nsec == rungs[at - 1].cost.nsec
                              && rung.cost.size < rungs[at - 1].cost.size)); at--) {
            rungs[at] = rungs[at - 1];
        }
        rungs[at] = rung;
    }
    for (size_t i = 0; i < count; i++) {
        el_rung_t rung = rungs[i];

        if (left > 0 && rung.cost.size >= rungs[left - 1].cost.size) {
            continue;
        }
        /* Prices must rise. If bytes get cheaper after a setup, it is never the best. */
        while (left > 1
               && ladder_price_between(&rungs[left - 2], &rungs[left - 1])
                      >= ladder_price_between(&rungs[left - 1], &rung)) {
            left--;
        }
        rungs[left++] = rung;
    }
    return left;
}

const el_rung_t *el_ladder_rung(const el_rung_t *rungs, size_t count, double price)
{
    size_t at = 0;

    while (at + 1 < count && ladder_price_between(&rungs[at], &rungs[at + 1]) <= price) {
        at++;
    }
    return &rungs[at];
}

double el_ladder_price(const el_rung_t *rungs, size_t count, unsigned position, unsigned top,
                       double slowness)
{
    double first, last, low, high;

    if (position >= top) {
        return INFINITY;
    }
    if (position == 0 || count == 1) {
        return 0;
    }
    first = ladder_price_between(&rungs[0], &rungs[1]) / slowness;
    last = ladder_price_between(&rungs[count - 2], &rungs[count - 1]) / slowness;
    low = first > PRICE_HIGH ? first : PRICE_LOW;
    high = last > PRICE_HIGH ? last : PRICE_HIGH;
    return low * pow(high / low, (double)position / top) * slowness;
}

double el_ladder_position(double price, unsigned top)
{
    double share = log(fmax(price, PRICE_LOW) / PRICE_LOW) / log(PRICE_HIGH / PRICE_LOW);

    return top * fmin(1, share);
}

const el_rung_t *el_ladder_within(const el_rung_t *rungs, const el_rung_t *rung, uint32_t most)
{
    while (rung > rungs && rung->cost.nsec > most) {
        rung--;
    }
    return rung;
}

/* Largest cost of a trial, relative to the setup in use. */
#define TRIAL_MOST 1.2

/* CPU time of a KB plus its bytes at the price. */
static double ladder_burden(el_cost_t cost, double price)
{
    return cost.nsec + price * cost.size / 10000 * 1024;
}

const el_rung_t *el_ladder_trial(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 el_cost_t used, double price)
{
    double most = TRIAL_MOST * ladder_burden(used, price);
    const el_rung_t *oldest = NULL;
    uint32_t age = EL_LADDER_TRIAL_AGE;

    for (size_t i = 0; i < count; i++) {
        if (ages[i] >= age && (!oldest || ages[i] > age)
            && ladder_burden(rungs[i].cost, price) <= most) {
            oldest = &rungs[i];
            age = ages[i];
        }
    }
    return oldest;
}
