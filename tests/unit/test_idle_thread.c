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

/* CPU nanoseconds of a run. */
#define WORK 100000

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
    while (el_clock_cpu_nsec() - began < WORK) {
    }
    used = el_clock_cpu_nsec();
    times++;
    sem_post(&ran);
}

static void wake(int calls)
{
    int before = times;

    for (int i = 0; i < calls; i++) {
        el_idle_thread_wake();
    }
    for (int i = 0; i < calls; i++) {
        wait_until_it_ran();
    }
    ck_assert_int_eq(times, before + calls);
}

/* All of it in one test: the thread stays for as long as the process, which tests may share. */
START_TEST(it_runs_once_for_each_call_in_a_class_of_its_own)
{
    sem_init(&ran, 0, 0);
    ck_assert_uint_eq(el_idle_thread_cpu_nsec(), 0);
    ck_assert(el_idle_thread_start(note));
    ck_assert_int_eq(times, 0);
    wake(1);
    wake(1);
    wake(5); /* some of them while it runs */
    ck_assert_int_eq(policy, SCHED_IDLE);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
    ck_assert(!takes_signals);
    ck_assert_uint_ge(el_idle_thread_cpu_nsec(), used);
    ck_assert_uint_ge(used, 7 * WORK);
}
END_TEST

Suite *idle_thread_suite(void)
{
    TCase *tc = tcase_create("idle_thread");
    Suite *suite = suite_of("idle_thread", tc);

    tcase_set_tags(tc, "threads");
    tcase_add_test(tc, it_runs_once_for_each_call_in_a_class_of_its_own);
    return suite;
}
