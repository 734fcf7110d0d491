/*
 * Exploring: setups that are not in use are measured now and then, so that their costs stay known.
 * For that a body is encoded once more by such a setup, and the result thrown away: no response is
 * any different. On average that takes a hundredth of the time of encoding. Any thread; no clock.
 */
#ifndef ELASTIC_EXPLORE_H
#define ELASTIC_EXPLORE_H

#include "elastic/ladder.h"

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds that no exploration is expected to exceed: a response waits for it. */
#define EL_EXPLORE_MOST 20000000

/* Seconds after which what was measured of a setup is to be measured again. */
#define EL_EXPLORE_AGE 300

/*
 * Whether an exploration that is expected to take `nsec` is due: the `turn`th that was thought of,
 * after `encoding` nanoseconds of other encoding. A dearer one is due more seldom.
 */
bool el_explore_is_due(uint32_t turn, double encoding, double nsec);

/*
 * The setup to explore, of `count` whose `ages` (seconds since they were measured, or UINT32_MAX)
 * are EL_EXPLORE_AGE or more: that whose time is nearest to `nsec`, the time of the one in use, by
 * which is the larger part of the other. The first of those as near; NULL where there is none.
 */
const el_rung_t *el_explore_pick(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 uint32_t nsec);

#endif
