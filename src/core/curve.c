#include "elastic/curve.h"

#include <math.h>
#include <stddef.h>

bool el_curve_has_costs(const el_curve_t *curve)
{
    for (unsigned p = 0; curve->cost != NULL && p <= curve->top; p++) {
        /* In this order a NaN fails too. */
        if (!(curve->cost[p] > 0) || isinf(curve->cost[p])) {
            return false;
        }
    }
    return curve->cost != NULL;
}

double el_curve_cost(const el_curve_t *curve, double position)
{
    const double *c = curve->cost;
    unsigned below;

    if (position <= 0) {
        return c[0];
    }
    if (position >= curve->top) {
        return c[curve->top];
    }
    below = (unsigned)position;
    return c[below] + (c[below + 1] - c[below]) * (position - below);
}

double el_curve_position(const el_curve_t *curve, double cost)
{
    const double *c = curve->cost;

    for (unsigned p = curve->top + 1; p-- > 0;) {
        if (c[p] > cost) {
            continue;
        }
        /* The one above costs more, or it would have been found before. */
        return p == curve->top ? p : p + (cost - c[p]) / (c[p + 1] - c[p]);
    }
    return 0;
}
