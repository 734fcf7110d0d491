/*
 * The mode `predict`: the position whose cost fits, by the curve of costs. Private to the core.
 */
#ifndef ELASTIC_CORE_CONTROL_PREDICT_H
#define ELASTIC_CORE_CONTROL_PREDICT_H

#include "elastic/control_state.h"

/*
 * The position that the CPU load asks for, 0 … config->top. `state` is clamped and not in bypass;
 * the observation has costs, which el_curve_has_costs() accepts.
 */
double el_control_predict(const el_control_config_t *config, const el_observation_t *observed,
                          el_control_memory_t *memory, el_control_state_t state);

#endif
