#include "elastic/ratio.h"

#include "bytes.h"

#define WHOLE 10000

/* A body that a coding makes longer counts as one that it made no more than twice as long. */
#define RATIO_MAX (2 * WHOLE)

/*
 * A key's mean is one word, so that it is read and written as one: in 16 bits the ratio, in 24 a
 * tag of the key, in 8 the weight, which is the number of bodies that it was made of, and in 16
 * the time of the last one. Zeroed memory has no weight.
 */
#define RATIO_BITS 16
#define TAG_BITS 24
#define TAG_SHIFT (32 - TAG_BITS) /* of the hash: what is below finds the place */
#define WEIGHT_SHIFT (RATIO_BITS + TAG_BITS)
#define STAMP_SHIFT (WEIGHT_SHIFT + 8)

_Static_assert(RATIO_MAX < 1 << RATIO_BITS, "a ratio has sixteen bits");
_Static_assert(EL_RATIO_PLACES <= 1 << TAG_SHIFT, "place and tag together are the hash");

/* Times count in units of 16 s: sixteen bits of them last for twelve days. */
#define STAMP_UNIT 16

/* Units by which the clock of another caller may be ahead. */
#define AHEAD_MOST 4

/*
 * A weight halves in a quarter of an hour: long enough for a mean, short enough for a site's day.
 */
#define HALF_LIFE (900 / STAMP_UNIT)

/* The largest weight: a later body counts as one of so many. */
#define WEIGHT_MAX 64

/* A ratio beyond so many times the mean, or below this part of it, counts as if it were there. */
#define OUTLIER 2

typedef struct {
    uint32_t ratio; /* encoded bytes, in ten-thousandths of the body's */
    uint32_t tag;
    uint32_t weight; /* as of now */
} entry_t;

/* `now` in seconds, as the words have it. */
static uint16_t stamp_of(uint32_t now)
{
    return (uint16_t)(now / STAMP_UNIT);
}

static entry_t unpack(uint64_t word, uint16_t now)
{
    uint16_t age = (uint16_t)(now - (word >> STAMP_SHIFT));
    unsigned halvings = age < UINT16_MAX - AHEAD_MOST ? age / HALF_LIFE : 0;
    uint32_t weight = (uint32_t)(word >> WEIGHT_SHIFT & 0xff);

    return (entry_t){
        .ratio = (uint32_t)(word & ((1u << RATIO_BITS) - 1)),
        .tag = (uint32_t)(word >> RATIO_BITS & ((1u << TAG_BITS) - 1)),
        .weight = halvings < 8 ? weight >> halvings : 0,
    };
}

static entry_t load(const _Atomic uint64_t *word, uint16_t now)
{
    return unpack(atomic_load_explicit(word, memory_order_relaxed), now);
}

/* Puts `e` in place of what was `before`; not where another one has written since. */
static void store(_Atomic uint64_t *word, uint64_t before, entry_t e, uint16_t now)
{
    uint64_t after = e.ratio | (uint64_t)e.tag << RATIO_BITS | (uint64_t)e.weight << WEIGHT_SHIFT
                     | (uint64_t)now << STAMP_SHIFT;

    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

static uint32_t bounded(int64_t value, int64_t low, int64_t high)
{
    return (uint32_t)(value < low ? low : value > high ? high : value);
}

/* The mean `e` after one more body. */
static entry_t updated(entry_t e, uint32_t ratio)
{
    int64_t mean = e.ratio;
    int64_t step = bounded(ratio, mean / OUTLIER, mean * OUTLIER) - mean;

    e.weight = e.weight < WEIGHT_MAX ? e.weight + 1 : e.weight;
    e.ratio = bounded(mean + step / (int64_t)e.weight, 1, RATIO_MAX);
    return e;
}

/* The ways of the place that `key` shares with others. */
static unsigned place_of(uint32_t key)
{
    return key % EL_RATIO_PLACES;
}

/* The way that `key` has; where it has none, the one with the least weight. */
static unsigned way_of(const el_ratios_t *ratios, uint32_t key, uint16_t now)
{
    unsigned lightest = 0;
    uint32_t least = UINT32_MAX;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        entry_t e = load(&ratios->word[place_of(key)][way], now);

        if (e.weight > 0 && e.tag == key >> TAG_SHIFT) {
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

uint32_t el_ratio_key(const char *origin, unsigned kind, const char *text)
{
    uint64_t hash = el_hash_add(EL_HASH_START, kind);

    for (; *origin || *text; origin += *origin != 0) {
        hash = el_hash_add(hash, (unsigned char)(*origin ? *origin : *text++));
    }
    return (uint32_t)el_hash_mix(hash, 0) | 1u << 31;
}

void el_ratio_update(el_ratios_t *ratios, uint32_t key, uint64_t in, uint64_t out, uint32_t now)
{
    uint16_t stamp = stamp_of(now);
    uint32_t tag = key >> TAG_SHIFT;
    _Atomic uint64_t *word;
    uint64_t before;
    entry_t e;

    if (key == 0 || in < EL_RATIO_LEAST) {
        return;
    }
    word = &ratios->word[place_of(key)][way_of(ratios, key, stamp)];
    before = atomic_load_explicit(word, memory_order_relaxed);
    e = unpack(before, stamp);
    e = e.weight == 0 || e.tag != tag ? (entry_t){ratio_of(in, out), tag, 1}
                                      : updated(e, ratio_of(in, out));
    store(word, before, e, stamp);
}

uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t key, uint32_t least, uint32_t now)
{
    uint16_t stamp = stamp_of(now);
    entry_t e = load(&ratios->word[place_of(key)][way_of(ratios, key, stamp)], stamp);
    bool known = key != 0 && e.tag == key >> TAG_SHIFT && e.weight > 0;

    return known && e.weight >= least ? e.ratio : 0;
}
