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

static const double cost[] = {5, 10, 20, 40, 80};
static const double ratio[] = {0.40, 0.36, 0.33, 0.31, 0.305};
static const el_curve_t curve = {cost, ratio, 4};
static const el_curve_t unknown = {NULL, NULL, 4};
static const el_goal_t fast = {.kind = EL_GOAL_LATENCY, .p95_usec = 1000};

START_TEST(half_of_the_way_to_a_latency)
{
    /* A quarter of the cost is asked for: half of it is where it goes first. */
    ck_assert_double_eq_tol(el_goal_latency(&fast, &curve, 3, 4000), 2, 1e-9);
    ck_assert_double_eq_tol(el_goal_latency(&fast, &curve, 1, 250), 2, 1e-9);
    ck_assert_double_eq_tol(el_goal_latency(&fast, &curve, 0, 9000), 0, 1e-9);
    ck_assert_double_eq_tol(el_goal_latency(&fast, &curve, 4, 10), 4, 1e-9);
}
END_TEST

START_TEST(a_latency_that_is_met_moves_nothing)
{
    ck_assert_double_eq(el_goal_latency(&fast, &curve, 2.5, 1000), 2.5);
    ck_assert_double_eq(el_goal_latency(&fast, &curve, 2.5, 1040), 2.5);
    ck_assert_double_eq(el_goal_latency(&fast, &curve, 2.5, 960), 2.5);
    ck_assert_double_lt(el_goal_latency(&fast, &curve, 2.5, 1080), 2.5);
    ck_assert_double_gt(el_goal_latency(&fast, &curve, 2.5, 920), 2.5);
}
END_TEST

START_TEST(without_costs_a_latency_is_felt_for)
{
    ck_assert_double_eq_tol(el_goal_latency(&fast, &unknown, 2, 1e9), 1.5, 1e-9);
    ck_assert_double_eq_tol(el_goal_latency(&fast, &unknown, 2, 1), 2.5, 1e-9);
    ck_assert_double_lt(el_goal_latency(&fast, &unknown, 2, 1200), 2);
    ck_assert_double_gt(el_goal_latency(&fast, &unknown, 2, 1200), 1.5);
    ck_assert_double_eq(el_goal_latency(&fast, &unknown, 0, 1e9), 0);
    ck_assert_double_eq(el_goal_latency(&fast, &unknown, 4, 1), 4);
}
END_TEST

START_TEST(a_price_is_cpu_and_egress)
{
    el_goal_t goal = {.kind = EL_GOAL_COST, .per_core_hour = 0.36, .per_gbyte = 0.10};

    /* 10 µs for 1024 bytes are 9.765625 core seconds a GB, of which an hour costs 0.36. */
    ck_assert_double_eq_tol(el_goal_price(&goal, &curve, 1), 0.0009765625 + 0.036, 1e-12);
}
END_TEST

static const struct {
    const char *guards;
    double per_core_hour, per_gbyte;
    double from, best;
} prices[] = {
    {"CPU for nothing: the ceiling", 0, 0.08, 0, 4},
    {"egress for nothing: the floor", 0.04, 0, 4, 0},
    {"a cloud's prices", 0.04, 0.08, 0, 3},
    {"dear CPU", 2, 0.10, 0, 1},
    {"dearer CPU", 40, 0.10, 4, 0},
    {"in between", 1, 0.10, 4, 2},
    {"less than a hundredth saved: it stays", 0.04, 0.08, 3.5, 3.5},
    {"more than that", 0.04, 0.08, 2, 3},
};

START_TEST(the_cheapest_setup_is_found)
{
    el_goal_t goal = {.kind = EL_GOAL_COST, .per_core_hour = prices[_i].per_core_hour,
                      .per_gbyte = prices[_i].per_gbyte};
    double got = el_goal_cheapest(&goal, &curve, prices[_i].from);

    ck_assert_msg(got == prices[_i].best, "%s: %f", prices[_i].guards, got);
    for (unsigned p = 0; p <= curve.top; p++) {
        ck_assert_double_le(el_goal_price(&goal, &curve, got),
                            1.01011 * el_goal_price(&goal, &curve, p));
    }
}
END_TEST

START_TEST(a_byte_is_worth_its_time_on_the_wire)
{
    static const char *const others[] = {"cpu", "latency p95 5ms", "cost 0.02/h 0.1/GB"};
    el_goal_t goal;

    ck_assert(el_goal_parse("time", 4, &goal));
    ck_assert(el_goal_is_priced(&goal));
    ck_assert_double_eq_tol(el_goal_worth(&goal), 1600, 1e-6);
    ck_assert(el_goal_parse("time 20Mbit/s", 13, &goal));
    ck_assert_double_eq_tol(el_goal_worth(&goal), 400, 1e-6);
    for (int i = 0; i < ROWS(others); i++) {
        ck_assert(el_goal_parse(others[i], strlen(others[i]), &goal));
        ck_assert(!el_goal_is_priced(&goal));
    }
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
    tcase_add_test(tc, half_of_the_way_to_a_latency);
    tcase_add_test(tc, a_latency_that_is_met_moves_nothing);
    tcase_add_test(tc, without_costs_a_latency_is_felt_for);
    tcase_add_test(tc, a_price_is_cpu_and_egress);
    tcase_add_loop_test(tc, the_cheapest_setup_is_found, 0, ROWS(prices));
    tcase_add_test(tc, a_byte_is_worth_its_time_on_the_wire);
    tcase_add_loop_test(tc, a_connections_rate_counts_within_bounds, 0, ROWS(rates));
    return suite_of("goal", tc);
}
