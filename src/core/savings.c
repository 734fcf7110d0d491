#include "elastic/savings.h"

/* What is known of sampled bodies, `value` of `part`, for the `whole`. */
static double scaled(uint64_t value, uint64_t whole, uint64_t part)
{
    return (double)value * ((double)whole / (double)part);
}

el_savings_t el_savings_of(const el_counters_t *counters)
{
    uint64_t in = el_counters_total(counters, EL_COUNT_BYTES_IN);
    uint64_t out = el_counters_total(counters, EL_COUNT_BYTES_OUT);
    uint64_t sampled_in = el_counters_total(counters, EL_COUNT_SAMPLED_IN);
    uint64_t sampled_out = el_counters_total(counters, EL_COUNT_SAMPLED_OUT);
    uint64_t beside = el_counters_total(counters, EL_COUNT_EXPLORED_NSEC)
                      + el_counters_total(counters, EL_COUNT_IMPROVED_NSEC);
    el_savings_t savings = {
        .responses = el_counters_total(counters, EL_COUNT_COMPRESSED),
        .precompressed = el_counters_total(counters, EL_COUNT_PRECOMPRESSED),
        .in = in,
        .out = out,
        .beside_usec = (double)beside / 1000,
        .stock_out = (double)out,
    };

    if (sampled_in > 0) {
        uint64_t took = el_counters_total(counters, EL_COUNT_SAMPLED_NSEC);
        uint64_t would_take = el_counters_total(counters, EL_COUNT_STOCK_NSEC);

        savings.encoding_usec = scaled(took, in, sampled_in) / 1000;
        savings.stock_usec = scaled(would_take, in, sampled_in) / 1000;
    }
    /* By what was sent, which is exact: the sampled bodies may be worse to compress than others. */
    if (sampled_out > 0) {
        savings.stock_out =
            scaled(el_counters_total(counters, EL_COUNT_STOCK_OUT), out, sampled_out);
    }
    return savings;
}

double el_savings_cpu(const el_savings_t *savings)
{
    return savings->stock_usec - savings->encoding_usec - savings->beside_usec;
}

double el_savings_bytes(const el_savings_t *savings)
{
    return savings->stock_out - (double)savings->out;
}
