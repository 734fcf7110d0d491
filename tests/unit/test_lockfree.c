/* Memory shared by processes: snapshots, sums and pauses. */
#include "elastic/lockfree.h"
#include "suites.h"

#define THREADS 4
#define TIMES 2000

/* Longer than a cache line, and not a multiple of a word. */
typedef struct {
    char bytes[1001];
} thing_t;

static struct {
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(thing_t)];
    _Atomic uint64_t checksum;
} shared;

CASE(snapshot, ZEROED(shared));

static thing_t thing_of(char letter)
{
    thing_t thing;

    memset(&thing, letter, sizeof(thing));
    return thing;
}

static void write_thing(char letter)
{
    thing_t thing = thing_of(letter);

    el_snapshot_write(shared.words, &shared.checksum, &thing, sizeof(thing));
}

static bool read_thing(thing_t *thing)
{
    return el_snapshot_read(shared.words, &shared.checksum, thing, sizeof(*thing));
}

/* Reads a thing of `letter`, or zeros if there is none. */
static void assert_thing(bool there, char letter)
{
    thing_t thing = thing_of('?'), wanted = thing_of(letter);

    ck_assert(read_thing(&thing) == there);
    ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
}

TEST(snapshot, what_was_written_is_read_until_it_is_cleared)
{
    assert_thing(false, 0);
    write_thing('a');
    assert_thing(true, 'a');
    write_thing('b');
    assert_thing(true, 'b');
    write_thing(0); /* zeros are valid content */
    assert_thing(true, 0);
    atomic_store(&shared.checksum, 0);
    assert_thing(false, 0);
}

TEST(snapshot, a_mixture_of_two_is_none)
{
    _Atomic uint64_t kept[EL_SNAPSHOT_WORDS(thing_t)];

    write_thing('a');
    memcpy(kept, shared.words, sizeof(kept));
    for (size_t n = 0; n < EL_SNAPSHOT_WORDS(thing_t); n++) {
        write_thing('b');
        shared.words[n] = kept[n];
        assert_thing(false, 0);
    }
    /* A writer died midway; the next one repairs it. */
    write_thing('b');
    assert_thing(true, 'b');
}

CASE(snapshot_threads, .tags = "threads");

static void *write_many(void *letter)
{
    for (int n = 0; n < 3000; n++) {
        write_thing(*(const char *)letter);
    }
    return NULL;
}

TEST(snapshot_threads, a_reader_gets_all_of_one_writers_or_none)
{
    threads_t threads = threads_start(3, write_many, "abc", 1);
    thing_t thing, wanted;

    for (int n = 0; n < 3000; n++) {
        wanted = thing_of(read_thing(&thing) ? thing.bytes[0] : 0);
        ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
    }
    threads_join(&threads);
}

/* Memory of bodies in flight, of all processes. */
static el_in_flight_t held;

CASE(held, ZEROED(held));

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
    /* Adding is never refused. */
    el_in_flight_add(&held, one, 100);
    ck_assert(!el_in_flight_take(&held, one, 0, 100));
    el_in_flight_add(&held, one, -100);
    ck_assert(el_in_flight_take(&held, one, 0, 100));
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
    for (int times = 0; times < 2; times++) {
        el_in_flight_forget(&held, only_two_is_alive);
        ck_assert_uint_eq(el_in_flight_nbytes(&held), 60);
    }
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

CASE(held_threads, ZEROED(held), .tags = "threads");

static void *take_and_give(void *holder)
{
    for (int i = 0; i < TIMES; i++) {
        if (el_in_flight_take(&held, holder, 3, 9)) {
            ck_assert_uint_le(el_in_flight_nbytes(&held), 9);
            el_in_flight_add(&held, holder, -3);
        }
        el_in_flight_forget(&held, only_two_is_alive);
    }
    return NULL;
}

TEST(held_threads, threads_that_meet)
{
    threads_run(THREADS, take_and_give, el_in_flight_enter(&held, 2));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
}

/* Pauses after failures. */
#define FIRST EL_PAUSE_FIRST
#define BEGIN UINT64_C(100000000)

static el_pause_t pause_;
static el_pause_ticket_t ticket;

