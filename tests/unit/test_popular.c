#include "elastic/popular.h"

#include "random.h"
#include "suites.h"

#include <pthread.h>

static el_doorkeeper_t door;
static el_sketch_t sketch;

static void set_up_bodies(void)
{
    memset(&door, 0, sizeof(door));
    memset(&sketch, 0, sizeof(sketch));
}

/* The hash of a body by its number. */
static bool note_of(uint64_t number, uint32_t most)
{
    uint8_t hash[16];

    random_bytes(&number, hash, sizeof(hash));
    return el_doorkeeper_note(&door, hash, most);
}

static bool note(uint64_t number)
{
    return note_of(number, EL_DOORKEEPER_MOST);
}

CASE(bodies, .set_up = set_up_bodies);

TEST(bodies, what_was_seen_is_known)
{
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert(!note(i));
    }
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert(note(i));
    }
}

TEST(bodies, few_that_are_new_are_taken_for_known)
{
    unsigned mistaken = 0;

    for (uint64_t i = 0; i < 2 * EL_DOORKEEPER_MOST; i++) {
        mistaken += note(i);
    }
    ck_assert_msg(mistaken < 2 * EL_DOORKEEPER_MOST / 50, "%u", mistaken);
}

static const uint32_t memories[] = {1000, EL_DOORKEEPER_MOST};

EACH(bodies, what_is_long_ago_is_forgotten, memories)
{
    uint32_t most = *row;
    unsigned known = 0;

    for (uint64_t i = 0; i < 100; i++) {
        note_of(i, most);
    }
    for (uint64_t i = 1000; i < 1000 + most; i++) {
        note_of(i, most);
    }
    for (uint64_t i = 0; i < 100; i++) {
        known += note_of(i, most);
    }
    ck_assert_msg(known >= 95, "%u of 100 after the first filter was full", known);
    for (uint64_t i = 1000000; i < 1000000 + 2 * most + most / 10; i++) {
        note_of(i, most);
    }
    known = 0;
    for (uint64_t i = 0; i < 100; i++) {
        known += note_of(i, most);
    }
    ck_assert_msg(known <= 10, "%u of 100", known);
}

TEST(bodies, a_reset_forgets_all)
{
    el_sketch_key_t place = el_sketch_key("host", "/path");

    ck_assert(!note(1) && note(1));
    for (int i = 0; i < 100; i++) {
        el_sketch_learn(&sketch, place, false);
    }
    el_doorkeeper_reset(&door);
    el_sketch_reset(&sketch);
    ck_assert(!note(1));
    ck_assert(el_sketch_asks(&sketch, place, 5));
}

/* How many of 1600 bodies are hashed. */
static unsigned asked(el_sketch_key_t place)
{
    unsigned count = 0;

    for (uint32_t turn = 0; turn < 1600; turn++) {
        count += el_sketch_asks(&sketch, place, turn);
    }
    return count;
}

static void learn(el_sketch_key_t place, int bodies, int every)
{
    for (int i = 0; i < bodies; i++) {
        el_sketch_learn(&sketch, place, every > 0 && i % every == 0);
    }
}

TEST(bodies, the_first_bodies_are_all_hashed)
{
    el_sketch_key_t place = el_sketch_key("host", "/path");

    ck_assert_uint_eq(asked(place), 1600);
    learn(place, 15, 0);
    ck_assert_uint_eq(asked(place), 1600);
}

TEST(bodies, of_a_path_that_never_repeats_a_sample_is_hashed)
{
    el_sketch_key_t place = el_sketch_key("host", "/path");

    learn(place, 16, 0);
    ck_assert_uint_ge(asked(place), 95);
    ck_assert_uint_le(asked(place), 105);
}

TEST(bodies, a_sample_is_spread_over_every_round)
{
    el_sketch_key_t place = el_sketch_key("host", "/path");

    learn(place, 100, 0);
    for (uint32_t round = 2; round < 40; round++) {
        for (uint32_t first = 0; first < round; first++) {
            unsigned count = 0;

            for (uint32_t turn = first; turn < 600 * round; turn += round) {
                count += el_sketch_asks(&sketch, place, turn);
            }
            ck_assert_msg(count > 5, "%u of 600 at %u of each %u", count, first, round);
        }
    }
}

TEST(bodies, a_path_that_repeats_is_hashed)
{
    el_sketch_key_t one = el_sketch_key("host", "/one"), other = el_sketch_key("host", "/other");

    learn(one, 1000, 20);
    learn(other, 1000, 100);
    ck_assert_uint_eq(asked(one), 1600);
    ck_assert_uint_le(asked(other), 105);
}

