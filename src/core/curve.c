#include "elastic/curve.h"

#include <math.h>
#include <stddef.h>

static bool usable(const double *figures, unsigned top)
{
    if (figures == NULL) {
        return false;
    }
    for (unsigned p = 0; p <= top; p++) {
        /* In this order a NaN fails too. */
        if (!(figures[p] > 0) || isinf(figures[p])) {
            return false;
        }
    }
    return true;
}

bool el_curve_has_costs(const el_curve_t *curve)
{
    return usable(curve->cost, curve->top);
}

bool el_curve_has_ratios(const el_curve_t *curve)
{
    return usable(curve->ratio, curve->top);
}

static double between(const double *figures, unsigned top, double position)
{
    unsigned below;

    if (position <= 0) {
        return figures[0];
    }
    if (position >= top) {
        return figures[top];
    }
    below = (unsigned)position;
    return figures[below] + (figures[below + 1] - figures[below]) * (position - below);
}

double el_curve_cost(const el_curve_t *curve, double position)
{
    return between(curve->cost, curve->top, position);
}

double el_curve_ratio(const el_curve_t *curve, double position)
{
    return between(curve->ratio, curve->top, position);
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
