#include "elastic/control.h"
#include "elastic/curve.h"

#include "suites.h"

#include <math.h>

#define TOP 4
#define CAPACITY 1e6

/* It aims at 0.725. */
static const el_control_config_t predict = {EL_CONTROL_PREDICT, 0.5, 0.8, 2.0, TOP, {0}};

/* Each setup costs twice as much as the one below. */
static const double cost[] = {5, 10, 20, 40, 80};
/* Position 3's engine has become three times as slow. */
static const double slowed[] = {5, 10, 20, 120, 80};

static el_control_memory_t memory;

static double next(const el_control_config_t *config, const double *costs, double position,
                   double busy, double spent)
{
    el_observation_t observed = {
        .busy = busy, .capacity_usec = CAPACITY, .spent_usec = spent * CAPACITY, .cost = costs,
        /* What the curve expects of that much CPU. */
        .kbytes = spent * CAPACITY / (costs != NULL
            ? el_curve_cost(&(el_curve_t){costs, TOP}, position) : 20),
    };
    el_control_state_t state = el_control_at((el_control_state_t){0, TOP, false, 0}, position);

    return el_control_position(el_control_next(config, &observed, &memory, state));
}

static const struct {
    const char *guards;
    double from, busy, spent;
    double to;
} down[] = {
    /* Others use 0.1 and compression 0.8: 0.625 are left for it. */
    {"to what fits, at once", 4, 0.9, 0.8, 3.5625},
    {"two setups down at once", 4, 0.95, 0.36, 2.5},
    {"others use most of it", 4, 0.85, 0.15, 1.333328},
    {"others use all of it: the floor", 4, 0.9, 0.1, 0},
    {"full: what is asked of it does not show", 4, 0.97, 0.9, 0},
    {"full to the brim", 4, 1.0, 0.9, 0},
    {"nothing was compressed, and still too much", 4, 0.9, 0, 0},
    {"at the floor", 0, 0.9, 0.5, 0},
    {"at high: nothing", 4, 0.8, 0.7, 4},
    {"within the band: nothing", 2.5, 0.65, 0.3, 2.5},
    {"in the lower part of the band: not yet", 2.5, 0.5, 0.3, 2.5},
};

START_TEST(down_at_once)
{
    double to;

    memory = (el_control_memory_t){0};
    to = next(&predict, cost, down[_i].from, down[_i].busy, down[_i].spent);
    ck_assert_msg(fabs(to - down[_i].to) < 1e-4, "%s: %f", down[_i].guards, to);
}
END_TEST

/* Of ten ticks, one that was idle may be chance; of a hundred, five are not. */
START_TEST(a_short_sample_is_full_with_an_idle_tick)
{
    static const struct {
        double capacity, busy;
        bool full;
    } samples[] = {
        {1e5, 0.9, true}, {1e5, 0.86, false}, {1e6, 0.96, true}, {1e6, 0.95, false},
        {0, 0.97, true}, {0, 0.96, false},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        el_observation_t observed = {
            .busy = samples[i].busy, .capacity_usec = samples[i].capacity,
            .spent_usec = 0.5 * samples[i].capacity, .cost = cost,
            .kbytes = 0.5 * samples[i].capacity / cost[TOP],
        };
        el_control_state_t state = {TOP, TOP, false, 0};

        memory = (el_control_memory_t){0};
        state = el_control_next(&predict, &observed, &memory, state);
        ck_assert_msg(memory.saturated == samples[i].full, "%g of %g", observed.busy,
                      observed.capacity_usec);
    }
}
END_TEST

START_TEST(up_after_two_intervals_that_agree)
{
    memory = (el_control_memory_t){0};
    /* Others use 0.1, compression 0.1 at position 0: 0.625 is 6.25 times as much. */
    ck_assert_double_eq_tol(next(&predict, cost, 0, 0.2, 0.1), 0, 1e-4);
    ck_assert_double_eq_tol(next(&predict, cost, 0, 0.2, 0.1), 2.5625, 1e-4);
    /* And no further than the more careful of both. */
    memory = (el_control_memory_t){0};
    ck_assert_double_eq_tol(next(&predict, cost, 0, 0.4, 0.1), 0, 1e-4);
    ck_assert_double_eq_tol(next(&predict, cost, 0, 0.2, 0.1), 2.0625, 1e-4);
}
END_TEST

START_TEST(one_quiet_interval_moves_no_further_than_the_one_before_it)
{
    memory = (el_control_memory_t){0};
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_double_eq(next(&predict, cost, 1, 0.65, 0.35), 1);
        ck_assert_double_eq_tol(next(&predict, cost, 1, 0.0, 0.0), 1.214286, 1e-4);
    }
    ck_assert_double_eq(next(&predict, cost, 1, 0.0, 0.0), TOP);
}
END_TEST

/* The same, of an interval after none. */
static double first(const double *costs, unsigned position, double busy, double used)
{
    memory = (el_control_memory_t){0};
    return next(&predict, costs, position, busy, used);
}

