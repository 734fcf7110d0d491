/*
 * Exploring: setups that are not in use are measured now and then, so that their costs stay known.
 * For that a body is encoded once more by such a setup, and the result thrown away: no response is
 * any different. What it takes is at most a hundredth of the time of encoding; what one takes
 * beyond its expected time, the next ones have less.
 *
 * Lock-free; any process, any thread; no clock.
 */
#ifndef ELASTIC_EXPLORE_H
#define ELASTIC_EXPLORE_H

#include "elastic/ladder.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One part in so many of the encoding time is for exploring: less than a hundredth, because that
 * time is known from samples only.
 */
#define EL_EXPLORE_PART 125

/* Nanoseconds that no exploration is expected to exceed: a response waits for it. */
#define EL_EXPLORE_MOST 20000000

/* Seconds after which what was measured of a setup is to be measured again. */
#define EL_EXPLORE_AGE 300

/* In shared memory; zeroed memory has nothing to spend. */
typedef struct el_explore {
    _Atomic int64_t credit; /* nanoseconds that may be spent, EL_EXPLORE_MOST at most */
} el_explore_t;

/* `nsec` of CPU time were spent for encoding. */
void el_explore_earn(el_explore_t *explore, uint64_t nsec);

/* Takes `nsec`, which an exploration is expected to need; false where there is not as much. */
bool el_explore_claim(el_explore_t *explore, uint64_t nsec);

/* It took `nsec`, in place of the `claimed` ones: the difference is given back, or still owed. */
void el_explore_settle(el_explore_t *explore, uint64_t claimed, uint64_t nsec);

/*
 * The setup to explore, of `count` whose `ages` (seconds since they were measured, or UINT32_MAX)
 * are EL_EXPLORE_AGE or more: that whose time is nearest to `nsec`, the time of the one in use, by
 * which is the larger part of the other. The first of those as near; NULL where there is none.
 */
const el_rung_t *el_explore_pick(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 uint32_t nsec);

/* Back to nothing to spend. */
void el_explore_reset(el_explore_t *explore);

#endif
