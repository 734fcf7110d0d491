/* What is asked for often: counted, forgotten, and taken once. */
#include "elastic/hot.h"

#include "random.h"
#include "suites.h"

#include <pthread.h>
#include <string.h>

#define NOW 100000u

static el_hot_t hot;

static void set_up(void)
{
    memset(&hot, 0, sizeof(hot));
}

/* The item of a number: names as a keyed hash makes them. */
static el_hot_item_t item_of(uint64_t number)
{
    el_hot_item_t item = {.nbytes = (uint32_t)number, .coding = EL_BR, .level = 11};

    random_bytes(&number, item.name.hash, sizeof(item.name.hash));
    return item;
}

static void note(uint64_t number, int times, uint32_t now)
{
    el_hot_item_t item = item_of(number);

    for (int i = 0; i < times; i++) {
        el_hot_note(&hot, &item, now);
    }
}

/* The number of what is taken at `now`; −1: nothing. */
static int64_t take(uint32_t now)
{
    el_hot_item_t item, expected;

    if (!el_hot_take(&hot, now, &item)) {
        return -1;
    }
    expected = item_of(item.nbytes);
    ck_assert_mem_eq(&item, &expected, sizeof(item));
    return item.nbytes;
}

START_TEST(one_encoding_is_taken_for_each_kind_of_clients)
{
    el_hot_item_t item = item_of(1), other = item, taken[2];

    other.coding = EL_GZIP;
    for (int i = 0; i < 10; i++) {
        el_hot_note(&hot, &item, NOW);
        el_hot_note(&hot, &other, NOW);
    }
    ck_assert(el_hot_take(&hot, NOW, &taken[0]) && el_hot_take(&hot, NOW, &taken[1]));
    ck_assert_int_eq(taken[0].coding + taken[1].coding, EL_BR + EL_GZIP);
    ck_assert(!el_hot_take(&hot, NOW, &item));
}
END_TEST

START_TEST(nothing_is_hot_at_first)
{
    ck_assert_int_eq(take(NOW), -1);
}
END_TEST

START_TEST(what_is_asked_for_most_is_taken_first_and_once)
{
    note(1, 10, NOW);
    note(2, 30, NOW);
    note(3, 20, NOW);
    ck_assert_int_eq(take(NOW), 2);
    ck_assert_int_eq(take(NOW), 3);
    ck_assert_int_eq(take(NOW), 1);
    ck_assert_int_eq(take(NOW), -1);
}
END_TEST

START_TEST(what_is_asked_for_seldom_is_not_taken)
{
    note(1, EL_HOT_LEAST - 1, NOW);
    ck_assert_int_eq(take(NOW), -1);
    note(1, 1, NOW);
    ck_assert_int_eq(take(NOW), 1);
}
END_TEST

static const struct {
    const char *guards;
    int times;
    uint32_t later;
    int64_t taken;
} fadings[] = {
    {"at once", EL_HOT_LEAST, 0, 1},
    {"a half-life later half counts", 2 * EL_HOT_LEAST, EL_HOT_HALF, 1},
    {"and less than half is too little", 2 * EL_HOT_LEAST - 1, EL_HOT_HALF, -1},
    {"three of them", 8 * EL_HOT_LEAST, 3 * EL_HOT_HALF, 1},
    {"after a day nothing is left", 1000000, 86400, -1},
    {"nor after 32 half-lives", 1000000, 32 * EL_HOT_HALF, -1},
    {"nor after 64", 1000000, 64 * EL_HOT_HALF, -1},
};

START_TEST(what_was_asked_for_is_forgotten)
{
    note(1, fadings[_i].times, NOW - NOW % EL_HOT_HALF);
    ck_assert_msg(take(NOW - NOW % EL_HOT_HALF + fadings[_i].later) == fadings[_i].taken, "%s",
                  fadings[_i].guards);
}
END_TEST

START_TEST(a_clock_that_another_process_read_earlier_takes_nothing_away)
{
    note(1, 1000, NOW);
    note(1, 1, NOW - EL_HOT_HALF);
    ck_assert_int_eq(take(NOW - EL_HOT_HALF), 1);
}
END_TEST

