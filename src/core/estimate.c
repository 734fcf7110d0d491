#include "elastic/estimate.h"

#include <math.h>

/*
 * A measurement counts as at most so far off: as half or twice of what was expected, since estimates
 * are logarithms. Bodies and other work explain a third of that.
 */
#define OFF_MOST 1.

/*
 * The first measurements move a mean by these parts of their difference, divided by how many there
 * were: a new site is known after some of them.
 */
#define SHARED_FIRST 0.5
#define OWN_FIRST 0.1

/*
 * Of several measurements in a second, all but the first move a mean by a fifth: a busy site is not
 * to follow noise faster than a change can come.
 */
#define SAME_SECOND 0.2

/*
 * A word: the value in 24 bits, as a fraction of 2^16; the number of measurements in 16 bits; the
 * second of the last one in 24 bits.
 */
#define VALUE_ONE 65536.
#define VALUE_MAX 127.
#define COUNT_SHIFT 24
#define COUNT_MAX 0xffff
#define STAMP_SHIFT 40
#define LOW_24 ((UINT64_C(1) << 24) - 1)

/* Seconds by which another caller's clock may be ahead. */
#define AHEAD_MOST 60

/* Seconds from the word's last measurement to `now`; 0 where another caller's clock is ahead. */
static uint32_t age_of(uint64_t word, uint32_t now)
{
    uint32_t age = (uint32_t)((now - (word >> STAMP_SHIFT)) & LOW_24);

    return age < LOW_24 - AHEAD_MOST ? age : 0;
}

/* The part that is left of what was learned. */
static double left_of(uint64_t word, uint32_t now)
{
    return exp(-(double)age_of(word, now) / EL_ESTIMATE_FADE);
}

/* The word's value: 24 bits with a sign. */
static double value_of(uint64_t word)
{
    return ((double)((word & LOW_24) ^ 1u << 23) - (1u << 23)) / VALUE_ONE;
}

/* Moves a mean by a part of `off`; not where another caller has written meanwhile. */
static void move(_Atomic uint64_t *word, double off, double first, double gain, uint32_t now)
{
    uint64_t before = atomic_load_explicit(word, memory_order_relaxed), after;
    double left = left_of(before, now);
    double count = fmin(COUNT_MAX, (double)(before >> COUNT_SHIFT & COUNT_MAX) * left + 1);
    double part = age_of(before, now) > 0 ? gain : gain * SAME_SECOND;
    double value = value_of(before) * left + fmax(part, first / count) * off;

    value = fmin(VALUE_MAX, fmax(-VALUE_MAX, value));
    after = ((uint64_t)(int64_t)round(value * VALUE_ONE) & LOW_24)
            | (uint64_t)count << COUNT_SHIFT | (now & LOW_24) << STAMP_SHIFT;
    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

double el_estimate_mean(const _Atomic uint64_t *word, uint32_t now)
{
    uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

    return value_of(value) * left_of(value, now);
}

double el_estimate_value(const _Atomic uint64_t *words, const el_estimate_t *estimate,
                         uint32_t now)
{
    double value = 0;

    for (size_t i = 0; i < estimate->count; i++) {
        value += el_estimate_mean(&words[estimate->word[i]], now);
    }
    return value;
}

void el_estimate_learn(_Atomic uint64_t *words, const el_estimate_t *estimate, double measured,
                       uint32_t now)
{
    double off = measured - el_estimate_value(words, estimate, now);

    off = fmin(OFF_MOST, fmax(-OFF_MOST, off));
    for (size_t i = 0; i < estimate->count; i++) {
        move(&words[estimate->word[i]], off, i == 0 ? SHARED_FIRST : OWN_FIRST, estimate->gain[i],
             now);
    }
}

uint32_t el_estimate_age(const _Atomic uint64_t *word, uint32_t now)
{
    uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

    return value ? age_of(value, now) : UINT32_MAX;
}
