/* Shared by the tests of the controller in models: random numbers, the same in each run. */
#ifndef ELASTIC_TESTS_SIM_H
#define ELASTIC_TESTS_SIM_H

#include "../unit/suites.h"

#include <math.h>

/* From a seed other than 0 (xorshift64): above 0 up to 1, and normal. */
static inline double sim_even(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)((*seed >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

static inline double sim_normal(uint64_t *seed)
{
    return sqrt(-2 * log(sim_even(seed))) * cos(2 * 3.14159265358979 * sim_even(seed));
}

#endif
