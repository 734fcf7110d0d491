/* Memory that several processes share: structures, sums and pauses. */
#include "elastic/lockfree.h"

#include "suites.h"

#include <pthread.h>

/* Longer than a cache line, and no whole number of words. */
typedef struct {
    char bytes[1001];
} thing_t;

static _Atomic uint64_t words[EL_SNAPSHOT_WORDS(thing_t)];
static _Atomic uint64_t checksum;

static void set_up_words(void)
{
    memset(words, 0, sizeof(words));
    checksum = 0;
}

static thing_t thing_of(char letter)
{
    thing_t thing;

    memset(&thing, letter, sizeof(thing));
    return thing;
}

static void write_thing(char letter)
{
    thing_t thing = thing_of(letter);

    el_snapshot_write(words, &checksum, &thing, sizeof(thing));
}

static bool read_thing(thing_t *thing)
{
    return el_snapshot_read(words, &checksum, thing, sizeof(*thing));
}

static void assert_none(void)
{
    thing_t thing = thing_of('?'), zeros = {{0}};

    ck_assert(!read_thing(&thing));
    ck_assert_mem_eq(&thing, &zeros, sizeof(thing));
}

static void assert_thing(char letter)
{
    thing_t thing, wanted = thing_of(letter);

    ck_assert(read_thing(&thing));
    ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
}

CASE(snapshot, .set_up = set_up_words);

TEST(snapshot, zeroed_memory_has_none)
{
    assert_none();
}

TEST(snapshot, what_was_written_is_read)
{
    write_thing('a');
    assert_thing('a');
    write_thing('b');
    assert_thing('b');
    /* Zeros can be written like anything else. */
    write_thing(0);
    assert_thing(0);
}

TEST(snapshot, what_was_cleared_is_gone)
{
    write_thing('a');
    el_snapshot_clear(&checksum);
    assert_none();
}

TEST(snapshot, a_mixture_of_two_is_none)
{
    _Atomic uint64_t kept[EL_SNAPSHOT_WORDS(thing_t)];

    write_thing('a');
    memcpy(kept, words, sizeof(kept));
    for (size_t n = 0; n < EL_SNAPSHOT_WORDS(thing_t); n++) {
        write_thing('b');
        words[n] = kept[n];
        assert_none();
    }
    /* As after a writer that died in the middle: the next one makes it good. */
    write_thing('b');
    assert_thing('b');
}

#define WRITERS 3
#define WRITES 3000

static void *write_many(void *letter)
{
    for (int n = 0; n < WRITES; n++) {
        write_thing(*(const char *)letter);
    }
    return NULL;
}

CASE(snapshot_threads, .threads = true);

TEST(snapshot_threads, a_reader_gets_all_of_one_writers_or_none)
{
    static const char letters[WRITERS] = {'a', 'b', 'c'};
    pthread_t threads[WRITERS];
    thing_t thing, wanted;

    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, (void *)&letters[i]), 0);
    }
    for (int n = 0; n < WRITES; n++) {
        wanted = thing_of(read_thing(&thing) ? thing.bytes[0] : 0);
        ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* What bodies in flight hold, of all processes together. */

static el_in_flight_t held;

static void set_up_held(void)
{
    memset(&held, 0, sizeof(held));
}

CASE(held, .set_up = set_up_held);

TEST(held, no_more_is_taken_than_all_may_hold)
{
    el_holder_t *one = el_in_flight_enter(&held, 1), *two = el_in_flight_enter(&held, 2);

    ck_assert(el_in_flight_take(&held, one, 60, 100));
    ck_assert(!el_in_flight_take(&held, two, 41, 100));
    ck_assert(el_in_flight_take(&held, two, 40, 100));
    ck_assert(!el_in_flight_take(&held, one, 1, 100));
    ck_assert(el_in_flight_take(&held, one, 0, 100));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 100);
    el_in_flight_add(&held, one, -60);
    ck_assert(el_in_flight_take(&held, NULL, 60, 100));
    ck_assert(!el_in_flight_take(&held, one, UINT64_MAX, UINT64_MAX - 1));
}

TEST(held, what_is_added_is_not_refused)
{
    el_holder_t *holder = el_in_flight_enter(&held, 1);

    el_in_flight_add(&held, holder, 200);
    ck_assert(!el_in_flight_take(&held, holder, 0, 100));
    el_in_flight_add(&held, holder, -100);
    ck_assert(el_in_flight_take(&held, holder, 0, 100));
}

static bool only_two_is_alive(uint32_t pid)
{
    return pid == 2;
}

TEST(held, what_gone_processes_held_is_forgotten)
{
    el_in_flight_add(&held, el_in_flight_enter(&held, 1), 10);
    el_in_flight_add(&held, el_in_flight_enter(&held, 2), 20);
    el_in_flight_add(&held, NULL, 40);
    el_in_flight_forget(&held, only_two_is_alive);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 60);
    el_in_flight_forget(&held, only_two_is_alive);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 60);
}

