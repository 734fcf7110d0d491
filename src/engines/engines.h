/* The engines that this build knows; only src/engines includes this. */
#ifndef ELASTIC_ENGINES_H
#define ELASTIC_ENGINES_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_zlib;
extern const el_engine_t el_engine_brotli;
#ifdef ELASTIC_WITH_ISAL
extern const el_engine_t el_engine_isal;
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
extern const el_engine_t el_engine_libdeflate;
#endif
#ifdef ELASTIC_WITH_ZSTD
extern const el_engine_t el_engine_zstd;
#endif

/* What their levels cost; costs.c is made by scripts/measure-setups. */
extern const el_cost_t el_costs_zlib[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_isal[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_libdeflate[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_brotli[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_zstd[][EL_SIZE_CLASSES];

/*
 * The class of a body's length, for engines whose memory grows with it: 0 where it is unknown,
 * otherwise 1 for up to 4 KB and one more for each factor of four, 6 and more only above 1 MB.
 */
static inline unsigned el_memory_class(uint64_t nbytes)
{
    unsigned memory_class = 0;

    for (uint64_t top = 4096; nbytes > 0; top *= 4) {
        memory_class++;
        if (nbytes <= top || memory_class == 6) {
            break;
        }
    }
    return memory_class;
}

#endif
