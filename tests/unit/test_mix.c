#include "elastic/mix.h"

#include "suites.h"

#include <string.h>

#define SECOND UINT64_C(1000000)
#define NOON (43200 * SECOND)

/* Sets of codings: any two will do. */
#define MANY 6u
#define FEW 2u

static el_counters_t counters;
static el_mix_t mix;

static void set_up(void)
{
    memset((void *)&counters, 0, sizeof(counters));
    memset(&mix, 0, sizeof(mix));
}

static void serve(unsigned set, uint64_t responses, uint64_t bytes)
{
    el_counters_add(&counters, 0, (el_counter_t)(EL_COUNT_CODING_SET + set), responses);
    el_counters_add(&counters, 1, EL_COUNT_COMPRESSED, responses);
    el_counters_add(&counters, 2, EL_COUNT_BYTES_IN, responses * bytes);
}

/* `seconds` of so many responses each, with two samples a second; returns the time. */
static uint64_t run(uint64_t now, unsigned seconds, unsigned set, unsigned rate, uint64_t bytes)
{
    for (unsigned i = 0; i < 2 * seconds; i++) {
        serve(set, rate / 2, bytes);
        now += SECOND / 2;
        el_mix_follow(&mix, &counters, now);
    }
    return now;
}

/* The share of responses that were chosen from a set. */
static double share(unsigned set)
{
    double sum = 0;

    for (unsigned i = 0; i < EL_CODING_SETS; i++) {
        sum += mix.weights.sets[i];
    }
    return mix.weights.sets[set] / sum;
}

START_TEST(nothing_has_no_body)
{
    ck_assert_uint_eq(el_mix_body(&mix), 0);
    el_mix_follow(&mix, &counters, NOON);
    ck_assert_uint_eq(el_mix_body(&mix), 0);
}
END_TEST

START_TEST(what_was_counted_before_the_first_look_counts)
{
    serve(MANY, 30, 1000);
    serve(FEW, 10, 5000);
    el_mix_follow(&mix, &counters, NOON);
    ck_assert_double_eq_tol(share(MANY), 0.75, 1e-9);
    ck_assert_uint_eq(el_mix_body(&mix), 2000);
}
END_TEST

static const unsigned rates[] = {2, 10, 100, 10000};

START_TEST(a_site_that_changes_at_noon_is_right_within_a_minute)
{
    uint64_t now = run(NOON - 3600 * SECOND, 3600, MANY, rates[_i], 100000);

    ck_assert_double_ge(share(MANY), 0.999);
    run(now, 60, FEW, rates[_i], 4000);
    ck_assert_double_ge(share(FEW), 0.97);
    ck_assert_uint_le(el_mix_body(&mix), 7000);
}
END_TEST

START_TEST(a_mix_that_stays_stays)
{
    uint64_t now = NOON;

    for (int i = 0; i < 600; i++) {
        serve(MANY, 3, 50000);
        serve(FEW, 1, 10000);
        el_mix_follow(&mix, &counters, now += SECOND);
        ck_assert_double_eq_tol(share(MANY), 0.75, 1e-6);
        ck_assert_uint_eq(el_mix_body(&mix), 40000);
    }
}
END_TEST

START_TEST(a_night_without_requests_is_no_change)
{
    uint64_t now = run(NOON, 60, MANY, 100, 30000);

    now = run(now, 10, FEW, 100, 30000);
    el_mix_follow(&mix, &counters, now + 8 * 3600 * SECOND);
    ck_assert_double_ge(share(MANY), 0.2);
    ck_assert_uint_eq(el_mix_body(&mix), 30000);
    /* A few requests are not the whole site. */
    serve(FEW, 2, 1000);
    el_mix_follow(&mix, &counters, now + 9 * 3600 * SECOND);
    ck_assert_double_ge(share(MANY), 0.2);
}
END_TEST

START_TEST(counters_and_clock_that_were_set_back_do_no_harm)
{
    run(NOON, 60, MANY, 100, 30000);
    memset((void *)&counters, 0, sizeof(counters));
    serve(FEW, 100, 2000);
    el_mix_follow(&mix, &counters, NOON);
    ck_assert_double_ge(share(FEW), 0.05);
    ck_assert_uint_ge(el_mix_body(&mix), 2000);
    ck_assert_uint_le(el_mix_body(&mix), 30000);
}
END_TEST

START_TEST(the_shared_one_is_the_same)
{
    static el_mix_shared_t shared;

    for (int i = 0; i < 20; i++) {
        el_mix_t all;

        serve(i < 10 ? MANY : FEW, 100, 1000);
        el_mix_follow(&mix, &counters, NOON + (uint64_t)i * SECOND);
        el_mix_follow_shared(&shared, &counters, NOON + (uint64_t)i * SECOND, &all);
        ck_assert_mem_eq(&all, &mix, sizeof(mix));
    }
}
END_TEST

Suite *mix_suite(void)
{
    TCase *tc = tcase_create("mix");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, nothing_has_no_body);
    tcase_add_test(tc, what_was_counted_before_the_first_look_counts);
    tcase_add_loop_test(tc, a_site_that_changes_at_noon_is_right_within_a_minute, 0, ROWS(rates));
    tcase_add_test(tc, a_mix_that_stays_stays);
    tcase_add_test(tc, a_night_without_requests_is_no_change);
    tcase_add_test(tc, counters_and_clock_that_were_set_back_do_no_harm);
    tcase_add_test(tc, the_shared_one_is_the_same);
    return suite_of("mix", tc);
}