CASE(pause, ZEROED(pause_));

static void assert_at(uint64_t now, el_pause_state_t wanted, el_pause_ticket_t *of)
{
    ck_assert_int_eq(el_pause_at(&pause_, now, of), wanted);
}

/* A call at BEGIN fails. */
static void fail_first(void)
{
    assert_at(BEGIN, EL_PAUSE_NONE, &ticket);
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN), FIRST);
}

TEST(pause, after_a_failure_nobody_calls_until_one_tries)
{
    el_pause_ticket_t other;

    fail_first();
    assert_at(BEGIN + FIRST - 1, EL_PAUSE_ON, &other);
    assert_at(BEGIN + FIRST, EL_PAUSE_TRIAL, &ticket);
    assert_at(BEGIN + FIRST, EL_PAUSE_ON, &other);
    el_pause_worked(&pause_, ticket);
    assert_at(BEGIN + FIRST, EL_PAUSE_NONE, &other);
}

/* A late report of a call from before the pause does not end the trial. */
TEST(pause, other_calls_of_before_change_nothing)
{
    fail_first();
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, BEGIN + 1), 0);
    el_pause_worked(&pause_, ticket);
    assert_at(BEGIN + FIRST - 1, EL_PAUSE_ON, &ticket);
    assert_at(BEGIN + FIRST, EL_PAUSE_TRIAL, &ticket);
}

TEST(pause, pauses_double_up_to_a_minute)
{
    uint64_t now = BEGIN, expected = FIRST;

    assert_at(BEGIN, EL_PAUSE_NONE, &ticket);
    for (int i = 0; i < 300; i++) {
        ck_assert_uint_eq(el_pause_failed(&pause_, ticket, now), expected);
        now += expected;
        assert_at(now - 1, EL_PAUSE_ON, &ticket);
        assert_at(now, EL_PAUSE_TRIAL, &ticket);
        expected = 2 * expected < EL_PAUSE_MOST ? 2 * expected : EL_PAUSE_MOST;
    }
    el_pause_worked(&pause_, ticket);
    assert_at(now, EL_PAUSE_NONE, &ticket);
    ck_assert_uint_eq(el_pause_failed(&pause_, ticket, now), FIRST);
}

TEST(pause, a_trial_of_which_nothing_is_heard_is_made_by_another)
{
    el_pause_ticket_t lost;

    fail_first();
    assert_at(BEGIN + FIRST, EL_PAUSE_TRIAL, &lost);
    assert_at(BEGIN + 3 * FIRST - 1, EL_PAUSE_ON, &ticket);
    assert_at(BEGIN + 3 * FIRST, EL_PAUSE_TRIAL, &ticket);
    ck_assert_uint_eq(el_pause_failed(&pause_, lost, BEGIN + 3 * FIRST), 0);
    el_pause_worked(&pause_, lost);
    ck_assert_uint_ne(atomic_load(&pause_.word), 0);
    el_pause_worked(&pause_, ticket);
    ck_assert_uint_eq(atomic_load(&pause_.word), 0);
}

TEST(pause, pauses_grow_too_where_nothing_is_heard)
{
    uint64_t now = BEGIN + FIRST;

    fail_first();
    for (uint64_t length = 2 * FIRST; length < EL_PAUSE_MOST; length *= 2) {
        assert_at(now, EL_PAUSE_TRIAL, &ticket);
        assert_at(now + length - 1, EL_PAUSE_ON, &ticket);
        now += length;
    }
}

CASE(pause_threads, ZEROED(pause_), .tags = "threads");

static _Atomic unsigned trials;

static void *call_and_fail(void *unused)
{
    el_pause_ticket_t mine;

    for (uint64_t now = BEGIN + FIRST; now < BEGIN + FIRST + TIMES; now++) {
        trials += el_pause_at(&pause_, now, &mine) == EL_PAUSE_TRIAL;
    }
    return unused;
}

TEST(pause_threads, of_threads_that_meet_one_tries)
{
    trials = 0;
    fail_first();
    threads_run(THREADS, call_and_fail, NULL);
    ck_assert_uint_eq(trials, 1);
}
