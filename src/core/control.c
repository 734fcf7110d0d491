#include "elastic/control.h"

#include "elastic/curve.h"
#include "elastic/ladder.h"

#include "control_mix.h"
#include "control_predict.h"

#include <math.h>

/* Ends a bypass only where the same load would not begin it again, however low its threshold. */
static bool bypass_ends(const el_control_config_t *config, double busy)
{
    return busy < config->low + (config->high - config->low) / 2 && busy <= config->bypass;
}

static bool at_floor(el_control_state_t state)
{
    return state.position == 0 && state.fraction == 0;
}

/* Proc. 1; el_control_at() keeps it between floor and ceiling. */
static double step(const el_control_config_t *config, double busy, el_control_state_t state)
{
    double position = state.position;

    if (busy > config->high) {
        position--;
    } else if (busy < config->low) {
        position++;
    }
    return position;
}

/* The position that the CPU load asks for. */
static double by_load(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state)
{
    el_curve_t curve = {observed->cost, config->top};

    switch (config->mode) {
    case EL_CONTROL_MIX:
        return el_control_mix(config, observed, memory, state);
    case EL_CONTROL_PREDICT:
        return el_curve_has_costs(&curve) ? el_control_predict(config, observed, memory, state)
                                          : el_control_mix(config, observed, memory, state);
    default:
        return step(config, observed->busy, state);
    }
}

/* The position of the price after a sample. */
static double by_price(const el_control_config_t *config, const el_observation_t *observed,
                       el_price_memory_t *price)
{
    el_price_follow(price, observed->busy, observed->cpus, observed->seconds);
    price->worth = el_goal_worth(&config->goal, price->worth, observed->p95_usec);
    return el_ladder_position(el_price_now(price), config->top);
}

el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed, el_control_memory_t *memory,
                                   el_control_state_t state)
{
    bool priced = el_control_is_priced(config);
    double price = 0;

    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (priced) {
        price = by_price(config, observed, &memory->price);
    }
    if (state.bypass) {
        state.bypass = !bypass_ends(config, observed->busy);
        *memory = (el_control_memory_t){.price = memory->price};
        return state;
    }
    if (observed->busy > config->bypass && at_floor(state)) {
        state.bypass = true;
        return state;
    }
    return el_control_at(state, priced ? price : by_load(config, observed, memory, state));
}

bool el_control_due(uint64_t next_update, uint64_t now)
{
    return now >= next_update;
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}
