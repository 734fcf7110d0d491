#include "elastic/history.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>

static el_counters_t counters;

static void set_up_counters(void)
{
    memset(&counters, 0, sizeof(counters));
}

/* Counts in two stripes. */
static void count(el_counter_t counter, uint64_t add)
{
    el_counters_add(&counters, 0, counter, add / 4);
    el_counters_add(&counters, 1, counter, add - add / 4);
}

static el_savings_t saved(void)
{
    return el_savings_of(&counters);
}

START_TEST(nothing_counted_is_nothing_saved)
{
    el_savings_t savings = saved();

    ck_assert(el_savings_cpu(&savings) == 0 && el_savings_bytes(&savings) == 0);
    count(EL_COUNT_BYTES_OUT, 500);
    savings = saved();
    ck_assert(savings.stock_out == 500 && el_savings_bytes(&savings) == 0);
}
END_TEST

/* 10 GB as 2; a tenth was sampled, which took 50 s, and 150 s and a quarter more bytes by zlib 6. */
static void count_a_day(void)
{
    count(EL_COUNT_COMPRESSED, 7);
    count(EL_COUNT_PRECOMPRESSED, 3);
    count(EL_COUNT_BYTES_IN, 10000000000u);
    count(EL_COUNT_BYTES_OUT, 2000000000u);
    count(EL_COUNT_SAMPLED_IN, 1000000000u);
    count(EL_COUNT_SAMPLED_OUT, 400000000u);
    count(EL_COUNT_SAMPLED_NSEC, 50000000000u);
    count(EL_COUNT_STOCK_NSEC, 150000000000u);
    count(EL_COUNT_STOCK_OUT, 500000000u);
    count(EL_COUNT_EXPLORED_NSEC, 30000000000u);
    count(EL_COUNT_IMPROVED_NSEC, 70000000000u);
}

START_TEST(what_was_sampled_stands_for_all)
{
    el_savings_t savings;

    count_a_day();
    savings = saved();
    ck_assert_uint_eq(savings.responses, 7);
    ck_assert_uint_eq(savings.precompressed, 3);
    ck_assert_uint_eq(savings.in, 10000000000u);
    ck_assert_uint_eq(savings.out, 2000000000u);
    ck_assert_double_eq_tol(savings.encoding_usec, 500e6, 1);
    ck_assert_double_eq_tol(savings.beside_usec, 100e6, 1);
    ck_assert_double_eq_tol(savings.stock_usec, 1500e6, 1);
    /* By the bytes after: the sample compresses half as well as the rest. */
    ck_assert_double_eq_tol(savings.stock_out, 2.5e9, 1);
    ck_assert_double_eq_tol(el_savings_cpu(&savings), 900e6, 1);
    ck_assert_double_eq_tol(el_savings_bytes(&savings), 0.5e9, 1);
}
END_TEST

START_TEST(what_takes_more_than_mod_deflate_is_below_0)
{
    el_savings_t savings;

    count_a_day();
    count(EL_COUNT_SAMPLED_NSEC, 150000000000u);
    count(EL_COUNT_SAMPLED_OUT, 200000000u);
    savings = saved();
    ck_assert_double_eq_tol(el_savings_cpu(&savings), -600e6, 1);
    ck_assert(el_savings_bytes(&savings) < 0);
}
END_TEST

START_TEST(what_is_shown_as_a_counter_never_falls)
{
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_CPU_USEC, 70.9), 70);
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_CPU_USEC, 50), 70);
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_STOCK_OUT, -1), 0);
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_CPU_USEC, 71), 71);
    memset(&counters, 0, sizeof(counters));
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_CPU_USEC, 5), 5);
}
END_TEST

#define THREADS 3
#define ROUNDS 20000

static el_history_t past;

/* A status page that is asked for again and again, while responses go out. */
static void *look_on(void *fallen)
{
    uint64_t before = 0;

    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t shown = el_counters_shown(&counters, EL_SHOWN_CPU_USEC, i % 7 ? i : i / 2);

        *(bool *)fallen |= shown < before;
        before = shown;
        el_counters_add(&counters, i, EL_COUNT_BYTES_IN, 1);
    }
    return NULL;
}

START_TEST(what_several_look_at_falls_for_nobody)
{
    pthread_t threads[THREADS];
    bool fallen[THREADS] = {false};

    memset(&past, 0, sizeof(past));
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, look_on, &fallen[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert(!fallen[i]);
    }
    ck_assert_uint_eq(el_counters_shown(&counters, EL_SHOWN_CPU_USEC, 0), ROUNDS);
}
END_TEST

static el_history_t history;

static void set_up(void)
{
    memset(&history, 0, sizeof(history));
    memset(&counters, 0, sizeof(counters));
}

START_TEST(a_minute_has_the_means_of_its_samples)
{
    el_history_point_t point;

    ck_assert(!el_history_get(&history, 7, &point));
    el_history_add(&history, 7, (el_history_point_t){0.2, 1});
    el_history_add(&history, 7, (el_history_point_t){0.4, 0});
    ck_assert(el_history_get(&history, 7, &point));
    ck_assert_double_eq_tol(point.load, 0.3, 1e-6);
    ck_assert_double_eq_tol(point.position, 0.5, 1e-6);
    ck_assert(!el_history_get(&history, 8, &point));
}
END_TEST

START_TEST(an_hour_later_a_minute_is_forgotten)
{
    el_history_point_t point;

    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        el_history_add(&history, minute, (el_history_point_t){(double)minute / 1000, 0});
    }
    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        bool there = minute > 2 * EL_HISTORY_MINUTES;

        ck_assert_int_eq(el_history_get(&history, minute, &point), there);
        if (there) {
            ck_assert_double_eq_tol(point.load, (double)minute / 1000, 1e-6);
        }
    }
}
END_TEST

Suite *history_suite(void)
{
    Suite *suite = suite_create("history");
    TCase *savings = tcase_create("savings");
    TCase *savings_threads = tcase_create("threads");
    TCase *minutes = tcase_create("minutes");

    tcase_add_checked_fixture(savings, set_up_counters, NULL);
    tcase_add_test(savings, nothing_counted_is_nothing_saved);
    tcase_add_test(savings, what_was_sampled_stands_for_all);
    tcase_add_test(savings, what_takes_more_than_mod_deflate_is_below_0);
    tcase_add_test(savings, what_is_shown_as_a_counter_never_falls);
    tcase_set_tags(savings_threads, "threads");
    tcase_add_checked_fixture(savings_threads, set_up_counters, NULL);
    tcase_add_test(savings_threads, what_several_look_at_falls_for_nobody);
    suite_add_tcase(suite, savings_threads);
    suite_add_tcase(suite, savings);

    tcase_add_checked_fixture(minutes, set_up, NULL);
    tcase_add_test(minutes, a_minute_has_the_means_of_its_samples);
    tcase_add_test(minutes, an_hour_later_a_minute_is_forgotten);
    suite_add_tcase(suite, minutes);
    return suite;
}
