#include "httpd/cache/local.h"
#include "suites.h"

#include <sched.h>

/* Copies of entries in the process's own memory. */

#define MOST (64u * 1024)

static uint8_t bytes[MOST];

/* Makes numbers differ between tests that run in the same process. */
static uint32_t base;

static void set_up(void)
{
    if (base == 0) {
        el_local_open(MOST);
    }
    base += 1 << 16;
}

/* A name for each number; names spread over the slots. */
static el_name_t name_of(uint32_t number)
{
    el_name_t name = {.kind = EL_NAME_BODY, .coding = EL_GZIP, .pinned = EL_NAME_ADAPTIVE};

    number += base;
    memcpy(name.hash, &number, sizeof(number));
    return name;
}

static bool put(uint32_t number, size_t nbytes, uint32_t stamp, el_found_t *found)
{
    el_name_t name = name_of(number);
    el_entry_t entry = {.coding = EL_GZIP, .level = 6, .engine = "zlib", .in = 2 * nbytes,
                        .data = bytes, .nbytes = nbytes};

    memset(bytes, (int)number, nbytes);
    return el_local_put(&name, &entry, stamp, found);
}

CASE(local, .set_up = set_up, .timeout = 300);

static void check_found(const el_found_t *found, uint32_t number, size_t nbytes)
{
    size_t same = 0;

    ck_assert_uint_eq(found->entry.nbytes, nbytes);
    ck_assert_uint_eq(found->entry.in, 2 * nbytes);
    ck_assert_str_eq(found->entry.engine, "zlib");
    for (size_t i = 0; i < nbytes; i++) {
        same += found->entry.data[i] == (uint8_t)number;
    }
    ck_assert_uint_eq(same, nbytes);
}

/* True if the entry is found; checks its content. */
static bool is_there_within(uint32_t number, el_local_stamp_t stamp, size_t nbytes)
{
    el_name_t name = name_of(number);
    el_found_t found;
    bool there = el_local_get(&name, stamp, &found);

    if (there) {
        check_found(&found, number, nbytes > 0 ? nbytes : found.entry.nbytes);
        found.release(found.buffer);
    }
    return there;
}

static bool is_there(uint32_t number, uint32_t now)
{
    return is_there_within(number, (el_local_stamp_t){.now = now}, 0);
}

/* The first test, so that the set is empty: these numbers differ in what no set depends on. */
TEST(local, in_a_full_set_what_was_not_asked_for_goes)
{
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert(put(i << 8, 1000, 0, NULL) && (i == 2 || is_there(i << 8, 0)));
    }
    ck_assert(put(4 << 8, 1000, 0, NULL));
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert(is_there(i << 8, 0) == (i != 2));
    }
    /* All were asked for. */
    ck_assert(put(5 << 8, 1000, 0, NULL) && is_there(5 << 8, 0));
    /* A name has one slot, and takes its own again. */
    for (uint32_t stamp = 1; stamp <= 4; stamp++) {
        ck_assert(put(9, 1000, stamp, NULL));
    }
    ck_assert(put(9 + (1 << 8), 1000, 4, NULL) && is_there(9, 4));
}

TEST(local, a_copy_is_found)
{
    el_found_t found;

    ck_assert(!is_there(1, 7) && put(1, 1000, 7, &found));
    check_found(&found, 1, 1000);
    el_found_release(&found);
    ck_assert_ptr_null(found.buffer);
    el_found_release(&found);
    ck_assert(is_there_within(1, (el_local_stamp_t){.now = 7}, 1000) && !is_there(2, 7));
    /* Changed entries are not found. */
    ck_assert(!is_there(1, 8) && !is_there(1, 6));
    ck_assert(put(1, 2000, 8, NULL) && is_there(1, 8) && !is_there(1, 7));
}

