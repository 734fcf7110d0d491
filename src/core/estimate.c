#include "elastic/estimate.h"

#include <math.h>
#include <stdbool.h>

/* So many standard deviations from what is expected noise explains. */
#define SURPRISE 2.
/* By so much a surprise makes the parts' variances larger. */
#define DOUBT 1.5

/*
 * A word: the value in 24 bits, as a fraction of 2^16; what was learned in 16 bits, as a fraction
 * of 2^6; the second of the last measurement in 24 bits. What was learned is by how much the
 * variance's inverse is above that without measurements, in units of a measurement's: measurements
 * of a part that has its estimate for itself count one each.
 */
#define VALUE_ONE 65536.
#define VALUE_MAX 127.
#define LEARNED_ONE 64.
#define LEARNED_MAX 1023.
#define LEARNED_SHIFT 24
#define STAMP_SHIFT 40
#define LOW_24 ((UINT64_C(1) << 24) - 1)

/* Seconds by which another caller's clock may be ahead. */
#define AHEAD_MOST 60

/* A part as of now; its variance is in units of a measurement's. */
typedef struct {
    uint64_t word;
    double value;
    double variance;
    double most; /* the variance without measurements */
} part_t;

/* Seconds from the word's last measurement to `now`; 0 where another caller's clock is ahead. */
static uint32_t age_of(uint64_t word, uint32_t now)
{
    uint32_t age = (uint32_t)((now - (word >> STAMP_SHIFT)) & LOW_24);

    return age < LOW_24 - AHEAD_MOST ? age : 0;
}

/* The word's value: 24 bits with a sign. */
static double value_of(uint64_t word)
{
    return ((double)((word & LOW_24) ^ 1u << 23) - (1u << 23)) / VALUE_ONE;
}

static part_t load(const _Atomic uint64_t *words, const el_estimate_t *estimate, size_t i,
                   uint32_t now)
{
    double most = estimate->spread[i] * estimate->spread[i] / estimate->noise / estimate->noise;
    part_t part = {.word = atomic_load_explicit(&words[estimate->word[i]], memory_order_relaxed),
                   .most = most};
    double left = exp(-(double)age_of(part.word, now) / EL_ESTIMATE_FADE);
    double learned = (double)(part.word >> LEARNED_SHIFT & 0xffff) / LEARNED_ONE;

    part.value = value_of(part.word) * left;
    part.variance = most - (most - 1 / (learned + 1 / most)) * left * left;
    return part;
}

/* Not where another one has written since the load. */
static void store(_Atomic uint64_t *word, const part_t *part, uint32_t now)
{
    double value = fmin(VALUE_MAX, fmax(-VALUE_MAX, part->value));
    double learned = fmin(LEARNED_MAX, fmax(0, 1 / part->variance - 1 / part->most));
    uint64_t before = part->word;
    uint64_t after = ((uint64_t)(int64_t)round(value * VALUE_ONE) & LOW_24)
                     | (uint64_t)round(learned * LEARNED_ONE) << LEARNED_SHIFT
                     | (now & LOW_24) << STAMP_SHIFT;

    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

double el_estimate_value(const _Atomic uint64_t *words, const el_estimate_t *estimate,
                         uint32_t now)
{
    double value = 0;

    for (size_t i = 0; i < estimate->count; i++) {
        value += load(words, estimate, i, now).value;
    }
    return value;
}

void el_estimate_learn(_Atomic uint64_t *words, const el_estimate_t *estimate, double measured,
                       uint32_t now)
{
    part_t parts[EL_ESTIMATE_PARTS];
    double off = measured, variance = 1, most;
    bool surprise;

    for (size_t i = 0; i < estimate->count; i++) {
        parts[i] = load(words, estimate, i, now);
        off -= parts[i].value;
        variance += parts[i].variance;
    }
    most = SURPRISE * estimate->noise * sqrt(variance);
    surprise = fabs(off) > most;
    off = fmin(most, fmax(-most, off));
    for (size_t i = 0; i < estimate->count; i++) {
        part_t *part = &parts[i];
        double gain = part->variance / variance;

        part->value += gain * off;
        part->variance = surprise ? fmin(part->most, part->variance * DOUBT)
                                  : part->variance * (1 - gain);
        store(&words[estimate->word[i]], part, now);
    }
}

uint32_t el_estimate_age(const _Atomic uint64_t *word, uint32_t now)
{
    uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

    return value ? age_of(value, now) : UINT32_MAX;
}
