/*
 * What the levels of each engine cost, from its lowest level on, by size class. costs.c is made by
 * scripts/measure-setups.
 */
#ifndef ELASTIC_ENGINES_COSTS_H
#define ELASTIC_ENGINES_COSTS_H

#include "elastic/cost.h"

extern const el_cost_t el_costs_zlib[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_isal[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_libdeflate[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_brotli[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_zstd[][EL_SIZE_CLASSES];

#endif
