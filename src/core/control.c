#include "elastic/control.h"

#include "elastic/ladder.h"
#include "bytes.h"

#include <math.h>

/*
 * A state's word: the fraction and the position, which are one number in 1/65536, the top it
 * was set for, then the bypass.
 */
#define POSITION_SHIFT 16
#define POSITION_MASK 0xffffu
#define TOP_SHIFT 32
#define TOP_MASK 0xffffu
#define BYPASS_BIT (UINT64_C(1) << (EL_CONTROL_BITS - 1))

el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state)
{
    if (state.position > config->top || config->mode == EL_CONTROL_OFF) {
        state.position = config->top;
    }
    if (config->mode != EL_CONTROL_MIX || state.position == config->top) {
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

uint16_t el_control_share(uint32_t count)
{
    return (uint16_t)(el_spread(count) >> 16);
}

/* Ends a bypass only where the same load would not begin it again, however low its threshold. */
static bool control_bypass_ends(const el_control_config_t *config, double busy)
{
    return busy < config->low + (config->high - config->low) / 2 && busy <= config->bypass;
}

static bool control_at_floor(el_control_state_t state)
{
    return state.position == 0 && state.fraction == 0;
}

/* Proc. 1; el_control_at() keeps it between floor and ceiling. */
static double control_step(const el_control_config_t *config, double busy, el_control_state_t state)
{
    double position = state.position;

    if (busy > config->high) {
        position--;
    } else if (busy < config->low) {
        position++;
    }
    return position;
}

/*
 * Of the whole range for an error of the whole CPU, each interval. The range usually moves the load
 * by 0.3 to 1.5: the loop then turns back 0.15 to 0.75 of an error at once, and one interval of lag
 * does not make it swing (it would from 1 on). From the ceiling to the floor of a machine that is
 * full it takes 7 intervals.
 */
#define INTEGRAL 0.5
/* Half of that again for what the error grew or shrank: a spike is met before it has added up. */
#define PROPORTIONAL 0.25

/*
 * Around the middle, this share of the band is as good as the middle: 5 points of CPU with the
 * default thresholds. /proc/stat resolves 2 points on one CPU in half a second, and requests do not
 * come evenly.
 */
#define QUIET (1. / 6)

/*
 * Where a move overshot, the next ones are half as large; where it did not, they grow back by this.
 * Between two setups of which one costs many times the other, the loop would swing for ever. Noise
 * alone turns the error around as well: the least gain is one that a load which is gone is noticed
 * with, within some ten intervals.
 */
#define RECOVERY 1.25
#define GAIN_LEAST (1. / 16)

/* The part of `error` that is outside of ±`quiet`. */
static double control_outside(double error, double quiet)
{
    return error > quiet ? error - quiet : error < -quiet ? error + quiet : 0;
}

/*
 * The share of the full gain for an error, with the error's sign. `last` is the one of the last
 * error; 0 where there was none yet.
 */
static double control_next_gain(double last, double error)
{
    double gain = last == 0 ? 1 : fabs(last);

    if (error == 0) {
        return last;
    }
    gain = last * error < 0 ? fmax(GAIN_LEAST, gain / 2) : fmin(1, gain * RECOVERY);
    return copysign(gain, error);
}

/*
 * System-B, in the form that adds to the position: the position is its own integral, so that at a
 * bound nothing winds up.
 */
static double control_mix(const el_control_config_t *config, double busy,
                          el_control_memory_t *memory, el_control_state_t state)
{
    double middle = (config->low + config->high) / 2;
    double error = control_outside(middle - busy, QUIET * (config->high - config->low));
    double move = INTEGRAL * error + PROPORTIONAL * (error - memory->error);

    /* Back from where the load was off: the brake may stop a move, it never turns one around. */
    if (move * error < 0 || error == 0) {
        move = 0;
    }
    memory->error = error;
    memory->gain = control_next_gain(memory->gain, error);
    move *= fabs(memory->gain);
    return fmin(config->top, fmax(0, el_control_position(state) + config->top * move));
}

double el_control_price(const el_control_config_t *config, const el_control_memory_t *memory)
{
    return el_goal_worth(&config->goal) / memory->price.delay;
}

el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed, el_control_memory_t *memory,
                                   el_control_state_t state)
{
    bool priced = el_control_is_priced(config);
    double position = 0;

    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (priced) {
        el_price_follow(&memory->price, observed->busy, observed->cpus, observed->seconds);
        position = el_ladder_position(el_control_price(config, memory), config->top);
    }
    if (state.bypass) {
        state.bypass = !control_bypass_ends(config, observed->busy);
        *memory = (el_control_memory_t){.price = memory->price};
        return state;
    }
    if (observed->busy > config->bypass && control_at_floor(state)) {
        state.bypass = true;
        return state;
    }
    if (!priced) {
        position = config->mode == EL_CONTROL_MIX ? control_mix(config, observed->busy, memory,
                                                                state)
                                                  : control_step(config, observed->busy, state);
    }
    return el_control_at(state, position);
}

bool el_control_due(uint64_t next_update, uint64_t now)
{
    return now >= next_update;
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}
