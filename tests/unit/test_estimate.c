#include "elastic/estimate.h"

#include "suites.h"

#include <math.h>
#include <string.h>

#define NOISE 0.25
#define START 1000u

static _Atomic uint64_t words[4];

/* What two estimates share, and what each has for itself. */
enum { SHARED, ONE, OTHER };

static const el_estimate_t one = {2, {SHARED, ONE}, {0.1, 0.02}};
static const el_estimate_t other = {2, {SHARED, OTHER}, {0.1, 0.02}};

static void set_up(void)
{
    memset((void *)words, 0, sizeof(words));
}

static void learn(const el_estimate_t *estimate, int times, double measured, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_estimate_learn(words, estimate, measured, now);
    }
}

static double value(const el_estimate_t *estimate, uint32_t now)
{
    return el_estimate_value(words, estimate, now);
}

START_TEST(nothing_is_known_at_first)
{
    ck_assert_double_eq(value(&one, START), 0);
    ck_assert_uint_eq(el_estimate_age(&words[ONE], START), UINT32_MAX);
}
END_TEST

START_TEST(measurements_are_believed)
{
    learn(&one, 1, 0.4, START);
    ck_assert_double_ge(value(&one, START), 0.2);
    learn(&one, 20, 0.4, START);
    ck_assert_double_eq_tol(value(&one, START), 0.4, 0.1);
    learn(&one, 500, 0.4, START);
    ck_assert_double_eq_tol(value(&one, START), 0.4, 0.001);
}
END_TEST

START_TEST(many_at_a_time_are_averaged)
{
    for (int i = 0; i < 200; i++) {
        learn(&one, 1, i % 2 ? 0.6 : 0.2, START);
    }
    ck_assert_double_eq_tol(value(&one, START), 0.4, 0.03);
}
END_TEST

START_TEST(negative_values_are_as_good)
{
    learn(&one, 500, -0.7, START);
    ck_assert_double_eq_tol(value(&one, START), -0.7, 0.002);
}
END_TEST

START_TEST(the_age_is_that_of_the_last_measurement)
{
    learn(&one, 1, 0.4, START);
    learn(&one, 1, 0.4, START + 10);
    ck_assert_uint_eq(el_estimate_age(&words[ONE], START + 17), 7);
    ck_assert_uint_eq(el_estimate_age(&words[OTHER], START + 17), UINT32_MAX);
    /* Another thread's clock may be a little behind. */
    ck_assert_uint_eq(el_estimate_age(&words[ONE], START + 5), 0);
    ck_assert_double_ge(value(&one, START + 5), 0.2);
}
END_TEST

START_TEST(the_clock_may_run_over)
{
    uint32_t end = (1u << 24) - 5;

    learn(&one, 500, 0.4, end);
    ck_assert_uint_eq(el_estimate_age(&words[ONE], end + 20), 20);
    ck_assert_double_eq_tol(value(&one, end + 20), 0.4, 0.005);
}
END_TEST

START_TEST(what_is_shared_is_known_of_the_others_too)
{
    learn(&one, 50, 0.8, START);
    ck_assert_double_ge(value(&other, START), 0.6);
    ck_assert_double_le(value(&other, START), 0.8);
}
END_TEST

/* Each has its own value, whatever the order of the measurements. */
START_TEST(what_is_not_shared_is_told_apart)
{
    for (int i = 0; i < 3000; i++) {
        learn(&one, 1, 0.5, START);
        learn(&other, 1, 0.2, START);
    }
    ck_assert_double_eq_tol(value(&one, START), 0.5, 0.02);
    ck_assert_double_eq_tol(value(&other, START), 0.2, 0.02);
    ck_assert_double_eq_tol(el_estimate_mean(&words[SHARED], START), 0.35, 0.1);
}
END_TEST

/* Both double at once; only one of them is measured since. */
START_TEST(a_change_of_all_is_followed_by_what_is_not_measured)
{
    for (uint32_t t = 0; t < 600; t++) {
        learn(&one, 1, 0.3, START + t);
        learn(&other, 1, 0, START + t);
    }
    for (uint32_t t = 600; t < 630; t++) {
        learn(&one, 1, 1.3, START + t);
    }
    ck_assert_double_eq_tol(value(&one, START + 630), 1.3, 0.05);
    ck_assert_double_eq_tol(value(&other, START + 630), 1, 0.35);
}
END_TEST

