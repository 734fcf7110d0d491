#include "elastic/ratio.h"

#include "weighted_mean.h"

/*
 * A twentieth saved. At the price that the ladder pays for a byte where a server starts, some 200
 * ns (ladder.c), that is worth 11 µs for each KB: what gzip takes at level 6, with libdeflate, for
 * pages of 32 to 128 KB (src/engines/costs.c).
 */
#define WHOLE 10000
#define POOR 9500

/* A body that a coding makes longer counts as one that it made no more than twice as long. */
#define RATIO_MAX (2 * WHOLE)

/* The value of a type's mean: the ratio in the low 16 bits, a tag of the type above. */
#define RATIO_BITS 16
#define TAG_SHIFT 8 /* of the hash: what is below finds the place */

_Static_assert(RATIO_MAX < 1 << RATIO_BITS, "a ratio has sixteen bits");
_Static_assert(RATIO_BITS + 32 - TAG_SHIFT <= EL_MEAN_WEIGHT_SHIFT, "both fit a mean's value");
_Static_assert(EL_RATIO_PLACES <= 1 << TAG_SHIFT, "place and tag together are the hash");

typedef struct {
    uint32_t ratio; /* encoded bytes, in ten-thousandths of the body's */
    uint32_t tag;
    uint32_t weight;
} entry_t;

static entry_t entry_of(el_mean_t mean)
{
    return (entry_t){
        .ratio = (uint32_t)(mean.value & ((1u << RATIO_BITS) - 1)),
        .tag = (uint32_t)(mean.value >> RATIO_BITS),
        .weight = mean.weight,
    };
}

/* The ways of the place that `type` shares with others. */
static unsigned place_of(uint32_t type)
{
    return type % EL_RATIO_PLACES;
}

/* The way that `type` has; where it has none, the one with the least weight. */
static unsigned way_of(const el_ratios_t *ratios, uint32_t type, uint16_t now)
{
    unsigned lightest = 0;
    uint32_t least = UINT32_MAX;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        entry_t e = entry_of(el_mean_load(&ratios->word[place_of(type)][way], now));

        if (e.weight > 0 && e.tag == type >> TAG_SHIFT) {
            return way;
        }
        if (e.weight < least) {
            least = e.weight;
            lightest = way;
        }
    }
    return lightest;
}

static uint32_t ratio_of(uint64_t in, uint64_t out)
{
    double ratio = (double)out * WHOLE / (double)in;

    return ratio < 1 ? 1 : ratio > RATIO_MAX ? RATIO_MAX : (uint32_t)ratio;
}

bool el_ratio_pays(uint64_t in, uint64_t out)
{
    return in > 0 && ratio_of(in, out) < POOR;
}

void el_ratio_update(el_ratios_t *ratios, uint32_t type, uint64_t in, uint64_t out, uint32_t now)
{
    uint16_t stamp = el_mean_stamp(now);
    uint32_t tag = type >> TAG_SHIFT;
    _Atomic uint64_t *word;
    uint64_t before;
    entry_t e;

    if (type == 0 || in < EL_RATIO_LEAST) {
        return;
    }
    word = &ratios->word[place_of(type)][way_of(ratios, type, stamp)];
    before = atomic_load_explicit(word, memory_order_relaxed);
    e = entry_of(el_mean_unpack(before, stamp));
    if (e.weight == 0 || e.tag != tag) {
        e.ratio = ratio_of(in, out);
        e.weight = 1;
    } else {
        e.weight = el_mean_more(e.weight);
        e.ratio = el_mean_update(e.ratio, ratio_of(in, out), e.weight, RATIO_MAX);
    }
    el_mean_store(word, before,
                  (el_mean_t){(uint64_t)e.ratio | (uint64_t)tag << RATIO_BITS, e.weight}, stamp);
}

bool el_ratio_poor(const el_ratios_t *ratios, uint32_t type, uint32_t now)
{
    uint16_t stamp = el_mean_stamp(now);
    entry_t e;

    if (type == 0) {
        return false;
    }
    e = entry_of(el_mean_load(&ratios->word[place_of(type)][way_of(ratios, type, stamp)], stamp));
    return e.tag == type >> TAG_SHIFT && e.weight >= EL_MEAN_WEIGHT_EVEN && e.ratio >= POOR;
}

void el_ratio_reset(el_ratios_t *ratios)
{
    for (unsigned place = 0; place < EL_RATIO_PLACES; place++) {
        el_mean_reset(ratios->word[place], EL_RATIO_WAYS);
    }
}
