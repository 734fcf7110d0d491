#include "elastic/control.h"
#include "elastic/goal.h"

#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE ((el_goal_kind_t)99)

static const struct {
    const char *text;
    el_goal_kind_t kind; /* NONE: refused */
    double one, two;     /* µs, bits a second, or the prices */
} texts[] = {
    {"cpu", EL_GOAL_CPU, 0, 0},
    {"  CPU\t", EL_GOAL_CPU, 0, 0},
    {"cpu 5", NONE, 0, 0},
    {"cpux", NONE, 0, 0},
    {"", NONE, 0, 0},
    {"   ", NONE, 0, 0},
    {"time", EL_GOAL_TIME, 5e6, 0},
    {"Time 20Mbit/s", EL_GOAL_TIME, 20e6, 0},
    {"time 1.5gbit/s", EL_GOAL_TIME, 1.5e9, 0},
    {"time 256kbit/s", EL_GOAL_TIME, 256e3, 0},
    {"time 9600bit/s", EL_GOAL_TIME, 9600, 0},
    {"time 0Mbit/s", NONE, 0, 0},
    {"time 5", NONE, 0, 0},
    {"time 5MB/s", NONE, 0, 0},
    {"time 5Mbit", NONE, 0, 0},
    {"time -5Mbit/s", NONE, 0, 0},
    {"time 5 Mbit/s", NONE, 0, 0},
    {"time fast", NONE, 0, 0},
    {"time 5Mbit/s x", NONE, 0, 0},
    {"time auto", EL_GOAL_TIME, 5e6, 0},
    {"time AUTO 2Mbit/s 50Mbit/s", EL_GOAL_TIME, 5e6, 0},
    {"time auto 10Mbit/s 50Mbit/s", EL_GOAL_TIME, 10e6, 0},
    {"time auto 100kbit/s 1Mbit/s", EL_GOAL_TIME, 1e6, 0},
    {"time auto 3Mbit/s 3Mbit/s", EL_GOAL_TIME, 3e6, 0},
    {"time auto 2Mbit/s", NONE, 0, 0},
    {"time auto 2Mbit/s 1Mbit/s", NONE, 0, 0},
    {"time auto 0Mbit/s 1Mbit/s", NONE, 0, 0},
    {"time auto 1Mbit/s 2Mbit/s 3Mbit/s", NONE, 0, 0},
    {"time 5Mbit/s 1Mbit/s 20Mbit/s", NONE, 0, 0},
    {"latency p95 5ms", EL_GOAL_LATENCY, 5000, 0},
    {"latency p95 5", EL_GOAL_LATENCY, 5000, 0},
    {"Latency P95 2S", EL_GOAL_LATENCY, 2e6, 0},
    {"latency p95 750us", EL_GOAL_LATENCY, 750, 0},
    {"latency p95 1.5ms", EL_GOAL_LATENCY, 1500, 0},
    {"latency p95 .5ms", EL_GOAL_LATENCY, 500, 0},
    {"latency p95 0ms", NONE, 0, 0},
    {"latency p95 ms", NONE, 0, 0},
    {"latency p95 -5ms", NONE, 0, 0},
    {"latency p95 5 ms", NONE, 0, 0},
    {"latency p95 5min", NONE, 0, 0},
    {"latency p95 1.2.3ms", NONE, 0, 0},
    {"latency p95 1e3ms", NONE, 0, 0},
    {"latency p95 1234567890123456ms", NONE, 0, 0},
    {"latency p99 5ms", NONE, 0, 0},
    {"latency p95", NONE, 0, 0},
    {"latency", NONE, 0, 0},
    {"latency p95 5ms x", NONE, 0, 0},
    {"cost 0.04/h 0.08/GB", EL_GOAL_COST, 0.04, 0.08},
    {"cost 1/H 2/gb", EL_GOAL_COST, 1, 2},
    {"cost 0/h 0.08/GB", EL_GOAL_COST, 0, 0.08},
    {"cost 0.04/h 0/GB", EL_GOAL_COST, 0.04, 0},
    {"cost 0/h 0/GB", NONE, 0, 0},
    {"cost 0.08/GB 0.04/h", NONE, 0, 0},
    {"cost 0.04/h", NONE, 0, 0},
    {"cost 0.04 0.08", NONE, 0, 0},
    {"cost 0.04/h 0.08/GB 1", NONE, 0, 0},
    {"cost ./h 0.08/GB", NONE, 0, 0},
};

