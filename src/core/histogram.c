#include "elastic/histogram.h"

#include <math.h>
#include <stddef.h>

/* The lower bound of a class, µs. */
static double bound(size_t class)
{
    return exp2((double)class / EL_HISTOGRAM_PER_OCTAVE);
}

void el_histogram_add(el_histogram_t *histogram, uint64_t nsec)
{
    double usec = (double)nsec / 1000;
    double class = usec > 1 ? floor(log2(usec) * EL_HISTOGRAM_PER_OCTAVE) : 0;

    atomic_fetch_add_explicit(&histogram->weight[(size_t)fmin(class, EL_HISTOGRAM_CLASSES - 1)],
                              EL_HISTOGRAM_ONE, memory_order_relaxed);
}

/* An exchange that is tried again, so that what others add or take away in between stays. */
void el_histogram_fade(el_histogram_t *histogram, double keep)
{
    for (size_t c = 0; c < EL_HISTOGRAM_CLASSES; c++) {
        uint64_t weight = atomic_load_explicit(&histogram->weight[c], memory_order_relaxed);
        uint64_t left;

        do {
            left = (uint64_t)((double)weight * fmin(1, fmax(0, keep)));
        } while (left < weight
                 && !atomic_compare_exchange_weak_explicit(&histogram->weight[c], &weight, left,
                                                           memory_order_relaxed,
                                                           memory_order_relaxed));
    }
}

double el_histogram_quantile(const el_histogram_t *histogram, double share, double least)
{
    double weight[EL_HISTOGRAM_CLASSES];
    double total = 0, below = 0, aim;

    for (size_t c = 0; c < EL_HISTOGRAM_CLASSES; c++) {
        weight[c] = (double)atomic_load_explicit(&histogram->weight[c], memory_order_relaxed);
        total += weight[c];
    }
    if (total <= 0 || total < least * EL_HISTOGRAM_ONE) {
        return 0;
    }
    aim = total * fmin(1, fmax(0, share));
    for (size_t c = 0; c < EL_HISTOGRAM_CLASSES; c++) {
        if (weight[c] > 0 && below + weight[c] >= aim) {
            return bound(c) + (bound(c + 1) - bound(c)) * (aim - below) / weight[c];
        }
        below += weight[c];
    }
    return bound(EL_HISTOGRAM_CLASSES);
}
