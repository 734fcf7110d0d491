/* Many threads that want one encoding. Times are those that are given: none is waited for. */
#include "httpd/cache/waiters.h"

#include "suites.h"

#include <pthread.h>
#include <sched.h>

/* µs that do not pass, and that have. */
#define NEVER UINT64_C(3600000000)
#define AT_ONCE 1

#define THREADS 32

static const el_name_t name = {.kind = EL_NAME_BODY, .coding = EL_GZIP};

/* What the threads of a crowd have come to. */
static _Atomic int encoding, passed, busy, may_end;

static void set_up(void)
{
    encoding = passed = busy = may_end = 0;
}

/* One of a crowd; who is to encode does so until it may end. */
static void *ask(void *usec)
{
    el_waiters_t waiters = {.encodes = false};

    switch (el_waiters_enter(&waiters, &name, *(const uint64_t *)usec)) {
    case EL_WAITERS_ENCODE:
        encoding++;
        while (!may_end) {
            sched_yield();
        }
        el_waiters_leave(&waiters);
        break;
    case EL_WAITERS_PASSED:
        passed++;
        break;
    default:
        busy++;
    }
    return NULL;
}

static void wait_until(const _Atomic int *count, int wanted)
{
    while (*count < wanted) {
        sched_yield();
    }
}

/* Until so many wait for what `first` encodes; not more than one other has begun to. */
static void wait_for_waiting(const el_waiters_t *first, unsigned wanted)
{
    while (el_waiters_count(first) < wanted) {
        ck_assert_int_le(encoding, 1);
        sched_yield();
    }
}

static void start(pthread_t *thread, const uint64_t *usec)
{
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, (void *)usec), 0);
    }
}

static void join(const pthread_t *thread)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
}

static el_waiters_t enter_first(void)
{
    el_waiters_t first = {.encodes = false};

    ck_assert_int_eq(el_waiters_enter(&first, &name, NEVER), EL_WAITERS_ENCODE);
    ck_assert(first.encodes);
    return first;
}

CASE(waiters, .set_up = set_up, .timeout = 300, .threads = true);

TEST(waiters, all_others_wait_for_the_first)
{
    static const uint64_t usec = NEVER;
    el_waiters_t first = enter_first();
    pthread_t thread[THREADS];

    start(thread, &usec);
    wait_for_waiting(&first, THREADS);
    ck_assert(el_waiters_leave_unless_awaited(&first));
    el_waiters_leave(&first);
    join(thread);
    ck_assert_int_eq(passed, THREADS);
}

TEST(waiters, one_alone_encodes_it_too_where_the_first_takes_long)
{
    static const uint64_t usec = AT_ONCE;
    el_waiters_t first = enter_first();
    pthread_t thread[THREADS];

    start(thread, &usec);
    wait_until(&encoding, 1);
    wait_for_waiting(&first, THREADS - 1);
    ck_assert_int_eq(passed + busy, 0);
    el_waiters_leave(&first);
    wait_until(&passed, THREADS - 1);
    may_end = 1;
    join(thread);
    ck_assert_int_eq(encoding, 1);
}

TEST(waiters, the_second_one_may_be_done_first)
{
    static const uint64_t usec = AT_ONCE;
    el_waiters_t first = enter_first();
    pthread_t thread[THREADS];

    start(thread, &usec);
    wait_until(&encoding, 1);
    wait_for_waiting(&first, THREADS - 1);
    may_end = 1;
    join(thread);
    ck_assert_int_eq(passed, THREADS - 1);
    ck_assert_int_eq(encoding, 1);
    ck_assert(!el_waiters_leave_unless_awaited(&first));
    ck_assert(!first.encodes);
}

TEST(waiters, nobody_waits_where_there_is_something_to_send)
{
    static const uint64_t none = 0;
    el_waiters_t first = enter_first();

    ask((void *)&none);
    ck_assert_int_eq(busy, 1);
    el_waiters_leave(&first);
}

TEST(waiters, who_comes_afterwards_is_the_first_again)
{
    for (int i = 0; i < 100; i++) {
        el_waiters_t first = enter_first();

        ck_assert(!el_waiters_leave_unless_awaited(&first));
        ck_assert(!first.encodes);
        el_waiters_leave(&first);
    }
}

TEST(waiters, where_there_is_no_place_it_is_encoded)
{
    el_waiters_t all[UINT8_MAX] = {{.encodes = false}};
    unsigned places = 0;

    for (uint8_t i = 0; i < UINT8_MAX; i++) {
        el_name_t other = {.kind = EL_NAME_BODY, .hash = {i}};

        ck_assert_int_eq(el_waiters_enter(&all[i], &other, NEVER), EL_WAITERS_ENCODE);
        places += all[i].encodes;
    }
    ck_assert_uint_gt(places, THREADS);
    ck_assert_uint_lt(places, UINT8_MAX);
    for (int i = 0; i < UINT8_MAX; i++) {
        el_waiters_leave(&all[i]);
    }
}
