#include "elastic/control.h"

#include "suites.h"

#include <math.h>

#define TOP 8

static const el_control_config_t mix = {EL_CONTROL_MIX, 0.5, 0.8, 2.0, TOP, {0}};
static const el_control_config_t shedding = {EL_CONTROL_MIX, 0.5, 0.8, 0.9, TOP, {0}};

static el_control_memory_t memory;

static el_control_state_t next(const el_control_config_t *config, el_control_state_t state,
                               double busy)
{
    el_observation_t observed = {.busy = busy};

    return el_control_next(config, &observed, &memory, state);
}

/* One interval from position 4, with nothing remembered. */
static double moved(double busy)
{
    memory = (el_control_memory_t){0};
    return el_control_position(next(&mix, (el_control_state_t){4, TOP, false, 0}, busy)) - 4;
}

CASE(control_mix);

TEST(control_mix, the_middle_of_the_band_is_quiet)
{
    ck_assert_double_eq(moved(0.65), 0);
    ck_assert_double_eq(moved(0.601), 0);
    ck_assert_double_eq(moved(0.699), 0);
    ck_assert_double_lt(moved(0.71), 0);
    ck_assert_double_gt(moved(0.59), 0);
}

TEST(control_mix, the_move_grows_with_the_error)
{
    ck_assert_double_lt(moved(1.0), moved(0.9));
    ck_assert_double_lt(moved(0.9), moved(0.75));
    ck_assert_double_gt(moved(0.0), moved(0.3));
    ck_assert_double_lt(fabs(moved(0.75)), 1);
    ck_assert_double_eq_tol(moved(0.9), -moved(0.4), 1e-4);
}

TEST(control_mix, a_full_machine_is_at_the_floor_in_seven_intervals)
{
    el_control_state_t state = {TOP, TOP, false, 0};
    unsigned intervals = 0;

    memory = (el_control_memory_t){0};
    while (el_control_position(state) > 0) {
        state = next(&mix, state, 1.0);
        ck_assert_uint_le(++intervals, 7);
    }
    ck_assert_uint_ge(intervals, 4);
}

/* However long it was at a bound, the way back begins with the first interval. */
TEST(control_mix, nothing_winds_up_at_a_bound)
{
    el_control_state_t down, up;

    memory = (el_control_memory_t){0};
    for (unsigned i = 0; i < 1000; i++) {
        down = next(&mix, (el_control_state_t){0, TOP, false, 0}, 1.0);
        ck_assert_double_eq(el_control_position(down), 0);
    }
    ck_assert_double_gt(el_control_position(next(&mix, down, 0.3)), 0);
    memory = (el_control_memory_t){0};
    for (unsigned i = 0; i < 1000; i++) {
        up = next(&mix, (el_control_state_t){TOP, TOP, false, 0}, 0.0);
        ck_assert_double_eq(el_control_position(up), TOP);
    }
    ck_assert_double_lt(el_control_position(next(&mix, up, 0.9)), TOP);
}

/* A load that comes back from 1.0 to 0.9 is still too high. */
TEST(control_mix, the_brake_never_turns_a_move_around)
{
    el_control_state_t state = {4, TOP, false, 0}, after;

    memory = (el_control_memory_t){0};
    state = next(&mix, state, 1.0);
    after = next(&mix, state, 0.71);
    ck_assert_double_le(el_control_position(after), el_control_position(state));
    memory = (el_control_memory_t){0};
    state = next(&mix, (el_control_state_t){4, TOP, false, 0}, 0.0);
    after = next(&mix, state, 0.59);
    ck_assert_double_ge(el_control_position(after), el_control_position(state));
}

TEST(control_mix, bypass_begins_at_the_very_floor)
{
    el_control_state_t state;

    memory = (el_control_memory_t){0};
    state = next(&shedding, (el_control_state_t){0, TOP, false, 1}, 1.0);
    ck_assert(!state.bypass);
    ck_assert_double_eq(el_control_position(state), 0);
    state = next(&shedding, state, 1.0);
    ck_assert(state.bypass);
    state = next(&shedding, state, 0.7);
    ck_assert(state.bypass);
    state = next(&shedding, state, 0.6);
    ck_assert(!state.bypass);
    ck_assert_double_eq(el_control_position(state), 0);
}
