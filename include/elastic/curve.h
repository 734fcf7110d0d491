/*
 * The curve: what the setup at each position costs.
 *
 * Positions may be fractional: a fraction is a share of requests, so that the cost between two
 * setups lies on the straight line between theirs. Costs need not rise with the position: a slow
 * engine in the middle is passed over.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_CURVE_H
#define ELASTIC_CURVE_H

#include <stdbool.h>

/* The costs of the setups at 0 … top; an array of top + 1, which the caller owns. */
typedef struct {
    const double *cost; /* CPU µs for each KB of body, above 0; NULL: not known */
    unsigned top;
} el_curve_t;

/* Whether every position has a cost that can be reckoned with: finite and above 0. */
bool el_curve_has_costs(const el_curve_t *curve);

/* The cost at `position`, 0 … top, µs per KB. The curve must have costs. */
double el_curve_cost(const el_curve_t *curve, double position);

/*
 * The highest position whose cost is `cost` (µs per KB) or less, in between setups where the next
 * one up costs more; 0 where even the floor costs more.
 */
double el_curve_position(const el_curve_t *curve, double cost);

#endif
