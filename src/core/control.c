#include "elastic/control.h"

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

/* Proc. 1. */
static double step(const el_control_config_t *config, double busy, el_control_state_t state)
{
    if (busy > config->high && state.position > 0) {
        state.position--;
    } else if (busy < config->low && state.position < state.top) {
        state.position++;
    }
    return state.position;
}

/* The position that the CPU load asks for. */
static double by_load(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state)
{
    el_curve_t curve = {observed->cost, observed->ratio, config->top};

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

/* The position that the goal asks for; the present one where its figures are not known. */
static double by_goal(const el_control_config_t *config, const el_observation_t *observed,
                      double position)
{
    el_curve_t curve = {observed->cost, observed->ratio, config->top};

    if (config->goal.kind == EL_GOAL_LATENCY && observed->p95_usec > 0) {
        return el_goal_latency(&config->goal, &curve, position, observed->p95_usec);
    }
    if (config->goal.kind == EL_GOAL_COST && el_curve_has_costs(&curve)
        && el_curve_has_ratios(&curve)) {
        return el_goal_cheapest(&config->goal, &curve, position);
    }
    return position;
}

/* `target`, or the highest position that keeps the load below `high` by the curve, if lower. */
static double guarded(const el_control_config_t *config, const el_observation_t *observed,
                      double now, double target)
{
    el_curve_t curve = {observed->cost, observed->ratio, config->top};
    double cost, per_cost, most;

    if (target <= now) {
        return target;
    }
    if (!el_curve_has_costs(&curve)) {
        return observed->busy < config->low ? target : now;
    }
    cost = el_curve_cost(&curve, now);
    per_cost = el_control_share_per_cost(observed, cost);
    if (per_cost <= 0) {
        return observed->busy < config->low ? target : now;
    }
    /* The middle between now and `high`, so that the next interval's noise does not undo it. */
    most = el_curve_position(&curve, cost + (config->high - observed->busy) / 2 / per_cost);
    return fmax(now, fmin(target, most));
}

/* One whole position toward `target`, as Proc. 1 moves. */
static double one_step(double now, double target)
{
    double whole = floor(target + 1e-9);

    return whole > now ? now + 1 : whole < now ? now - 1 : now;
}

static double pursue(const el_control_config_t *config, const el_observation_t *observed,
                     double now, double load_target)
{
    double target;

    if (config->goal.kind == EL_GOAL_CPU) {
        return load_target;
    }
    target = by_goal(config, observed, now);
    if (observed->busy > config->high) {
        target = fmin(target, load_target);
    } else {
        target = guarded(config, observed, now, target);
    }
    return el_control_is_whole(config->mode) ? one_step(now, target) : target;
}

/* The position of the price after a sample. */
static double by_price(const el_control_config_t *config, const el_observation_t *observed,
                       el_control_memory_t *memory)
{
    double delay = el_price_follow(&memory->price, observed->busy, observed->cpus,
                                   observed->seconds);

    return el_ladder_position(el_goal_worth(&config->goal) / delay, config->top);
}

el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed, el_control_memory_t *memory,
                                   el_control_state_t state)
{
    double target = 0;
    bool priced = el_goal_is_priced(&config->goal);

    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (priced) {
        target = by_price(config, observed, memory);
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
    if (!priced) {
        target = pursue(config, observed, el_control_position(state),
                        by_load(config, observed, memory, state));
    }
    return el_control_at(state, target);
}

bool el_control_due(uint64_t next_update, uint64_t now)
{
    return now >= next_update;
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}