START_TEST(a_text_is_a_goal)
{
    const char *text = texts[_i].text;
    size_t len = strlen(text);
    char *exact = malloc(len > 0 ? len : 1);
    el_goal_t goal = {.kind = NONE};
    bool good;

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    good = el_goal_parse(exact, len, &goal);
    free(exact);
    ck_assert_msg(good == (texts[_i].kind != NONE), "%s", text);
    ck_assert_msg(goal.kind == texts[_i].kind, "%s: kind", text);
    if (goal.kind == EL_GOAL_LATENCY) {
        ck_assert_msg(fabs(goal.p95_usec - texts[_i].one) < 1e-6, "%s: %f", text, goal.p95_usec);
    } else if (goal.kind == EL_GOAL_TIME) {
        ck_assert_msg(fabs(goal.rate - texts[_i].one) < 1e-3, "%s: %f", text, goal.rate);
    } else if (goal.kind == EL_GOAL_COST) {
        ck_assert_msg(fabs(goal.per_core_hour - texts[_i].one) < 1e-9, "%s: core", text);
        ck_assert_msg(fabs(goal.per_gbyte - texts[_i].two) < 1e-9, "%s: GB", text);
    }
}
END_TEST

static double worth_of(const char *text)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(text, strlen(text), &goal));
    ck_assert(el_goal_is_priced(&goal));
    return el_goal_worth(&goal, 0, 0);
}

static const struct {
    const char *text;
    double worth;
} worths[] = {
    {"time", 1600},
    {"time 20Mbit/s", 400},
    {"time auto 1Mbit/s 2Mbit/s", 4000},
    /* A GB for 0.09 is 9e-11 a byte; a core's hour for 0.045 is 1.25e-14 a nanosecond. */
    {"cost 0.045/h 0.09/GB", 7200},
    {"cost 45/h 0.09/GB", 7.2},
    {"cost 1/h 0/GB", 0},
    {"latency p95 5ms", 1600},
    /* As much as any setup may cost, and not more. */
    {"cost 0/h 0.09/GB", 2e5},
    {"cost 0.0001/h 10/GB", 2e5},
    {"time 1bit/s", 2e5},
};

START_TEST(a_goal_says_what_a_byte_is_worth)
{
    double got = worth_of(worths[_i].text);

    ck_assert_msg(fabs(got - worths[_i].worth) < 1e-6, "%s: %f", worths[_i].text, got);
}
END_TEST

START_TEST(the_thresholds_set_no_price)
{
    el_goal_t goal = {.kind = EL_GOAL_CPU};

    ck_assert(!el_goal_is_priced(&goal));
}
END_TEST

static const struct {
    const char *guards;
    double before, p95, worth;
} latencies[] = {
    {"four times too slow: half of the way", 1000, 4000, 500},
    {"four times as fast as it has to be", 1000, 250, 2000},
    {"met", 1000, 1000, 1000},
    {"met within what is known", 1000, 1040, 1000},
    {"met within what is known, from below", 1000, 960, 1000},
    {"not known", 1000, 0, 1000},
    {"nothing is known", 0, 0, 1600},
    {"no end of it", 1000, 1e9, 8},
    {"no time at all", 1000, 1e-3, 8000},
};

START_TEST(a_latency_moves_the_worth)
{
    static const el_goal_t goal = {.kind = EL_GOAL_LATENCY, .p95_usec = 1000};
    double got = el_goal_worth(&goal, latencies[_i].before, latencies[_i].p95);

    ck_assert_msg(fabs(got - latencies[_i].worth) < 1e-6, "%s: %f", latencies[_i].guards, got);
}
END_TEST

START_TEST(prices_of_a_latency_are_spread_around_its_own)
{
    double product = 1;

    for (unsigned n = 0; n < 1000; n++) {
        double factor = el_goal_spread(el_control_turn(n));

        ck_assert(factor >= 0.5 && factor < 2);
        product *= factor;
    }
    ck_assert_double_eq_tol(log(product) / 1000, 0, 0.01);
    ck_assert_double_lt(el_goal_spread(655), 0.51);
    ck_assert_double_gt(el_goal_spread(64880), 1.96);
}
END_TEST

static const struct {
    const char *text;
    double measured;
    bool limited;
    double rate;
} rates[] = {
    {"time auto", 3e6, false, 3e6},   {"time auto", 1e5, false, 1e6},
    {"time auto", 1e9, false, 20e6},  {"time auto", 3e6, true, 5e6},
    {"time auto", 8e6, true, 8e6},    {"time auto", 1e9, true, 20e6},
    {"time auto 1kbit/s 1Gbit/s", 5e8, false, 5e8},
};

START_TEST(a_connections_rate_counts_within_bounds)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(rates[_i].text, strlen(rates[_i].text), &goal));
    ck_assert_double_eq(el_goal_rate(&goal, rates[_i].measured, rates[_i].limited), rates[_i].rate);
}
END_TEST

Suite *goal_suite(void)
{
    TCase *tc = tcase_create("goal");

    tcase_add_loop_test(tc, a_text_is_a_goal, 0, ROWS(texts));
    tcase_add_loop_test(tc, a_goal_says_what_a_byte_is_worth, 0, ROWS(worths));
    tcase_add_test(tc, the_thresholds_set_no_price);
    tcase_add_loop_test(tc, a_latency_moves_the_worth, 0, ROWS(latencies));
    tcase_add_test(tc, prices_of_a_latency_are_spread_around_its_own);
    tcase_add_loop_test(tc, a_connections_rate_counts_within_bounds, 0, ROWS(rates));
    return suite_of("goal", tc);
}