START_TEST(a_second_interval_above_the_threshold_ends_at_the_floor)
{
    ck_assert_double_eq_tol(first(cost, 4, 0.9, 0.6), 3.41667, 1e-3);
    ck_assert_double_eq(next(&predict, cost, 3, 0.85, 0.5), 0);
    /* Not where one in between was not above it. */
    ck_assert_double_gt(first(cost, 4, 0.9, 0.6), 3);
    ck_assert_double_eq(next(&predict, cost, 3, 0.7, 0.4), 3);
    ck_assert_double_gt(next(&predict, cost, 3, 0.85, 0.5), 1);
}
END_TEST

START_TEST(from_the_floor_it_comes_back_into_the_band)
{
    ck_assert_double_eq(first(cost, TOP, 1.0, 0.9), 0);
    /* The first interval is partly of the time before; two of them count. */
    ck_assert_double_eq(next(&predict, cost, 0, 0.7, 0.1), 0);
    ck_assert_double_gt(next(&predict, cost, 0, 0.7, 0.1), 0.1);
    /* And once only. */
    ck_assert_double_eq(next(&predict, cost, 1, 0.65, 0.1), 1);
    ck_assert_double_eq(next(&predict, cost, 1, 0.65, 0.1), 1);
    /* An interval above the threshold changes nothing. */
    ck_assert_double_eq(first(cost, TOP, 1.0, 0.9), 0);
    ck_assert_double_eq(next(&predict, cost, 0, 0.9, 0.1), 0);
    ck_assert_double_eq(next(&predict, cost, 0, 0.7, 0.1), 0);
    ck_assert_double_gt(next(&predict, cost, 0, 0.7, 0.1), 0.1);
}
END_TEST

START_TEST(a_slowed_engine_changes_the_choice)
{
    /* With 0.3 of others, 0.425 are left. */
    ck_assert_double_eq_tol(first(cost, 4, 0.9, 0.6), 3.41667, 1e-3);
    ck_assert_double_eq_tol(first(slowed, 4, 0.9, 0.6), 2.36667, 1e-3);
    /* From the slow setup, the one above it is the cheaper one. */
    ck_assert_double_eq_tol(first(slowed, 3, 0.9, 0.4), 2.475, 1e-4);
    ck_assert_double_eq_tol(first(slowed, 3, 0.82, 0.55), 4, 1e-4);
}
END_TEST

/* The figures of an interval: content that costs three times what the curve says, and noise. */
START_TEST(the_interval_scales_the_curve)
{
    el_observation_t observed = {.busy = 0.9, .capacity_usec = CAPACITY,
                                 .spent_usec = 0.6 * CAPACITY,
                                 .kbytes = 0.2 * CAPACITY / 80, .cost = cost};
    el_control_state_t top = {TOP, TOP, false, 0};

    memory = (el_control_memory_t){0};
    ck_assert_double_eq_tol(
        el_control_position(el_control_next(&predict, &observed, &memory, top)), 3.41667, 1e-3);
    /* After that move, an interval in between: what was known before counts for more. */
    memory.over = false;
    observed.kbytes = 0.3 * CAPACITY / 80;
    ck_assert_double_eq_tol(
        el_control_position(el_control_next(&predict, &observed, &memory, top)), 3.03030, 1e-3);
    memory = (el_control_memory_t){0};
    /* Without CPU time the bytes count, by the curve. */
    observed.spent_usec = 0;
    observed.kbytes = 0.6 * CAPACITY / 80;
    ck_assert_double_eq_tol(
        el_control_position(el_control_next(&predict, &observed, &memory, top)), 3.41667, 1e-3);
}
END_TEST

START_TEST(without_costs_it_mixes)
{
    el_control_config_t mix = predict;
    el_control_memory_t other = {0}, kept = {0};
    double position = 4, mixed = 4;

    mix.mode = EL_CONTROL_MIX;
    for (unsigned i = 0; i < 20; i++) {
        double busy = 0.1 * (i % 10);

        memory = kept;
        position = next(&predict, NULL, position, busy, 0.1);
        kept = memory;
        memory = other;
        mixed = next(&mix, NULL, mixed, busy, 0.1);
        other = memory;
        ck_assert_double_eq(position, mixed);
    }
}
END_TEST

Suite *control_predict_suite(void)
{
    TCase *tc = tcase_create("control_predict");

    tcase_add_loop_test(tc, down_at_once, 0, ROWS(down));
    tcase_add_test(tc, a_short_sample_is_full_with_an_idle_tick);
    tcase_add_test(tc, up_after_two_intervals_that_agree);
    tcase_add_test(tc, one_quiet_interval_moves_no_further_than_the_one_before_it);
    tcase_add_test(tc, a_second_interval_above_the_threshold_ends_at_the_floor);
    tcase_add_test(tc, from_the_floor_it_comes_back_into_the_band);
    tcase_add_test(tc, a_slowed_engine_changes_the_choice);
    tcase_add_test(tc, the_interval_scales_the_curve);
    tcase_add_test(tc, without_costs_it_mixes);
    return suite_of("control_predict", tc);
}
