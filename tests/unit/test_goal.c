#include "elastic/goal.h"

#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE ((el_goal_kind_t)99)

static const struct {
    const char *text;
    el_goal_kind_t kind; /* NONE: refused */
    double one, two;     /* bits a second, or the prices */
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
    {"latency p95 5ms", NONE, 0, 0},
    {"time .5Mbit/s", EL_GOAL_TIME, 5e5, 0},
    {"time 1.2.3Mbit/s", NONE, 0, 0},
    {"time 1e3Mbit/s", NONE, 0, 0},
    {"time Mbit/s", NONE, 0, 0},
    {"time 1234567890123456bit/s", NONE, 0, 0},
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
    if (goal.kind == EL_GOAL_TIME) {
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
    return el_goal_worth(&goal);
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
    tcase_add_loop_test(tc, a_connections_rate_counts_within_bounds, 0, ROWS(rates));
    return suite_of("goal", tc);
}