START_TEST(what_was_taken_in_vain_is_not_taken_again_while_it_is_asked_for)
{
    note(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    for (uint32_t now = NOW; now < NOW + 20 * EL_HOT_HALF; now += EL_HOT_HALF / 4) {
        note(1, 50, now);
        ck_assert_int_eq(take(now), -1);
    }
}
END_TEST

START_TEST(what_was_taken_and_forgotten_counts_anew)
{
    note(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    note(1, EL_HOT_LEAST, NOW + 2 * EL_HOT_HALF);
    ck_assert_int_eq(take(NOW + 2 * EL_HOT_HALF), 1);
}
END_TEST

/* Ten names that are asked for every round, among a hundred thousand that are asked for once. */
START_TEST(names_of_one_time_displace_no_others)
{
    uint64_t once = 1000;
    bool seen[11] = {false};

    for (int round = 0; round < 100; round++) {
        for (uint64_t number = 1; number <= 10; number++) {
            note(number, 20, NOW);
        }
        for (int i = 0; i < 1000; i++) {
            note(once++, 1, NOW);
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
END_TEST

/* An item of the `number`th name of one set. */
static el_hot_item_t neighbour(uint64_t number)
{
    uint64_t key = number * EL_HOT_SETS + 5;
    el_hot_item_t item = {.nbytes = (uint32_t)number};

    memcpy(item.name.hash, &key, sizeof(key));
    return item;
}

START_TEST(names_of_one_time_displace_no_others_of_a_full_set)
{
    el_hot_item_t item;

    for (uint64_t number = 1; number <= EL_HOT_WAYS; number++) {
        for (int i = 0; i < 50; i++) {
            item = neighbour(number);
            el_hot_note(&hot, &item, NOW);
        }
    }
    for (uint64_t number = 100; number < 140; number++) {
        item = neighbour(number);
        el_hot_note(&hot, &item, NOW);
    }
    for (int i = 0; i < EL_HOT_WAYS; i++) {
        ck_assert(el_hot_take(&hot, NOW, &item));
        ck_assert_uint_le(item.nbytes, EL_HOT_WAYS);
    }
}
END_TEST

START_TEST(what_is_new_and_asked_for_more_takes_the_place_of_others)
{
    for (uint64_t number = 1; number <= 4 * EL_HOT_SETS * EL_HOT_WAYS; number++) {
        note(number, EL_HOT_LEAST, NOW);
    }
    note(7777777, 100, NOW);
    ck_assert_int_eq(take(NOW), 7777777);
}
END_TEST

START_TEST(an_item_that_two_wrote_is_not_taken)
{
    note(1, 100, NOW);
    note(2, 50, NOW);
    for (int i = 0; i < EL_HOT_SETS * EL_HOT_WAYS; i++) {
        if ((atomic_load(&hot.slot[i].asked) & 0xff) == 100) {
            atomic_fetch_xor(_i ? &hot.slot[i].key : &hot.slot[i].words[2], 64);
        }
    }
    ck_assert_int_eq(take(NOW), 2);
    ck_assert_int_eq(take(NOW), -1);
}
END_TEST

START_TEST(a_reset_leaves_nothing)
{
    note(1, 100, NOW);
    el_hot_reset(&hot);
    ck_assert_int_eq(take(NOW), -1);
    note(1, EL_HOT_LEAST, NOW);
    ck_assert_int_eq(take(NOW), 1);
}
END_TEST

#define THREADS 4
#define TIMES 20000

static void *note_and_take(void *unused)
{
    (void)unused;
    for (int i = 0; i < TIMES; i++) {
        note((uint64_t)(i % 1000) + 1, 1, NOW);
        if (i % 16 == 0) {
            take(NOW);
        }
    }
    return NULL;
}

START_TEST(threads_that_meet)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, note_and_take, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

Suite *hot_suite(void)
{
    TCase *tc = tcase_create("hot"), *threads = tcase_create("threads");
    Suite *suite = suite_of("hot", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, nothing_is_hot_at_first);
    tcase_add_test(tc, what_is_asked_for_most_is_taken_first_and_once);
    tcase_add_test(tc, what_is_asked_for_seldom_is_not_taken);
    tcase_add_test(tc, one_encoding_is_taken_for_each_kind_of_clients);
    tcase_add_loop_test(tc, what_was_asked_for_is_forgotten, 0, ROWS(fadings));
    tcase_add_test(tc, a_clock_that_another_process_read_earlier_takes_nothing_away);
    tcase_add_test(tc, what_was_taken_in_vain_is_not_taken_again_while_it_is_asked_for);
    tcase_add_test(tc, what_was_taken_and_forgotten_counts_anew);
    tcase_add_test(tc, names_of_one_time_displace_no_others);
    tcase_add_test(tc, names_of_one_time_displace_no_others_of_a_full_set);
    tcase_add_test(tc, what_is_new_and_asked_for_more_takes_the_place_of_others);
    tcase_add_loop_test(tc, an_item_that_two_wrote_is_not_taken, 0, 2);
    tcase_add_test(tc, a_reset_leaves_nothing);
    tcase_set_tags(threads, "threads");
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_add_test(threads, threads_that_meet);
    suite_add_tcase(suite, threads);
    return suite;
}
