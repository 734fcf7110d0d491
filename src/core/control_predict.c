#include "control_modes.h"

#include <math.h>

/*
 * A CPU this busy hides how much more is asked of it: requests wait that no counter shows. 0.97 and
 * not 1, because a sample catches the last idle ticks of a machine that is just filling up.
 */
#define SATURATED 0.97

/*
 * What /proc/stat counts in, µs. One tick that was idle may be chance: in a tenth of a second of one
 * CPU it is the difference between 0.9 and 1.
 */
#define TICK 10000.

/*
 * How much of the newest figure is believed in the first interval after a move: part of its work
 * still went by the position of before.
 */
#define TRUST_MOVED 0.25

/* How many times the curve's cost the interval's was; 1 where its CPU time is not known. */
static double scale_of(const el_control_seen_t *seen, double cost)
{
    return seen->spent_usec > 0 ? seen->spent_usec / (seen->kbytes * cost) : 1;
}

double el_control_share_per_cost(const el_control_seen_t *seen, double cost)
{
    if (!(seen->capacity_usec > 0) || !(seen->kbytes > 0)) {
        return 0;
    }
    return seen->kbytes / seen->capacity_usec * scale_of(seen, cost);
}

/* The same with a scale that is remembered, and brought up to date. */
static double share_per_cost(const el_control_seen_t *seen, el_control_memory_t *memory,
                             double cost)
{
    double trust = memory->scale > 0 && memory->moved ? TRUST_MOVED : 1;

    if (!(seen->capacity_usec > 0) || !(seen->kbytes > 0)) {
        return 0;
    }
    memory->scale += trust * (scale_of(seen, cost) - memory->scale);
    return seen->kbytes / seen->capacity_usec * memory->scale;
}

/* The share of the CPU that compression used. */
static double used(const el_control_seen_t *seen, double by_curve)
{
    return seen->spent_usec > 0 && seen->capacity_usec > 0 ? seen->spent_usec / seen->capacity_usec
                                                           : by_curve;
}

/*
 * It aims below the high threshold by this share of the band: effort is what spare CPU is for. 7.5
 * points with the default thresholds, more than the noise of a sample.
 */
#define MARGIN 0.25

/* The position whose cost fits below the high threshold. */
static double fitting(const el_control_config_t *config, const el_control_seen_t *seen,
                      el_control_memory_t *memory, el_control_state_t state)
{
    el_curve_t curve = {seen->cost, seen->ratio, config->top};
    double cost = el_curve_cost(&curve, el_control_position(state));
    double per_cost = share_per_cost(seen, memory, cost);
    double others = fmax(0, seen->busy - used(seen, per_cost * cost));
    double spare = config->high - MARGIN * (config->high - config->low) - others;

    if (spare <= 0) {
        return 0;
    }
    return per_cost > 0 ? el_curve_position(&curve, spare / per_cost) : config->top;
}

static bool is_full(const el_control_seen_t *seen)
{
    double tick = seen->capacity_usec > 0 ? TICK / seen->capacity_usec : 0;

    return seen->busy >= SATURATED - tick;
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
 * Up only as far as two intervals running would have it: one quiet interval does not tell that the
 * load is gone, and what follows it would be met at the ceiling. After a blind step to the floor
 * it goes up from anywhere below the threshold.
 */
double el_control_predict(const el_control_config_t *config, const el_control_seen_t *seen,
                          el_control_memory_t *memory, el_control_state_t state)
{
    double now = el_control_position(state);
    bool over = seen->busy > config->high;
    bool blind = over && (memory->over || is_full(seen));
    double fits = fitting(config, seen, memory, state);
    double want = blind ? 0 : fits;
    double next = now;
    el_curve_t curve = {seen->cost, seen->ratio, config->top};

    /* The setup that costs less may be a higher one, where an engine has become slow. */
    if (over && el_curve_cost(&curve, want) < el_curve_cost(&curve, now)) {
        next = want;
    } else if (seen->busy < config->low + UNUSED * (config->high - config->low)
               || (memory->blind && !over)) {
        next = fmax(now, fmin(want, memory->want));
    }
    /* It sees again when two intervals have shown what is left. */
    memory->blind = blind || (memory->blind && (over || memory->over));
    memory->want = want;
    memory->over = over;
    memory->moved = next != now;
    return next;
}
