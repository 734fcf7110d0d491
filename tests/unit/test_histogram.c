/* MAP_ANONYMOUS, which C11 alone does not show. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#include "elastic/histogram.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC UINT64_C(1000000)

static el_histogram_t histogram;

static void clear(void)
{
    memset(&histogram, 0, sizeof(histogram));
}

START_TEST(an_empty_histogram_has_no_quantile)
{
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 0), 0);
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 10), 0);
    el_histogram_fade(&histogram, 0.5);
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 0), 0);
}
END_TEST

static const uint64_t durations[] = {
    1000, 1001, 1999, 2000, 17000, 1 * MSEC, 5 * MSEC, 33 * MSEC, 999 * MSEC, 60000 * MSEC,
};

START_TEST(a_quantile_is_within_the_class_of_its_duration)
{
    double usec = (double)durations[_i] / 1000;
    double got;

    el_histogram_add(&histogram, durations[_i]);
    got = el_histogram_quantile(&histogram, 0.5, 1);
    ck_assert_msg(got > usec / 1.1 && got < usec * 1.1, "%f µs: %f", usec, got);
}
END_TEST

START_TEST(durations_beyond_the_ends_count_at_the_ends)
{
    el_histogram_add(&histogram, 0);
    el_histogram_add(&histogram, 1);
    el_histogram_add(&histogram, UINT64_MAX);
    ck_assert_uint_eq(atomic_load(&histogram.weight[0]), 2 * EL_HISTOGRAM_ONE);
    ck_assert_uint_eq(atomic_load(&histogram.weight[EL_HISTOGRAM_CLASSES - 1]), EL_HISTOGRAM_ONE);
    ck_assert_double_lt(el_histogram_quantile(&histogram, 0, 1), 1.1);
    ck_assert_double_gt(el_histogram_quantile(&histogram, 1, 1), 6.1e7);
}
END_TEST

START_TEST(a_quantile_leaves_its_share_below)
{
    for (uint64_t n = 1; n <= 1000; n++) {
        el_histogram_add(&histogram, n * MSEC / 100);
    }
    ck_assert_double_eq_tol(el_histogram_quantile(&histogram, 0.95, 1), 9500, 400);
    ck_assert_double_eq_tol(el_histogram_quantile(&histogram, 0.5, 1), 5000, 250);
    ck_assert_double_eq_tol(el_histogram_quantile(&histogram, 0.05, 1), 500, 30);
    ck_assert_double_lt(el_histogram_quantile(&histogram, 0.94, 1),
                        el_histogram_quantile(&histogram, 0.95, 1));
}
END_TEST

START_TEST(too_few_durations_have_no_quantile)
{
    for (unsigned n = 0; n < 20; n++) {
        el_histogram_add(&histogram, MSEC);
    }
    ck_assert_double_gt(el_histogram_quantile(&histogram, 0.95, 20), 0);
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 21), 0);
    el_histogram_fade(&histogram, 0.5);
    ck_assert_double_gt(el_histogram_quantile(&histogram, 0.95, 10), 0);
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 11), 0);
}
END_TEST

START_TEST(the_past_fades)
{
    for (unsigned n = 0; n < 1000; n++) {
        el_histogram_add(&histogram, 100 * MSEC);
    }
    for (unsigned interval = 0; interval < 10; interval++) {
        el_histogram_fade(&histogram, 0.5);
        for (unsigned n = 0; n < 100; n++) {
            el_histogram_add(&histogram, MSEC);
        }
    }
    ck_assert_double_lt(el_histogram_quantile(&histogram, 0.95, 20), 1100);
    for (unsigned interval = 0; interval < 40; interval++) {
        el_histogram_fade(&histogram, 0.5);
    }
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 0), 0);
}
END_TEST

START_TEST(a_fade_keeps_within_bounds)
{
    el_histogram_add(&histogram, MSEC);
    el_histogram_fade(&histogram, 7);
    ck_assert_double_gt(el_histogram_quantile(&histogram, 0.95, 1), 0);
    el_histogram_fade(&histogram, -1);
    ck_assert_double_eq(el_histogram_quantile(&histogram, 0.95, 0), 0);
}
END_TEST

#define ADDS 3000000u

static void *add_many(void *data)
{
    for (unsigned n = 0; n < ADDS; n++) {
        el_histogram_add(data, MSEC);
    }
    return NULL;
}

/* Each fade takes the least there is, a thousandth of a duration, and must lose no addition. */
START_TEST(nothing_is_lost_between_processes)
{
    el_histogram_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    uint64_t total = 0, fades = 0;
    pid_t child;

    ck_assert(shared != MAP_FAILED);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        add_many(shared);
        _exit(0);
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, add_many, shared), 0);
    while (waitpid(child, NULL, WNOHANG) == 0) {
        el_histogram_fade(shared, 1 - 1e-12);
        fades++;
    }
    pthread_join(thread, NULL);
    for (unsigned c = 0; c < EL_HISTOGRAM_CLASSES; c++) {
        total += atomic_load(&shared->weight[c]);
    }
    ck_assert_uint_le(total, UINT64_C(2) * ADDS * EL_HISTOGRAM_ONE);
    ck_assert_uint_ge(total, UINT64_C(2) * ADDS * EL_HISTOGRAM_ONE - fades);
    munmap(shared, sizeof(*shared));
}
END_TEST

static void *fade_many(void *data)
{
    for (unsigned n = 0; n < 20000; n++) {
        el_histogram_add(data, MSEC);
        el_histogram_fade(data, 0);
    }
    return NULL;
}

START_TEST(two_that_fade_take_away_what_there_is_once)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, fade_many, &histogram), 0);
    fade_many(&histogram);
    pthread_join(thread, NULL);
    for (unsigned c = 0; c < EL_HISTOGRAM_CLASSES; c++) {
        ck_assert_uint_eq(atomic_load(&histogram.weight[c]), 0);
    }
}
END_TEST

Suite *histogram_suite(void)
{
    Suite *suite = suite_create("histogram");
    TCase *tc = tcase_create("histogram");
    TCase *threads = tcase_create("threads");

    tcase_add_checked_fixture(tc, clear, NULL);
    tcase_add_checked_fixture(threads, clear, NULL);

    tcase_add_test(tc, an_empty_histogram_has_no_quantile);
    tcase_add_loop_test(tc, a_quantile_is_within_the_class_of_its_duration, 0, ROWS(durations));
    tcase_add_test(tc, durations_beyond_the_ends_count_at_the_ends);
    tcase_add_test(tc, a_quantile_leaves_its_share_below);
    tcase_add_test(tc, too_few_durations_have_no_quantile);
    tcase_add_test(tc, the_past_fades);
    tcase_add_test(tc, a_fade_keeps_within_bounds);
    tcase_add_test(tc, nothing_is_lost_between_processes);
    suite_add_tcase(suite, tc);

    tcase_set_tags(threads, "threads");
    tcase_add_test(threads, two_that_fade_take_away_what_there_is_once);
    suite_add_tcase(suite, threads);
    return suite;
}
