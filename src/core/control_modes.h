/*
 * The modes that know fractions: each tells the position that the CPU load asks for. Private to the
 * core.
 */
#ifndef ELASTIC_CORE_CONTROL_MODES_H
#define ELASTIC_CORE_CONTROL_MODES_H

#include "elastic/control.h"

/* Within config->top; `state` is clamped and not in bypass. */
double el_control_mix(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state);

/* Likewise. The curve must have costs. */
double el_control_predict(const el_control_config_t *config, const el_observation_t *observed,
                          el_control_memory_t *memory, el_control_state_t state);

/*
 * The share of the CPU that compression takes for each µs/KB of a setup's cost, by what the
 * interval showed; 0 where nothing was compressed.
 */
double el_control_share_per_cost(const el_observation_t *observed, double cost);

#endif
