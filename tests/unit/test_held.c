/* What bodies in flight hold, of all processes together. */
#include "elastic/held.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>

static el_held_t held;

static void set_up(void)
{
    memset(&held, 0, sizeof(held));
}

START_TEST(no_more_is_taken_than_all_may_hold)
{
    el_holder_t *one = el_held_enter(&held, 1), *two = el_held_enter(&held, 2);

    ck_assert(el_held_take(&held, one, 60, 100));
    ck_assert(!el_held_take(&held, two, 41, 100));
    ck_assert(el_held_take(&held, two, 40, 100));
    ck_assert(!el_held_take(&held, one, 1, 100));
    ck_assert(el_held_take(&held, one, 0, 100));
    ck_assert_uint_eq(el_held_nbytes(&held), 100);
    el_held_add(&held, one, -60);
    ck_assert(el_held_take(&held, NULL, 60, 100));
    ck_assert(!el_held_take(&held, one, UINT64_MAX, UINT64_MAX - 1));
}
END_TEST

START_TEST(what_is_added_is_not_refused)
{
    el_holder_t *holder = el_held_enter(&held, 1);

    el_held_add(&held, holder, 200);
    ck_assert(!el_held_take(&held, holder, 0, 100));
    el_held_add(&held, holder, -100);
    ck_assert(el_held_take(&held, holder, 0, 100));
}
END_TEST

static bool only_two_is_alive(uint32_t pid)
{
    return pid == 2;
}

START_TEST(what_gone_processes_held_is_forgotten)
{
    el_held_add(&held, el_held_enter(&held, 1), 10);
    el_held_add(&held, el_held_enter(&held, 2), 20);
    el_held_add(&held, NULL, 40);
    el_held_forget(&held, only_two_is_alive);
    ck_assert_uint_eq(el_held_nbytes(&held), 60);
    el_held_forget(&held, only_two_is_alive);
    ck_assert_uint_eq(el_held_nbytes(&held), 60);
}
END_TEST

START_TEST(a_process_of_the_same_number_begins_with_nothing)
{
    el_held_add(&held, el_held_enter(&held, 7), 10);
    el_held_add(&held, el_held_enter(&held, 7), 1);
    ck_assert_uint_eq(el_held_nbytes(&held), 1);
}
END_TEST

START_TEST(there_may_be_more_processes_than_places)
{
    for (uint32_t pid = 1; pid <= EL_HELD_PROCESSES; pid++) {
        ck_assert_ptr_nonnull(el_held_enter(&held, pid));
    }
    ck_assert_ptr_null(el_held_enter(&held, EL_HELD_PROCESSES + 1));
    el_held_forget(&held, only_two_is_alive);
    ck_assert_ptr_nonnull(el_held_enter(&held, EL_HELD_PROCESSES + 1));
}
END_TEST

START_TEST(a_process_killed_while_it_counts_does_not_make_the_sum_huge)
{
    el_held_add(&held, NULL, -5);
    ck_assert_uint_eq(el_held_nbytes(&held), 0);
    ck_assert(!el_held_take(&held, NULL, 11, 10));
    ck_assert(el_held_take(&held, NULL, 10, 10));
}
END_TEST

#define THREADS 4
#define TIMES 2000

static void *take_and_give(void *of)
{
    el_holder_t *holder = of;

    for (int i = 0; i < TIMES; i++) {
        if (el_held_take(&held, holder, 3, 9)) {
            ck_assert_uint_le(el_held_nbytes(&held), 9);
            el_held_add(&held, holder, -3);
        }
        el_held_forget(&held, only_two_is_alive);
    }
    return NULL;
}

START_TEST(threads_that_meet)
{
    pthread_t threads[THREADS];
    el_holder_t *holder = el_held_enter(&held, 2);

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, holder), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(el_held_nbytes(&held), 0);
}
END_TEST

Suite *held_suite(void)
{
    TCase *tc = tcase_create("held"), *threads = tcase_create("threads");
    Suite *suite = suite_of("held", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, no_more_is_taken_than_all_may_hold);
    tcase_add_test(tc, what_is_added_is_not_refused);
    tcase_add_test(tc, what_gone_processes_held_is_forgotten);
    tcase_add_test(tc, a_process_of_the_same_number_begins_with_nothing);
    tcase_add_test(tc, there_may_be_more_processes_than_places);
    tcase_add_test(tc, a_process_killed_while_it_counts_does_not_make_the_sum_huge);
    tcase_set_tags(threads, "threads");
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_add_test(threads, threads_that_meet);
    suite_add_tcase(suite, threads);
    return suite;
}
