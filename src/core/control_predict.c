#include "control_predict.h"

#include "elastic/curve.h"

#include <math.h>

/*
 * A CPU this busy hides how much more is asked of it: requests wait that no counter shows. 0.97 and
 * not 1, because a sample catches the last idle ticks of a machine that is just filling up.
 */
#define FULL 0.97

/*
 * What /proc/stat counts in, µs. One tick that was idle may be chance: in a tenth of a second of one
 * CPU it is the difference between 0.9 and 1.
 */
#define TICK 10000.

/*
 * The weight of the newest figure in the first interval after a move: part of its work
 * still went by the position of before.
 */
#define TRUST_MOVED 0.25

/* How many times the curve's cost the interval's was; 1 where its CPU time is not known. */
static double scale_of(const el_observation_t *observed, double cost)
{
    return observed->spent_usec > 0 ? observed->spent_usec / (observed->kbytes * cost) : 1;
}

/*
 * The share of the CPU that compression takes for each µs/KB of a setup's cost, with a scale that is
 * remembered, and brought up to date; 0 where nothing was compressed.
 */
static double share_per_cost(const el_observation_t *observed, el_control_memory_t *memory,
                             double cost)
{
    double trust = memory->scale > 0 && memory->moved ? TRUST_MOVED : 1;

    if (!(observed->capacity_usec > 0) || !(observed->kbytes > 0)) {
        return 0;
    }
    memory->scale += trust * (scale_of(observed, cost) - memory->scale);
    return observed->kbytes / observed->capacity_usec * memory->scale;
}

/* The share of the CPU that compression used. */
static double used(const el_observation_t *observed, double by_curve)
{
    return observed->spent_usec > 0 && observed->capacity_usec > 0
               ? observed->spent_usec / observed->capacity_usec : by_curve;
}

/*
 * It aims below the high threshold by this share of the band: effort is what spare CPU is for. 7.5
 * points with the default thresholds, more than the noise of a sample.
 */
#define MARGIN 0.25

/* The position whose cost fits below the high threshold. */
static double fitting(const el_control_config_t *config, const el_observation_t *observed,
                      el_control_memory_t *memory, el_control_state_t state)
{
    el_curve_t curve = {observed->cost, config->top};
    double cost = el_curve_cost(&curve, el_control_position(state));
    double per_cost = share_per_cost(observed, memory, cost);
    double others = fmax(0, observed->busy - used(observed, per_cost * cost));
    double spare = config->high - MARGIN * (config->high - config->low) - others;

    if (spare <= 0) {
        return 0;
    }
    return per_cost > 0 ? el_curve_position(&curve, spare / per_cost) : config->top;
}

static bool is_full(const el_observation_t *observed)
{
    double tick = observed->capacity_usec > 0 ? TICK / observed->capacity_usec : 0;

    return observed->busy >= FULL - tick;
}

/*
 * Below this share of the band CPU is left that effort could have: 10 points below where it aims
 * with the default thresholds, more than the noise of a sample.
 */
#define UNUSED 0.4

/*
 * Down at once; and to the floor where the next interval is above the threshold again: then
 * requests wait that no counter shows, as on a CPU of which others take the rest.
 *
 * Up only as far as two intervals running would have it: one quiet interval does not mean that the
 * load is gone, and what follows it would be met at the ceiling. After a step to the floor of a
 * full CPU it goes up from anywhere below the threshold.
 */
double el_control_predict(const el_control_config_t *config, const el_observation_t *observed,
                          el_control_memory_t *memory, el_control_state_t state)
{
    double now = el_control_position(state);
    bool over = observed->busy > config->high;
    bool saturated = over && (memory->over || is_full(observed));
    double fits = fitting(config, observed, memory, state);
    double target = saturated ? 0 : fits;
    double next = now;
    el_curve_t curve = {observed->cost, config->top};

    /* The setup that costs less may be a higher one, where an engine has become slow. */
    if (over && el_curve_cost(&curve, target) < el_curve_cost(&curve, now)) {
        next = target;
    } else if (observed->busy < config->low + UNUSED * (config->high - config->low)
               || (memory->saturated && !over)) {
        next = fmax(now, fmin(target, memory->target));
    }
    /* Until two intervals have shown how much CPU is left. */
    memory->saturated = saturated || (memory->saturated && (over || memory->over));
    memory->target = target;
    memory->over = over;
    memory->moved = next != now;
    return next;
}