TEST(local, a_copy_may_have_an_age)
{
    ck_assert(put(1, 1000, UINT32_MAX, NULL));
    ck_assert(is_there_within(1, (el_local_stamp_t){.now = 0, .age = 1}, 1000));
    ck_assert(!is_there_within(1, (el_local_stamp_t){.now = 1, .age = 1}, 0));
}

TEST(local, what_is_sent_stays_readable)
{
    el_found_t found;

    ck_assert(put(1, 1000, 0, &found));
    for (uint32_t i = 2; i < 1000; i++) {
        put(i, 1000, 0, NULL);
    }
    check_found(&found, 1, 1000);
    found.release(found.buffer);
}

TEST(local, memory_is_bounded_and_used)
{
    unsigned there = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert(put(i, 1000, 0, NULL));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        there += is_there(i, 0);
    }
    ck_assert(there <= MOST / 1000 && there > MOST / 1000 / 2);
    /* A large one does not evict all others. */
    ck_assert(put(1, 1000, 0, NULL) && !put(2, MOST / 2, 0, NULL) && is_there(1, 0));
}

TEST(local, four_of_the_largest_fill_it)
{
    size_t largest = MOST / 4;

    while (!put(0, largest, 0, NULL)) {
        largest--;
    }
    ck_assert_uint_eq((MOST / 4 - largest) % sizeof(void *), 0);
    for (uint32_t i = 0; i < 32; i++) {
        ck_assert(is_there(i % 4, 0) || put(i % 4, largest, 0, NULL));
    }
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert(is_there(i, 0));
    }
}

TEST(local, what_is_only_sent_is_counted_too)
{
    static el_found_t found[64];
    unsigned sent = 0;

    while (sent < 64 && put(sent, MOST / 8, 0, &found[sent])) {
        sent++;
    }
    ck_assert_uint_eq(sent, 7);
    /* All are found, though nothing else fits. */
    for (unsigned i = 0; i < sent; i++) {
        ck_assert(is_there(i, 0));
    }
    for (unsigned i = 0; i < sent; i++) {
        found[i].release(found[i].buffer);
    }
    ck_assert(put(sent, MOST / 8, 0, NULL));
}

TEST(local, what_is_asked_for_stays)
{
    ck_assert(put(1, 1000, 0, NULL));
    for (uint32_t i = 2; i < 1000; i++) {
        ck_assert(is_there(1, 0) && put(i, 1000, 0, NULL));
    }
    ck_assert(is_there(1, 0));
}

CASE(local_threads, .set_up = set_up, .timeout = 300, .tags = "threads");

static _Atomic uint32_t seeds;

static void *use(void *unused)
{
    static _Thread_local uint8_t data[3000];
    uint32_t number = seeds++;

    for (int i = 0; i < 20000; i++) {
        el_name_t name = name_of(number % 64);
        el_entry_t entry = {.coding = EL_GZIP, .in = 1, .data = data, .nbytes = sizeof(data)};
        el_found_t found = {.buffer = NULL};

        memset(data, (int)(number % 64), sizeof(data));
        if (el_local_get(&name, (el_local_stamp_t){.now = 0}, &found)
            || el_local_put(&name, &entry, 0, &found)) {
            ck_assert_int_eq(memcmp(found.entry.data, data, sizeof(data)), 0);
            found.release(found.buffer);
        }
        number = number * 1664525 + 1013904223;
    }
    return unused;
}

TEST(local_threads, threads_may_use_it)
{
    threads_run(8, use, NULL);
}

/* Threads that wait for one encoding. Times are arguments; no test waits for them. */

#define WAITERS 32

/* µs: a limit that is never reached, one that passes at once, and none. */
static const uint64_t never = UINT64_C(3600000000), at_once = 1, none;

static const el_name_t name = {.kind = EL_NAME_BODY, .coding = EL_GZIP};

/* Results of the threads. */
static _Atomic int encoding, passed, busy, may_end;

#define PLACES 64

