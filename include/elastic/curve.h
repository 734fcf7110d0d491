/*
 * The curve: what the setup at each position costs, and what it leaves of a body.
 *
 * Positions may be fractional: a fraction is a share of requests, so that cost and ratio between
 * two setups lie on the straight line between them. Figures need not rise with the position: a
 * slow engine in the middle is passed over.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_CURVE_H
#define ELASTIC_CURVE_H

#include <stdbool.h>

/* The figures of the setups at 0 … top; arrays of top + 1, which the caller owns. */
typedef struct {
    const double *cost;  /* CPU µs for each KB of body, above 0; NULL: not known */
    const double *ratio; /* bytes after for each byte before; NULL: not known */
    unsigned top;
} el_curve_t;

/* Whether every position has a cost that can be reckoned with: finite and above 0. */
bool el_curve_has_costs(const el_curve_t *curve);

/* The same of ratios. */
bool el_curve_has_ratios(const el_curve_t *curve);

/* The cost at `position`, 0 … top, µs per KB. The curve must have costs. */
double el_curve_cost(const el_curve_t *curve, double position);

/* The ratio at `position`; likewise. */
double el_curve_ratio(const el_curve_t *curve, double position);

/*
 * The highest position whose cost is `cost` (µs per KB) or less, in between setups where the next
 * one up costs more; 0 where even the floor costs more.
 */
double el_curve_position(const el_curve_t *curve, double cost);

#endif
