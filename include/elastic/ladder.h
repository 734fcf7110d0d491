/*
 * Setups in order of cost: the controller's position or price -> the level of each coding and, for
 * a client that accepts several, the coding too. Also the choice of setups to try now and then.
 *
 * Positions run from 0 (the floor) to `top` (the ceiling). `top` is the widest range among the
 * codings, so that one step moves the widest coding by one level and the others by at most one.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_LADDER_H
#define ELASTIC_LADDER_H

#include "elastic/http.h"
#include "elastic/cost.h"

#include <stdbool.h>
#include <stdint.h>

/* A coding's bounds, min <= max. Zeroed: the coding is not used. */
typedef struct {
    int min;
    int max;
    bool enabled;
    bool stock; /* also bound the size by that of an httpd without this module */
} el_range_t;

/* Bounds of a coding in use; both may be the same level. */
static inline el_range_t el_range_of(int min, int max)
{
    return (el_range_t){.min = min, .max = max, .enabled = true};
}

/* The widest max − min among the EL_CODINGS entries of `ranges`. */
unsigned el_ladder_top(const el_range_t *ranges);

/*
 * The level at `position` of `top`: min + round(position / top × (max − min)), halves up. The
 * ceiling if `position` is at or past `top`, also if `top` is 0.
 */
int el_ladder_level(el_range_t range, unsigned position, unsigned top);

/*
 * A new controller's position: gzip is nearest to the level of an httpd without this module; of two
 * as near, the higher one. If that level is outside of gzip's bounds, gzip's ceiling or floor; if
 * gzip is not used, the top.
 */
unsigned el_ladder_start(const el_range_t *ranges);

/* A setup and its expected cost. */
typedef struct {
    el_coding_t coding;
    int level;
    el_cost_t cost;
} el_rung_t;

/* As many as all codings have levels. */
#define EL_RUNGS_MAX (EL_CODINGS * EL_COST_LEVELS)

/*
 * Keeps the setups, of `count` (1 or more), whose size is at most that of `most`, and the levels of
 * its coding from its level on: higher levels never count as larger. If none qualifies, keeps the
 * smallest. Returns the number kept.
 */
size_t el_ladder_bound(el_rung_t *rungs, size_t count, el_rung_t most);

/*
 * Sorts setups by time and drops dominated ones: another setup, or a mixture of two others, takes
 * no more time and makes no more bytes. So each setup's saved bytes cost more than those of the one
 * before it. Returns the number kept: at least one if there was one.
 */
size_t el_ladder_build(el_rung_t *rungs, size_t count);

/*
 * The last of the `count` (1 or more) setups from el_ladder_build() whose additional saved bytes
 * cost at most `price` ns of CPU time each; otherwise the first.
 */
const el_rung_t *el_ladder_rung(const el_rung_t *rungs, size_t count, double price);

/*
 * The price at `position` of `top`: the fastest setup's at the floor, the smallest setup's at the
 * ceiling. It grows by the same factor from position to position, and is the same for bodies of all
 * lengths, so that CPU time is spent where it saves most. The scale is that of the built-in costs;
 * `slowness` is this machine's time divided by theirs.
 */
double el_ladder_price(const el_rung_t *rungs, size_t count, unsigned position, unsigned top,
                       double slowness);

/* The inverse, by the built-in costs: the position, 0 … top and fractional, with `price`. */
double el_ladder_position(double price, unsigned top);

/* The last setup, from `rungs` to `rung`, that costs at most `most` ns a KB; or the first. */
const el_rung_t *el_ladder_within(const el_rung_t *rungs, const el_rung_t *rung, uint32_t most);

/* Seconds after which the measurements of a setup are outdated. */
#define EL_LADDER_TRIAL_AGE 20

/*
 * Chooses a setup that a response tries in place of the one in use, so that its cost is measured.
 * It is the one of `count` whose measurement is oldest (`ages` in seconds, UINT32_MAX: none; at
 * least EL_LADDER_TRIAL_AGE) and whose CPU time and bytes at `price` cost at most 1.2 times those
 * of `used`. The first of equals; NULL if there is none.
 */
const el_rung_t *el_ladder_trial(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 el_cost_t used, double price);

#endif