/* Encodes that many bodies at the same time. */
static void enter_others(el_waiters_t *all, int count)
{
    for (int i = 0; i < count; i++) {
        el_name_t other = {.kind = EL_NAME_BODY, .hash = {(uint8_t)i}};

        all[i].encodes = false;
        ck_assert_int_eq(el_waiters_enter(&all[i], &other, never), EL_WAITERS_ENCODE);
        ck_assert(all[i].encodes);
    }
}

static void leave_others(el_waiters_t *all, int count)
{
    for (int i = 0; i < count; i++) {
        el_waiters_leave(&all[i], false);
    }
}

/* What is known of bodies is forgotten where others need all places. */
static void set_up_waiters(void)
{
    el_waiters_t all[PLACES];

    encoding = passed = busy = may_end = 0;
    enter_others(all, PLACES);
    leave_others(all, PLACES);
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

CASE(waiters, .set_up = set_up_waiters, .timeout = 300, .tags = "threads");

/* Starts threads, which all wait for `first`, except for `encode` (0 or 1) that encode, too. */
static threads_t start(const el_waiters_t *first, const uint64_t *usec, int encode)
{
    threads_t threads = threads_start(WAITERS, ask, usec, 0);

    wait_until(&encoding, encode);
    while (el_waiters_count(first) < WAITERS - (unsigned)encode) {
        ck_assert_int_le(encoding, 1);
        sched_yield();
    }
    ck_assert_int_eq(passed + busy, 0);
    return threads;
}

TEST(waiters, what_is_known_of_a_body_is_kept_while_there_are_other_places)
{
    el_waiters_t all[PLACES], known;

    enter_others(all, 1);
    known = enter_first();
    known.vain = true;
    el_waiters_leave(&known, false);
    leave_others(all, 1);
    enter_others(all, PLACES - 1);
    ck_assert_int_eq(el_waiters_enter(&known, &name, none), EL_WAITERS_ENCODE);
    ck_assert(!known.encodes);
    leave_others(all, PLACES - 1);
    /* Now there is no other. */
    enter_others(all, PLACES);
    leave_others(all, PLACES);
    known = enter_first();
    el_waiters_leave(&known, false);
}

TEST(waiters, all_others_wait_for_the_first)
{
    el_waiters_t first = enter_first();
    threads_t threads = start(&first, &never, 0);

    ck_assert(el_waiters_leave(&first, true));
    el_waiters_leave(&first, false);
    threads_join(&threads);
    ck_assert_int_eq(passed, WAITERS);
}

/* Either of the two may end first. */
static const bool second_is_first[] = {false, true};
EACH(waiters, one_alone_encodes_it_too_where_the_first_takes_long, second_is_first)
{
    el_waiters_t first = enter_first();
    threads_t threads = start(&first, &at_once, 1);

    if (!*row) {
        el_waiters_leave(&first, false);
        wait_until(&passed, WAITERS - 1);
    }
    may_end = 1;
    threads_join(&threads);
    ck_assert(passed == WAITERS - 1 && encoding == 1);
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
    ck_assert_uint_gt(places, WAITERS);
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
    wait_until(&encoding, WAITERS);
    may_end = 1;
    threads_join(&threads);
    /* Nor does a later one; other bodies are not affected. */
    ck_assert_int_eq(el_waiters_enter(&later, &name, never), EL_WAITERS_ENCODE);
    ck_assert_int_eq(el_waiters_enter(&other, &another, never), EL_WAITERS_ENCODE);
    ck_assert(!later.encodes && other.encodes);
    el_waiters_leave(&other, false);
}

TEST(waiters, two_encoders_may_end_in_different_ways)
{
    el_waiters_t first = enter_first(), later = {.encodes = false};
    threads_t threads = start(&first, &at_once, 1);

    first.vain = true;
    el_waiters_leave(&first, false);
    may_end = 1;
    threads_join(&threads);
    ck_assert_int_eq(el_waiters_enter(&later, &name, never), EL_WAITERS_ENCODE);
    ck_assert(!later.encodes);
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
