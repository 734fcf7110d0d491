#include "elastic/ratio.h"

#include "running.h"

/*
 * Five hundredths saved. At the price that the ladder pays for a byte where a server starts, some
 * 200 ns, they are worth 10 µs for each KB: about what gzip's stock level takes.
 */
#define WHOLE 10000
#define POOR 9500

/* A body that a coding makes longer counts as one that it made no more than twice as long. */
#define RATIO_MAX (2 * WHOLE)

/* A type's average is one word, so that it is read and written as one. */
#define TAG_SHIFT 8 /* of the hash: what is below finds the place */
#define WEIGHT_SHIFT 16
#define STAMP_SHIFT 24
#define TAG_AT 40

_Static_assert(RATIO_MAX < 1 << WEIGHT_SHIFT, "a ratio has sixteen bits");
_Static_assert(EL_RATIO_PLACES <= 1 << TAG_SHIFT, "place and tag together are the hash");

typedef struct {
    uint32_t ratio; /* encoded bytes, in ten-thousandths of the body's */
    uint32_t weight;
    uint16_t stamp;
    uint32_t tag;
} entry_t;

static entry_t unpack(uint64_t word, uint16_t now)
{
    entry_t e = {
        .ratio = (uint32_t)(word & 0xffff),
        .weight = (uint32_t)(word >> WEIGHT_SHIFT & 0xff),
        .stamp = (uint16_t)(word >> STAMP_SHIFT),
        .tag = (uint32_t)(word >> TAG_AT),
    };

    e.weight = el_running_weight(e.weight, e.stamp, now);
    return e;
}

static uint64_t pack(entry_t e)
{
    return (uint64_t)e.ratio | (uint64_t)e.weight << WEIGHT_SHIFT | (uint64_t)e.stamp << STAMP_SHIFT
           | (uint64_t)e.tag << TAG_AT;
}

static unsigned place_of(uint32_t type)
{
    return type % EL_RATIO_PLACES;
}

/* The way where `type` stands; where it does not, the one of which least is known. */
static unsigned way_of(const el_ratios_t *ratios, uint32_t type, uint16_t now)
{
    unsigned lightest = 0;
    uint32_t least = UINT32_MAX;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        entry_t e = unpack(atomic_load_explicit(&ratios->word[place_of(type)][way],
                                                memory_order_relaxed), now);

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
    uint16_t stamp = el_running_stamp(now);
    _Atomic uint64_t *word;
    uint64_t before;
    entry_t e;

    if (type == 0 || in < EL_RATIO_LEAST) {
        return;
    }
    word = &ratios->word[place_of(type)][way_of(ratios, type, stamp)];
    before = atomic_load_explicit(word, memory_order_relaxed);
    e = unpack(before, stamp);
    if (e.weight == 0 || e.tag != type >> TAG_SHIFT) {
        e = (entry_t){.ratio = ratio_of(in, out), .weight = 1, .tag = type >> TAG_SHIFT};
    } else {
        e.weight += e.weight < EL_RUNNING_WEIGHT_MAX;
        e.ratio = el_mean_update(e.ratio, ratio_of(in, out), e.weight, RATIO_MAX);
    }
    e.stamp = stamp;
    atomic_compare_exchange_strong_explicit(word, &before, pack(e), memory_order_relaxed,
                                            memory_order_relaxed);
}

bool el_ratio_poor(const el_ratios_t *ratios, uint32_t type, uint32_t now)
{
    uint16_t stamp = el_running_stamp(now);
    entry_t e;

    if (type == 0) {
        return false;
    }
    e = unpack(atomic_load_explicit(&ratios->word[place_of(type)][way_of(ratios, type, stamp)],
                                    memory_order_relaxed), stamp);
    return e.tag == type >> TAG_SHIFT && e.weight >= EL_RUNNING_WEIGHT_EVEN && e.ratio >= POOR;
}

void el_ratio_reset(el_ratios_t *ratios)
{
    for (unsigned place = 0; place < EL_RATIO_PLACES; place++) {
        for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
            atomic_store(&ratios->word[place][way], 0);
        }
    }
}
