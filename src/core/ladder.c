#include "elastic/ladder.h"

#include <stdlib.h>

unsigned el_ladder_top(const el_range_t *ranges)
{
    int widest = 0;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        int width = ranges[i].max - ranges[i].min;

        if (width > widest) {
            widest = width;
        }
    }
    return (unsigned)widest;
}

int el_ladder_level(el_range_t range, unsigned position, unsigned top)
{
    uint64_t width = (uint64_t)(range.max - range.min);

    if (position >= top) {
        return range.max;
    }
    /* In whole numbers: width × position / top + 1/2, rounded down. */
    return range.min + (int)((2 * width * position + top) / (2 * (uint64_t)top));
}

unsigned el_ladder_start(const el_range_t *ranges)
{
    el_range_t gzip = ranges[EL_GZIP];
    int stock = el_coding_info(EL_GZIP)->stock_level;
    unsigned top = el_ladder_top(ranges);
    unsigned best = top;

    if (stock > gzip.max) {
        return top;
    }
    if (stock < gzip.min) {
        return 0;
    }
    for (unsigned p = top; p-- > 0;) {
        if (abs(el_ladder_level(gzip, p, top) - stock)
            < abs(el_ladder_level(gzip, best, top) - stock)) {
            best = p;
        }
    }
    return best;
}
