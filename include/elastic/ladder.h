/*
 * The ladder: the controller's position -> the level of each coding.
 *
 * Positions run from 0 (the floor) to `top` (the ceiling). `top` is the widest range among the
 * codings, so that one step moves the widest coding by one level and the others by at most one.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_LADDER_H
#define ELASTIC_LADDER_H

#include "elastic/coding.h"

#include <stdint.h>

/* A coding's bounds, min <= max; `{0, 0}` for a coding that takes no part. */
typedef struct {
    int min;
    int max;
} el_range_t;

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
 * level is outside of its bounds.
 */
unsigned el_ladder_start(const el_range_t *ranges);

#endif
