/*
 * The mode `mix`: a proportional and integral controller that aims at the middle between the
 * thresholds. Private to the core.
 */
#ifndef ELASTIC_CORE_CONTROL_MIX_H
#define ELASTIC_CORE_CONTROL_MIX_H

#include "elastic/control_state.h"

/*
 * The position that the CPU load asks for, 0 … config->top. `state` is clamped and not in bypass.
 */
double el_control_mix(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state);

#endif
