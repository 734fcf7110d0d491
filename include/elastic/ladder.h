/*
 * The ladder: the controller's position -> the level of each coding; and, for a client that takes
 * several, the coding too; and which of the others is tried now and then.
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

/* A coding's bounds, min <= max. Zeroed, it is that of a coding that is not used. */
typedef struct {
    int min;
    int max;
    bool enabled;
    bool stock; /* and no more bytes than an httpd without this module would make */
} el_range_t;

/* The bounds of a coding that is used; both may be the same level. */
static inline el_range_t el_range_of(int min, int max)
{
    return (el_range_t){.min = min, .max = max, .enabled = true};
}

/* The ladder's top: the widest max − min among `ranges`, which has EL_CODINGS entries. */
unsigned el_ladder_top(const el_range_t *ranges);

/*
 * The level within `range` at `position` of `top`: min + round(position / top × (max − min)),
 * halves up. The ceiling where `top` is 0, which is where every range is a single level, or where
 * `position` is past it.
 */
int el_ladder_level(el_range_t range, unsigned position, unsigned top);

/*
 * Where a new controller starts: the position at which gzip comes nearest to the level that httpd
 * uses without this module, the higher one of two as near. At gzip's ceiling or floor where that
 * level is outside of its bounds; at the top where gzip is not used.
 */
unsigned el_ladder_start(const el_range_t *ranges);

/* A setup, and what is expected of it. */
typedef struct {
    el_coding_t coding;
    int level;
    el_cost_t cost;
} el_rung_t;

/* As many rungs as all codings have levels. */
#define EL_RUNGS_MAX (EL_CODINGS * EL_COST_LEVELS)

/*
 * Leaves those of the `count` setups (1 or more) that make no more bytes than `most`, and the
 * levels of its own coding from its level on, which make no more by definition. Where there are
 * none, that which makes the fewest. Returns how many are left.
 */
size_t el_ladder_bound(el_rung_t *rungs, size_t count, el_rung_t most);

/*
 * Makes a ladder of setups: in the order of their time, without those that others beat, which is
 * to say that another, or two others in turn, take no more time and make no more bytes. So each
 * byte that a rung saves over the one below is dearer than those before. Returns how many are left,
 * one at least where there was one.
 */
size_t el_ladder_build(el_rung_t *rungs, size_t count);

/*
 * The highest rung, of `count` (1 or more) that el_ladder_build() left, whose bytes cost no more
 * than `price` nanoseconds of CPU time for each that it saves over the rung below; the lowest where
 * none does.
 */
const el_rung_t *el_ladder_rung(const el_rung_t *rungs, size_t count, double price);

/*
 * The price at `position` of `top`: that of the fastest rung at the floor, of the smallest at the
 * ceiling. It rises from position to position by the same factor, and is the same for bodies of all
 * lengths: so CPU time goes to where it saves most. It is meant for the machine of the built-in
 * costs; `slowness` is how many times as long this one takes.
 */
double el_ladder_price(const el_rung_t *rungs, size_t count, unsigned position, unsigned top,
                       double slowness);

/* The position, 0 … top and fractional, whose price is `price` on the machine of those costs. */
double el_ladder_position(double price, unsigned top);

/*
 * The first setup, from `rung` down to `rungs`, that costs no more than `most` nsec for each KB;
 * the lowest where none does.
 */
const el_rung_t *el_ladder_within(const el_rung_t *rungs, const el_rung_t *rung, uint32_t most);

/* Seconds after which what was measured of a setup is to be measured again. */
#define EL_LADDER_TRIAL_AGE 20

/*
 * A setup that a response takes in place of the one in use, so that its costs become known: of
 * `count`, that whose measurement is oldest (`ages` in seconds, UINT32_MAX: none), among those from
 * EL_LADDER_TRIAL_AGE on whose CPU time and bytes, at `price`, together come to at most 1.2 times
 * as much as those of `used`. The first of those as old; NULL where there is none.
 */
const el_rung_t *el_ladder_trial(const el_rung_t *rungs, const uint32_t *ages, size_t count,
                                 el_cost_t used, double price);

#endif
