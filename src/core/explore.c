#include "elastic/explore.h"

/* Adds to the credit, up to its most. */
static void add(el_explore_t *explore, int64_t nsec)
{
    int64_t before = atomic_load_explicit(&explore->credit, memory_order_relaxed);
    int64_t after;

    do {
        after = before + nsec < EL_EXPLORE_MOST ? before + nsec : EL_EXPLORE_MOST;
    } while (!atomic_compare_exchange_weak_explicit(&explore->credit, &before, after,
                                                    memory_order_relaxed, memory_order_relaxed));
}

void el_explore_earn(el_explore_t *explore, uint64_t nsec)
{
    add(explore, (int64_t)(nsec / EL_EXPLORE_PART));
}

bool el_explore_claim(el_explore_t *explore, uint64_t nsec)
{
    int64_t before = atomic_load_explicit(&explore->credit, memory_order_relaxed);

    do {
        if (nsec > EL_EXPLORE_MOST || before < (int64_t)nsec) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&explore->credit, &before,
                                                    before - (int64_t)nsec, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void el_explore_settle(el_explore_t *explore, uint64_t claimed, uint64_t nsec)
{
    add(explore, (int64_t)claimed - (int64_t)nsec);
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

void el_explore_reset(el_explore_t *explore)
{
    atomic_store(&explore->credit, 0);
}