/* Some noise of the size that is reckoned with: the sum of four even ones. */
static double noise(uint32_t *seed)
{
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        *seed = *seed * 1664525 + 1013904223;
        sum += (double)(*seed >> 8) / (1 << 24) - 0.5;
    }
    return sum * NOISE * sqrt(3);
}

/* {seconds between measurements, what changes} */
static const struct {
    uint32_t every;
    double step;
} changes[] = {{1, 0.5}, {1, 1}, {1, -1}, {1, 2}, {2, 1}};

START_TEST(a_change_is_followed_within_30_seconds)
{
    uint32_t seed = 7, t = START;
    double step = changes[_i].step;

    for (; t < START + 1800; t += changes[_i].every) {
        learn(&one, 1, noise(&seed), t);
    }
    ck_assert_double_eq_tol(value(&one, t), 0, 0.2);
    for (; t < START + 1830; t += changes[_i].every) {
        learn(&one, 1, step + noise(&seed), t);
    }
    ck_assert_msg(fabs(value(&one, t) - step) < 0.25, "every %u s: %.2f of %.2f",
                  changes[_i].every, value(&one, t), step);
}
END_TEST

START_TEST(noise_is_averaged_where_nothing_changes)
{
    uint32_t seed = 3;

    for (uint32_t t = 0; t < 3600; t++) {
        for (int i = 0; i < 10; i++) {
            learn(&one, 1, noise(&seed), START + t);
        }
        ck_assert_msg(t < 10 || fabs(value(&one, START + t)) < 0.3, "%.2f after %u s",
                      value(&one, START + t), t);
    }
}
END_TEST

START_TEST(a_single_outlier_is_hardly_noticed)
{
    learn(&one, 100, 0, START);
    learn(&one, 1, 100, START);
    ck_assert_double_le(value(&one, START), 0.15);
    learn(&one, 1, -100, START);
    ck_assert_double_eq_tol(value(&one, START), 0, 0.02);
}
END_TEST

START_TEST(what_was_learned_fades)
{
    learn(&one, 1000, 0.8, START);
    ck_assert_double_ge(value(&one, START + 60), 0.78);
    ck_assert_double_eq_tol(value(&one, START + EL_ESTIMATE_FADE), 0.8 * exp(-1), 0.01);
    ck_assert_double_le(value(&one, START + 12 * EL_ESTIMATE_FADE), 0.001);
    /* And the next measurement is as good as a first one. */
    learn(&one, 1, 0.4, START + 12 * EL_ESTIMATE_FADE);
    ck_assert_double_ge(value(&one, START + 12 * EL_ESTIMATE_FADE), 0.2);
}
END_TEST

START_TEST(the_largest_values_fit)
{
    const el_estimate_t wide = {1, {SHARED}, {1}};

    for (int i = 0; i < 1500; i++) {
        learn(&wide, 1, 1e9, START);
    }
    ck_assert_double_eq_tol(el_estimate_mean(&words[SHARED], START), 127, 0.01);
    learn(&wide, 3000, -1e9, START);
    ck_assert_double_eq_tol(el_estimate_mean(&words[SHARED], START), -127, 0.01);
    learn(&one, 70000, 0.5, START);
    ck_assert_double_eq_tol(value(&one, START), 0.5, 0.01);
}
END_TEST

Suite *estimate_suite(void)
{
    TCase *tc = tcase_create("estimate");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, nothing_is_known_at_first);
    tcase_add_test(tc, measurements_are_believed);
    tcase_add_test(tc, many_at_a_time_are_averaged);
    tcase_add_test(tc, negative_values_are_as_good);
    tcase_add_test(tc, the_age_is_that_of_the_last_measurement);
    tcase_add_test(tc, the_clock_may_run_over);
    tcase_add_test(tc, what_is_shared_is_known_of_the_others_too);
    tcase_add_test(tc, what_is_not_shared_is_told_apart);
    tcase_add_test(tc, a_change_of_all_is_followed_by_what_is_not_measured);
    tcase_add_loop_test(tc, a_change_is_followed_within_30_seconds, 0, ROWS(changes));
    tcase_add_test(tc, noise_is_averaged_where_nothing_changes);
    tcase_add_test(tc, a_single_outlier_is_hardly_noticed);
    tcase_add_test(tc, what_was_learned_fades);
    tcase_add_test(tc, the_largest_values_fit);
    return suite_of("estimate", tc);
}