TEST(held, a_process_of_the_same_number_begins_with_nothing)
{
    el_in_flight_add(&held, NULL, 20);
    el_in_flight_add(&held, el_in_flight_enter(&held, 7), 10);
    el_in_flight_add(&held, el_in_flight_enter(&held, 7), 1);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 21);
    el_in_flight_enter(&held, 7);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 20);
}

TEST(held, there_may_be_more_processes_than_places)
{
    for (uint32_t pid = 1; pid <= EL_IN_FLIGHT_PROCESSES; pid++) {
        ck_assert_ptr_nonnull(el_in_flight_enter(&held, pid));
    }
    ck_assert_ptr_null(el_in_flight_enter(&held, EL_IN_FLIGHT_PROCESSES + 1));
    el_in_flight_forget(&held, only_two_is_alive);
    ck_assert_ptr_nonnull(el_in_flight_enter(&held, EL_IN_FLIGHT_PROCESSES + 1));
}

TEST(held, a_process_killed_while_it_counts_does_not_make_the_sum_huge)
{
    el_in_flight_add(&held, NULL, -5);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    ck_assert(!el_in_flight_take(&held, NULL, 11, 10));
    ck_assert(el_in_flight_take(&held, NULL, 10, 10));
}

#define THREADS 4
#define TIMES 2000

static void *take_and_give(void *of)
{
    el_holder_t *holder = of;

    for (int i = 0; i < TIMES; i++) {
        if (el_in_flight_take(&held, holder, 3, 9)) {
            ck_assert_uint_le(el_in_flight_nbytes(&held), 9);
            el_in_flight_add(&held, holder, -3);
        }
        el_in_flight_forget(&held, only_two_is_alive);
    }
    return NULL;
}

CASE(held_threads, .set_up = set_up_held, .threads = true);

TEST(held_threads, threads_that_meet)
{
    pthread_t threads[THREADS];
    el_holder_t *holder = el_in_flight_enter(&held, 2);

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, holder), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
}

/* The growing time in which what failed is not called. */

#define SECOND UINT64_C(1000000)
#define BEGIN (100 * SECOND)

static el_pause_t pause_;
static el_pause_ticket_t ticket;

static bool is_on(void)
{
    return atomic_load(&pause_.word) != 0;
}

static void set_up_pause(void)
{
    memset(&pause_, 0, sizeof(pause_));
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN, &ticket), EL_PAUSE_NONE);
}

CASE(pause, .set_up = set_up_pause);

TEST(pause, without_a_failure_there_is_none)
{
    ck_assert(!is_on());
    el_pause_worked(&pause_, ticket);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN, &ticket), EL_PAUSE_NONE);
}

TEST(pause, after_a_failure_nobody_calls_until_one_tries)
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

TEST(pause, failures_at_the_same_time_are_one)
{
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN), EL_PAUSE_FIRST);
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN + 1), 0);
    ck_assert_int_eq(el_pause_at(&pause_, BEGIN + EL_PAUSE_FIRST, &ticket), EL_PAUSE_TRIAL);
}

/* What a call of before the pause says, late, is no word on the trial. */
TEST(pause, a_late_call_does_not_end_a_pause)
{
    el_pause_failed(&pause_, ticket, BEGIN);
    el_pause_worked(&pause_, ticket);
    ck_assert(is_on());
}

TEST(pause, pauses_double_up_to_a_minute)
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

TEST(pause, a_trial_of_which_nothing_is_heard_is_made_by_another)
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

TEST(pause, pauses_grow_too_where_nothing_is_heard)
{
    uint64_t now = BEGIN + EL_PAUSE_FIRST;

    el_pause_failed(&pause_, ticket, BEGIN);
    for (uint64_t length = 2 * EL_PAUSE_FIRST; length < EL_PAUSE_MOST; length *= 2) {
        ck_assert_int_eq(el_pause_at(&pause_, now, &ticket), EL_PAUSE_TRIAL);
        ck_assert_int_eq(el_pause_at(&pause_, now + length - 1, &ticket), EL_PAUSE_ON);
        now += length;
    }
}

static _Atomic unsigned trials;

static void *call_and_fail(void *unused)
{
    el_pause_ticket_t mine;

    for (uint64_t now = BEGIN; now < BEGIN + TIMES; now++) {
        trials += el_pause_at(&pause_, now + EL_PAUSE_FIRST, &mine) == EL_PAUSE_TRIAL;
    }
    return unused;
}

CASE(pause_threads, .set_up = set_up_pause, .threads = true);

TEST(pause_threads, of_threads_that_meet_one_tries)
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
