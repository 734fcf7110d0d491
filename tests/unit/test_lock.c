#define _DEFAULT_SOURCE

#include "host/lock.h"

#include "host/clock.h"
#include "suites.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* µs that are longer than anything here takes. */
#define LONG 60000000

#define THREADS 4
#define TIMES 5000

static el_lock_t *lock;
static long counted;

static void set_up(void)
{
    lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(lock != MAP_FAILED && el_lock_init(lock));
    counted = 0;
}

START_TEST(it_is_taken_and_given)
{
    bool died = true;

    for (int i = 0; i < 3; i++) {
        ck_assert(el_lock_take(lock, 0, &died) && !died);
        el_lock_give(lock);
    }
}
END_TEST

START_TEST(a_process_that_holds_it_is_waited_for_within_the_limit)
{
    int held[2], go[2];
    char byte = 0;
    bool died;
    uint64_t began;
    pid_t child;

    ck_assert(pipe(held) == 0 && pipe(go) == 0);
    child = fork();
    if (child == 0) {
        el_lock_take(lock, LONG, &died);
        _exit(write(held[1], "", 1) == 1 && read(go[0], &byte, 1) == 1 ? (el_lock_give(lock), 0) : 1);
    }
    ck_assert(read(held[0], &byte, 1) == 1);
    began = el_clock_usec();
    ck_assert(!el_lock_take(lock, 20000, &died) && !died);
    ck_assert(el_clock_usec() - began >= 20000);
    ck_assert(write(go[1], "", 1) == 1);
    ck_assert(el_lock_take(lock, LONG, &died) && !died);
    el_lock_give(lock);
    ck_assert(waitpid(child, NULL, 0) == child);
}
END_TEST

START_TEST(it_outlives_who_dies_with_it)
{
    bool died;
    pid_t child = fork();

    if (child == 0) {
        el_lock_take(lock, LONG, &died);
        _exit(0);
    }
    ck_assert(waitpid(child, NULL, 0) == child);
    ck_assert(el_lock_take(lock, LONG, &died) && died);
    el_lock_give(lock);
    ck_assert(el_lock_take(lock, LONG, &died) && !died);
    el_lock_give(lock);
}
END_TEST

static void *count(void *unused)
{
    bool died;

    for (int i = 0; i < TIMES; i++) {
        if (el_lock_take(lock, LONG, &died)) {
            counted++;
            el_lock_give(lock);
        }
    }
    return unused;
}

START_TEST(one_thread_at_a_time_has_it)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        ck_assert(pthread_create(&threads[i], NULL, count, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(counted, THREADS * TIMES);
}
END_TEST

Suite *lock_suite(void)
{
    TCase *tc = tcase_create("lock");
    TCase *threads = tcase_create("threads");
    Suite *suite = suite_of("lock", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, it_is_taken_and_given);
    tcase_add_test(tc, a_process_that_holds_it_is_waited_for_within_the_limit);
    tcase_add_test(tc, it_outlives_who_dies_with_it);
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_set_tags(threads, "threads");
    tcase_add_test(threads, one_thread_at_a_time_has_it);
    suite_add_tcase(suite, threads);
    return suite;
}
