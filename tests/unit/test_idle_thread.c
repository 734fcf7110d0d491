/* The thread that has the CPU only while nobody else wants it. */
#define _GNU_SOURCE
#include "host/idle_thread.h"

#include "host/clock.h"
#include "suites.h"

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static sem_t ran;
static _Atomic int times, policy;
static _Atomic bool takes_signals;
static _Atomic uint64_t used;

/* A thread of that class may have to wait for as long as others want the CPU: libcheck ends it. */
static void wait_until_it_ran(void)
{
    while (sem_wait(&ran) != 0) {
    }
}

static void note(void)
{
    sigset_t blocked;
    uint64_t began = el_clock_cpu_nsec();

    policy = sched_getscheduler(0);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGHUP);
    while (el_clock_cpu_nsec() - began < 2000000) {
    }
    used = el_clock_cpu_nsec();
    times++;
    sem_post(&ran);
}

START_TEST(it_runs_once_for_each_call_in_a_class_of_its_own)
{
    sem_init(&ran, 0, 0);
    ck_assert_uint_eq(el_idle_thread_cpu_nsec(), 0);
    ck_assert(el_idle_thread_start(note));
    ck_assert_int_eq(times, 0);
    for (int i = 1; i <= 3; i++) {
        el_idle_thread_wake();
        wait_until_it_ran();
        ck_assert_int_eq(times, i);
    }
    ck_assert_int_eq(policy, SCHED_IDLE);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
    ck_assert(!takes_signals);
    ck_assert_uint_ge(el_idle_thread_cpu_nsec(), used);
    ck_assert_uint_ge(used, 6000000);
}
END_TEST

START_TEST(calls_that_come_while_it_runs_are_not_lost)
{
    sem_init(&ran, 0, 0);
    ck_assert(el_idle_thread_start(note));
    for (int i = 0; i < 5; i++) {
        el_idle_thread_wake();
    }
    for (int i = 0; i < 5; i++) {
        wait_until_it_ran();
    }
    ck_assert_int_eq(times, 5);
}
END_TEST

/* Each in a process of its own, as libcheck does it: the thread stays. */
Suite *idle_thread_suite(void)
{
    TCase *tc = tcase_create("idle_thread"), *threads = tcase_create("threads");
    Suite *suite = suite_of("idle_thread", tc);

    tcase_add_test(tc, it_runs_once_for_each_call_in_a_class_of_its_own);
    tcase_set_tags(threads, "threads");
    tcase_add_test(threads, calls_that_come_while_it_runs_are_not_lost);
    suite_add_tcase(suite, threads);
    return suite;
}
