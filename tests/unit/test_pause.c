/* The growing time in which what failed is not called. */
#include "elastic/pause.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>

#define SECOND UINT64_C(1000000)
#define BEGIN (100 * SECOND)

static el_pause_t pause_;
static el_pause_ticket_t ticket;

static bool is_on(void)
{
    return atomic_load(&pause_.word) != 0;
}

static void set_up(void)
{
    memset(&pause_, 0, sizeof(pause_));
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN, &ticket), EL_PAUSE_NONE);
}

START_TEST(without_a_failure_there_is_none)
{
    ck_assert(!is_on());
    el_pause_worked(&pause_, ticket);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN, &ticket), EL_PAUSE_NONE);
}
END_TEST

START_TEST(after_a_failure_nobody_calls_until_one_tries)
{
    el_pause_ticket_t other;

    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN), EL_PAUSE_FIRST);
    ck_assert(is_on());
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST - 1, &other), EL_PAUSE_ON);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST, &ticket), EL_PAUSE_TRIAL);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST, &other), EL_PAUSE_ON);
    el_pause_worked(&pause_, ticket);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST, &other), EL_PAUSE_NONE);
}
END_TEST

START_TEST(failures_at_the_same_time_are_one)
{
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN), EL_PAUSE_FIRST);
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN + 1), 0);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST, &ticket), EL_PAUSE_TRIAL);
}
END_TEST

/* What a call of before the pause says, late, is no word on the trial. */
START_TEST(a_late_call_does_not_end_a_pause)
{
    el_pause_failed(&pause_, ticket, BEGIN);
    el_pause_worked(&pause_, ticket);
    ck_assert(is_on());
}
END_TEST

START_TEST(pauses_double_up_to_a_minute)
{
    uint64_t now = BEGIN, expected = EL_PAUSE_FIRST;

    for (int i = 0; i < 300; i++) {
        ck_assert_uint_eq(el_pause_failed(&pause_, ticket, now), expected);
        now += expected;
        ck_assert_int_eq(el_pause_at(&pause_, now - 1, &ticket), EL_PAUSE_ON);
        ck_assert_int_eq(el_pause_at(&pause_, now, &ticket), EL_PAUSE_TRIAL);
        expected = 2 * expected < EL_PAUSE_MOST ? 2 * expected : EL_PAUSE_MOST;
    }
    el_pause_worked(&pause_, ticket);
    ck_assert_int_eq(el_pause_at(&pause_, now, &ticket), EL_PAUSE_NONE);
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, now), EL_PAUSE_FIRST);
}
END_TEST

START_TEST(a_trial_of_which_nothing_is_heard_is_made_by_another)
{
    uint64_t now = BEGIN + EL_PAUSE_FIRST;
    el_pause_ticket_t lost;

    el_pause_failed(&pause_, ticket, BEGIN);
    ck_assert_int_eq(el_pause_at(&pause_, now, &lost), EL_PAUSE_TRIAL);
    now += 2 * EL_PAUSE_FIRST;
    ck_assert_int_eq(el_pause_at(&pause_, now - 1, &ticket), EL_PAUSE_ON);
    ck_assert_int_eq(el_pause_at(&pause_, now, &ticket), EL_PAUSE_TRIAL);
    ck_assert_uint_eq(el_pause_failed(&pause_, lost, now), 0);
    el_pause_worked(&pause_, lost);
    ck_assert(is_on());
    el_pause_worked(&pause_, ticket);
    ck_assert(!is_on());
}
END_TEST

START_TEST(pauses_grow_too_where_nothing_is_heard)
{
    uint64_t now = BEGIN + EL_PAUSE_FIRST;

    el_pause_failed(&pause_, ticket, BEGIN);
    for (uint64_t length = 2 * EL_PAUSE_FIRST; length < EL_PAUSE_MOST; length *= 2) {
        ck_assert_int_eq(el_pause_at(&pause_, now, &ticket), EL_PAUSE_TRIAL);
        ck_assert_int_eq(el_pause_at(&pause_, now + length - 1, &ticket), EL_PAUSE_ON);
        now += length;
    }
}
END_TEST

#define THREADS 4
#define TIMES 2000

static _Atomic unsigned trials;

static void *call_and_fail(void *unused)
{
    el_pause_ticket_t mine;

    for (uint64_t now = BEGIN; now < BEGIN + TIMES; now++) {
        trials += el_pause_at(&pause_, now + EL_PAUSE_FIRST, &mine) == EL_PAUSE_TRIAL;
    }
    return unused;
}

START_TEST(of_threads_that_meet_one_tries)
{
    pthread_t threads[THREADS];

    trials = 0;
    el_pause_failed(&pause_, ticket, BEGIN);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_and_fail, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(trials, 1);
}
END_TEST

Suite *pause_suite(void)
{
    TCase *tc = tcase_create("pause"), *threads = tcase_create("threads");
    Suite *suite = suite_of("pause", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, without_a_failure_there_is_none);
    tcase_add_test(tc, after_a_failure_nobody_calls_until_one_tries);
    tcase_add_test(tc, failures_at_the_same_time_are_one);
    tcase_add_test(tc, a_late_call_does_not_end_a_pause);
    tcase_add_test(tc, pauses_double_up_to_a_minute);
    tcase_add_test(tc, a_trial_of_which_nothing_is_heard_is_made_by_another);
    tcase_add_test(tc, pauses_grow_too_where_nothing_is_heard);
    tcase_set_tags(threads, "threads");
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_add_test(threads, of_threads_that_meet_one_tries);
    suite_add_tcase(suite, threads);
    return suite;
}