TEST(bodies, a_path_changes)
{
    el_sketch_key_t place = el_sketch_key("host", "/path");

    learn(place, 1000, 0);
    learn(place, 10, 1);
    ck_assert_uint_eq(asked(place), 1600);
    learn(place, 1000, 0);
    ck_assert_uint_le(asked(place), 105);
}

TEST(bodies, a_new_path_is_as_its_host_is)
{
    for (int i = 0; i < 64; i++) {
        char path[16] = {'/', (char)('a' + i % 8), (char)('a' + i / 8)};

        learn(el_sketch_key("crawled", path), 1, 0);
        learn(el_sketch_key("busy", path), 2, 2);
    }
    ck_assert_uint_le(asked(el_sketch_key("crawled", "/new")), 420);
    ck_assert_uint_ge(asked(el_sketch_key("crawled", "/new")), 380);
    ck_assert_uint_eq(asked(el_sketch_key("busy", "/new")), 1600);
    ck_assert_uint_eq(asked(el_sketch_key("other", "/new")), 1600);
}

TEST(bodies, many_paths_leave_a_busy_one_alone)
{
    el_sketch_key_t busy = el_sketch_key("busy", "/page");

    for (int i = 0; i < 100000; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%d", i);
        learn(el_sketch_key("crawled", path), 1, 0);
        if (i % 50 == 0) {
            learn(busy, 1, 1);
        }
    }
    ck_assert_uint_eq(asked(busy), 1600);
}

/* What is asked for often: counted, forgotten, and taken once. */
#define NOW 100000u

static el_popular_t hot;

static void set_up_encodings(void)
{
    memset(&hot, 0, sizeof(hot));
}

/* The item of a number: names as a keyed hash makes them. */
static el_popular_item_t item_of(uint64_t number)
{
    el_popular_item_t item = {.nbytes = (uint32_t)number, .coding = EL_BR, .level = 11};

    random_bytes(&number, item.name.hash, sizeof(item.name.hash));
    return item;
}

static void ask(uint64_t number, int times, uint32_t now)
{
    el_popular_item_t item = item_of(number);

    for (int i = 0; i < times; i++) {
        el_popular_note(&hot, &item, now);
    }
}

/* The number of what is taken at `now`; −1: nothing. */
static int64_t take(uint32_t now)
{
    el_popular_item_t item, expected;

    if (!el_popular_take(&hot, now, &item)) {
        return -1;
    }
    expected = item_of(item.nbytes);
    ck_assert_mem_eq(&item, &expected, sizeof(item));
    return item.nbytes;
}

CASE(encodings, .set_up = set_up_encodings);

TEST(encodings, one_encoding_is_taken_for_each_kind_of_clients)
{
    el_popular_item_t item = item_of(1), other = item, taken[2];

    other.coding = EL_GZIP;
    for (int i = 0; i < 10; i++) {
        el_popular_note(&hot, &item, NOW);
        el_popular_note(&hot, &other, NOW);
    }
    ck_assert(el_popular_take(&hot, NOW, &taken[0]) && el_popular_take(&hot, NOW, &taken[1]));
    ck_assert_int_eq(taken[0].coding + taken[1].coding, EL_BR + EL_GZIP);
    ck_assert(!el_popular_take(&hot, NOW, &item));
}

TEST(encodings, nothing_is_hot_at_first)
{
    ck_assert_int_eq(take(NOW), -1);
}

TEST(encodings, what_is_asked_for_most_is_taken_first_and_once)
{
    ask(1, 10, NOW);
    ask(2, 30, NOW);
    ask(3, 20, NOW);
    ck_assert_int_eq(take(NOW), 2);
    ck_assert_int_eq(take(NOW), 3);
    ck_assert_int_eq(take(NOW), 1);
    ck_assert_int_eq(take(NOW), -1);
}

TEST(encodings, what_is_asked_for_seldom_is_not_taken)
{
    ask(1, EL_POPULAR_LEAST - 1, NOW);
    ck_assert_int_eq(take(NOW), -1);
    ask(1, 1, NOW);
    ck_assert_int_eq(take(NOW), 1);
}

static const struct {
    const char *label;
    int times;
    uint32_t later;
    int64_t taken;
} fadings[] = {
    {"at once", EL_POPULAR_LEAST, 0, 1},
    {"a half-life later half counts", 2 * EL_POPULAR_LEAST, EL_POPULAR_HALF, 1},
    {"and less than half is too little", 2 * EL_POPULAR_LEAST - 1, EL_POPULAR_HALF, -1},
    {"three of them", 8 * EL_POPULAR_LEAST, 3 * EL_POPULAR_HALF, 1},
    {"after a day nothing is left", 1000000, 86400, -1},
    {"nor after 32 half-lives", 1000000, 32 * EL_POPULAR_HALF, -1},
    {"nor after 64", 1000000, 64 * EL_POPULAR_HALF, -1},
};

