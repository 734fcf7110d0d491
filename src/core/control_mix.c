#include "control_mix.h"

#include <math.h>

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
static double outside(double error, double quiet)
{
    return error > quiet ? error - quiet : error < -quiet ? error + quiet : 0;
}

/*
 * The share of the full gain for an error, with the error's sign. `last` is the one of the last
 * error; 0 where there was none yet.
 */
static double next_gain(double last, double error)
{
    double gain = last == 0 ? 1 : fabs(last);

    if (error == 0) {
        return last;
    }
    gain = last * error < 0 ? fmax(GAIN_LEAST, gain / 2) : fmin(1, gain * RECOVERY);
    return copysign(gain, error);
}

/*
 * In the form that adds to the position: the position is its own integral, so that at a bound
 * nothing winds up.
 */
double el_control_mix(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state)
{
    double middle = (config->low + config->high) / 2;
    double error = outside(middle - observed->busy, QUIET * (config->high - config->low));
    double move = INTEGRAL * error + PROPORTIONAL * (error - memory->error);

    /* Back from where the load was off: the brake may stop a move, it never turns one around. */
    if (move * error < 0 || error == 0) {
        move = 0;
    }
    memory->error = error;
    memory->gain = next_gain(memory->gain, error);
    move *= fabs(memory->gain);
    return fmin(config->top, fmax(0, el_control_position(state) + config->top * move));
}
