/* Threads that wait for one encoding. Times are arguments; no test waits for them. */
#include "httpd/cache/local.h"
#include "suites.h"

#include <sched.h>

#define THREADS 32

/* µs: a limit that is never reached, one that passes at once, and none. */
static const uint64_t never = UINT64_C(3600000000), at_once = 1, none;

static const el_name_t name = {.kind = EL_NAME_BODY, .coding = EL_GZIP};

/* Results of the threads. */
static _Atomic int encoding, passed, busy, may_end;

static void set_up(void)
{
    encoding = passed = busy = may_end = 0;
}

/* A thread. If it is to encode, it does so until `may_end`. */
static void *ask(void *usec)
{
    el_waiters_t waiters = {.encodes = false};

    switch (el_waiters_enter(&waiters, &name, *(const uint64_t *)usec)) {
    case EL_WAITERS_ENCODE:
        encoding++;
        while (!may_end) {
            sched_yield();
        }
        el_waiters_leave(&waiters, false);
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

static el_waiters_t enter_first(void)
{
    el_waiters_t first = {.encodes = false};

    ck_assert_int_eq(el_waiters_enter(&first, &name, never), EL_WAITERS_ENCODE);
    ck_assert(first.encodes);
    return first;
}

CASE(waiters, .set_up = set_up, .timeout = 300, .threads = true);

/* Starts threads, which all wait for `first`, except for `encode` (0 or 1) that encode, too. */
static threads_t start(const el_waiters_t *first, const uint64_t *usec, int encode)
{
    threads_t threads = threads_start(THREADS, ask, usec, 0);

    wait_until(&encoding, encode);
    while (el_waiters_count(first) < THREADS - (unsigned)encode) {
        ck_assert_int_le(encoding, 1);
        sched_yield();
    }
    ck_assert_int_eq(passed + busy, 0);
    return threads;
}

TEST(waiters, all_others_wait_for_the_first)
{
    el_waiters_t first = enter_first();
    threads_t threads = start(&first, &never, 0);

    ck_assert(el_waiters_leave(&first, true));
    el_waiters_leave(&first, false);
    threads_join(&threads);
    ck_assert_int_eq(passed, THREADS);
}

/* Either of the two may end first. */
static const bool second_is_first[] = {false, true};
EACH(waiters, one_alone_encodes_it_too_where_the_first_takes_long, second_is_first)
{
    el_waiters_t first = enter_first();
    threads_t threads = start(&first, &at_once, 1);

    if (!*row) {
        el_waiters_leave(&first, false);
        wait_until(&passed, THREADS - 1);
    }
    may_end = 1;
    threads_join(&threads);
    ck_assert(passed == THREADS - 1 && encoding == 1);
    ck_assert(!el_waiters_leave(&first, true) && !first.encodes);
}

TEST(waiters, nobody_waits_where_there_is_something_to_send)
{
    el_waiters_t first = enter_first();

    ask((void *)&none);
    ck_assert_int_eq(busy, 1);
    /* The next thread is the first again. */
    ck_assert(!el_waiters_leave(&first, true) && !first.encodes);
    first = enter_first();
    el_waiters_leave(&first, false);
}

TEST(waiters, where_there_is_no_place_it_is_encoded)
{
    el_waiters_t all[UINT8_MAX] = {{.encodes = false}};
    unsigned places = 0;

    for (uint8_t i = 0; i < UINT8_MAX; i++) {
        el_name_t other = {.kind = EL_NAME_BODY, .hash = {i}};

        ck_assert_int_eq(el_waiters_enter(&all[i], &other, never), EL_WAITERS_ENCODE);
        places += all[i].encodes;
    }
    ck_assert_uint_gt(places, THREADS);
    ck_assert_uint_lt(places, UINT8_MAX);
    for (int i = 0; i < UINT8_MAX; i++) {
        el_waiters_leave(&all[i], false);
    }
}

TEST(waiters, nobody_waits_twice_for_what_cannot_be_handed_over)
{
    el_waiters_t first = enter_first(), later = {.encodes = false}, other = later;
    el_name_t another = {.kind = EL_NAME_BODY, .coding = EL_BR};
    threads_t threads = start(&first, &never, 0);

    first.vain = true;
    el_waiters_leave(&first, false);
    wait_until(&encoding, THREADS);
    may_end = 1;
    threads_join(&threads);
    /* Nor does a later one; other bodies are not affected. */
    ck_assert_int_eq(el_waiters_enter(&later, &name, never), EL_WAITERS_ENCODE);
    ck_assert_int_eq(el_waiters_enter(&other, &another, never), EL_WAITERS_ENCODE);
    ck_assert(!later.encodes && other.encodes);
    el_waiters_leave(&other, false);
}

TEST(waiters, what_is_known_of_a_body_takes_no_place_of_others)
{
    for (unsigned i = 0; i < 1000; i++) {
        el_waiters_t waiters = {.encodes = false};
        el_name_t other = {.kind = EL_NAME_BODY, .hash = {(uint8_t)i, (uint8_t)(i >> 8)}};

        ck_assert_int_eq(el_waiters_enter(&waiters, &other, never), EL_WAITERS_ENCODE);
        ck_assert(waiters.encodes);
        waiters.vain = true;
        el_waiters_leave(&waiters, false);
    }
}
