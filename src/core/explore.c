#include "elastic/explore.h"

#include "bytes.h"

/* One part in so many of the encoding time is for exploring: a little less than a hundredth. */
#define PART 125

bool el_explore_is_due(uint32_t turn, double encoding, double nsec)
{
    return nsec <= EL_EXPLORE_MOST && el_spread(turn) * nsec * PART <= encoding * UINT32_MAX;
}

/* How many times as long the slower of two takes. */
static double distance(uint32_t one, uint32_t other)
{
    return one > other ? (double)one / other : (double)other / one;
}

const el_rung_t *el_explore_pick(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 uint32_t nsec)
{
    const el_rung_t *nearest = NULL;

    for (size_t i = 0; i < count; i++) {
        if (ages[i] >= EL_EXPLORE_AGE
            && (!nearest || distance(rungs[i].cost.nsec, nsec)
                                < distance(nearest->cost.nsec, nsec))) {
            nearest = &rungs[i];
        }
    }
    return nearest;
}