EACH(encodings, what_was_asked_for_is_forgotten, fadings)
{
    ask(1, row->times, NOW - NOW % EL_POPULAR_HALF);
    row_eq(take(NOW - NOW % EL_POPULAR_HALF + row->later), row->taken);
}

TEST(encodings, a_clock_that_another_process_read_earlier_takes_nothing_away)
{
    ask(1, 1000, NOW);
    ask(1, 1, NOW - EL_POPULAR_HALF);
    ck_assert_int_eq(take(NOW - EL_POPULAR_HALF), 1);
}

TEST(encodings, what_was_taken_in_vain_is_not_taken_again_while_it_is_asked_for)
{
    ask(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    for (uint32_t now = NOW; now < NOW + 20 * EL_POPULAR_HALF; now += EL_POPULAR_HALF / 4) {
        ask(1, 50, now);
        ck_assert_int_eq(take(now), -1);
    }
}

TEST(encodings, what_was_taken_and_forgotten_counts_anew)
{
    ask(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    ask(1, EL_POPULAR_LEAST, NOW + 2 * EL_POPULAR_HALF);
    ck_assert_int_eq(take(NOW + 2 * EL_POPULAR_HALF), 1);
}

/* Ten names that are asked for every round, among a hundred thousand that are asked for once. */
TEST(encodings, names_of_one_time_displace_no_others)
{
    uint64_t once = 1000;
    bool seen[11] = {false};

    for (int round = 0; round < 100; round++) {
        for (uint64_t number = 1; number <= 10; number++) {
            ask(number, 20, NOW);
        }
        for (int i = 0; i < 1000; i++) {
            ask(once++, 1, NOW);
        }
    }
    for (int i = 0; i < 10; i++) {
        int64_t number = take(NOW);

        ck_assert_int_ge(number, 1);
        ck_assert_int_le(number, 10);
        ck_assert(!seen[number]);
        seen[number] = true;
    }
}

/* An item of the `number`th name of one set. */
static el_popular_item_t neighbour(uint64_t number)
{
    uint64_t key = number * EL_POPULAR_SETS + 5;
    el_popular_item_t item = {.nbytes = (uint32_t)number};

    memcpy(item.name.hash, &key, sizeof(key));
    return item;
}

TEST(encodings, names_of_one_time_displace_no_others_of_a_full_set)
{
    el_popular_item_t item;

    for (uint64_t number = 1; number <= EL_POPULAR_WAYS; number++) {
        for (int i = 0; i < 50; i++) {
            item = neighbour(number);
            el_popular_note(&hot, &item, NOW);
        }
    }
    for (uint64_t number = 100; number < 140; number++) {
        item = neighbour(number);
        el_popular_note(&hot, &item, NOW);
    }
    for (int i = 0; i < EL_POPULAR_WAYS; i++) {
        ck_assert(el_popular_take(&hot, NOW, &item));
        ck_assert_uint_le(item.nbytes, EL_POPULAR_WAYS);
    }
}

TEST(encodings, what_is_new_and_asked_for_more_takes_the_place_of_others)
{
    for (uint64_t number = 1; number <= 4 * EL_POPULAR_SETS * EL_POPULAR_WAYS; number++) {
        ask(number, EL_POPULAR_LEAST, NOW);
    }
    ask(7777777, 100, NOW);
    ck_assert_int_eq(take(NOW), 7777777);
}

static const bool of_key[] = {false, true};

EACH(encodings, an_item_that_two_wrote_is_not_taken, of_key)
{
    ask(1, 100, NOW);
    ask(2, 50, NOW);
    for (int i = 0; i < EL_POPULAR_SETS * EL_POPULAR_WAYS; i++) {
        if ((atomic_load(&hot.slot[i].asked) & 0xff) == 100) {
            atomic_fetch_xor(*row ? &hot.slot[i].key : &hot.slot[i].words[2], 64);
        }
    }
    ck_assert_int_eq(take(NOW), 2);
    ck_assert_int_eq(take(NOW), -1);
}

#define THREADS 4
#define TIMES 20000

static void *note_and_take(void *unused)
{
    (void)unused;
    for (int i = 0; i < TIMES; i++) {
        ask((uint64_t)(i % 1000) + 1, 1, NOW);
        if (i % 16 == 0) {
            take(NOW);
        }
    }
    return NULL;
}

CASE(encodings_threads, .set_up = set_up_encodings, .threads = true);

TEST(encodings_threads, threads_that_meet)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, note_and_take, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}
