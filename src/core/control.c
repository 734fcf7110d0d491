#include "elastic/control.h"

#include "control_modes.h"

#include <math.h>

/* 2^32 divided by the golden ratio, to the nearest odd number. */
#define GOLDEN 2654435769u

/*
 * A state's word: the fraction and the position, which are one number in 1/65536, the top it
 * was set for, then the bypass.
 */
#define POSITION_SHIFT 16
#define POSITION_MASK 0xffffu
#define TOP_SHIFT 32
#define TOP_MASK 0xffffu
#define BYPASS_BIT (UINT64_C(1) << 48)

static bool is_whole(el_control_mode_t mode)
{
    return mode == EL_CONTROL_STEP || mode == EL_CONTROL_OFF;
}

el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state)
{
    if (state.position > config->top || config->mode == EL_CONTROL_OFF) {
        state.position = config->top;
    }
    if (is_whole(config->mode) || state.position == config->top) {
        state.fraction = 0;
    }
    if (config->bypass > 1 || config->mode == EL_CONTROL_OFF) {
        state.bypass = false;
    }
    state.top = config->top;
    return state;
}

double el_control_position(el_control_state_t state)
{
    return state.position + (double)state.fraction / EL_CONTROL_ONE;
}

el_control_state_t el_control_at(el_control_state_t state, double position)
{
    double parts = round(fmin(state.top, fmax(0, position)) * EL_CONTROL_ONE);

    state.position = (unsigned)(parts / EL_CONTROL_ONE);
    state.fraction = (uint16_t)(parts - (double)state.position * EL_CONTROL_ONE);
    return state;
}

uint64_t el_control_pack(el_control_state_t state)
{
    return (uint64_t)state.fraction | (uint64_t)(state.position & POSITION_MASK) << POSITION_SHIFT
        | (uint64_t)(state.top & TOP_MASK) << TOP_SHIFT | (state.bypass ? BYPASS_BIT : 0);
}

el_control_state_t el_control_unpack(uint64_t word)
{
    return (el_control_state_t){
        .position = (unsigned)(word >> POSITION_SHIFT) & POSITION_MASK,
        .top = (unsigned)(word >> TOP_SHIFT) & TOP_MASK,
        .bypass = (word & BYPASS_BIT) != 0,
        .fraction = (uint16_t)word,
    };
}

/*
 * Multiples of the golden ratio, modulo one, leave the smallest gaps that a sequence can; so do
 * those of every other request, or of every third.
 */
bool el_control_upper(el_control_state_t state, uint32_t count)
{
    return count * GOLDEN >> 16 < state.fraction;
}

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

/* At most as high as keeps the load below `high`, by the curve; `now` where it does not tell. */
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
    return is_whole(config->mode) ? one_step(now, target) : target;
}

el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed, el_control_memory_t *memory,
                                   el_control_state_t state)
{
    double load_target;

    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (state.bypass) {
        state.bypass = !bypass_ends(config, observed->busy);
        *memory = (el_control_memory_t){0};
        return state;
    }
    if (observed->busy > config->bypass && at_floor(state)) {
        state.bypass = true;
        return state;
    }
    load_target = by_load(config, observed, memory, state);
    return el_control_at(state, pursue(config, observed, el_control_position(state), load_target));
}

bool el_control_due(uint64_t next_update, uint64_t now)
{
    return now >= next_update;
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}
