/* What the store of encodings knows of bodies: the doorkeeper, the sketch, and when it complains. */
#include "elastic/cache_state.h"

#include "random.h"
#include "suites.h"

#include <stdio.h>
#include <string.h>

static el_cache_state_t state;

static void set_up(void)
{
    memset(&state, 0, sizeof(state));
}

/* The hash of a body by its number. */
static bool note_of(uint64_t number, uint32_t most)
{
    uint8_t hash[16];

    random_bytes(&number, hash, sizeof(hash));
    return el_door_note(&state.door, hash, most);
}

static bool note(uint64_t number)
{
    return note_of(number, EL_DOOR_MOST);
}

START_TEST(what_was_seen_is_known)
{
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert(!note(i));
    }
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert(note(i));
    }
}
END_TEST

START_TEST(few_that_are_new_are_taken_for_known)
{
    unsigned mistaken = 0;

    for (uint64_t i = 0; i < 2 * EL_DOOR_MOST; i++) {
        mistaken += note(i);
    }
    ck_assert_msg(mistaken < 2 * EL_DOOR_MOST / 50, "%u", mistaken);
}
END_TEST

static const uint32_t memories[] = {1000, EL_DOOR_MOST};

START_TEST(what_is_long_ago_is_forgotten)
{
    uint32_t most = memories[_i];
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
END_TEST

START_TEST(a_reset_forgets_all)
{
    el_place_t place = el_sketch_place("host", "/path");

    ck_assert(!note(1) && note(1));
    for (int i = 0; i < 100; i++) {
        el_sketch_learn(&state.sketch, place, false);
    }
    atomic_store(&state.written, 7);
    el_cache_state_reset(&state);
    ck_assert(!note(1));
    ck_assert(el_sketch_asks(&state.sketch, place, 5));
    ck_assert_uint_eq(atomic_load(&state.written), 0);
}
END_TEST

/* How many of 1600 bodies are hashed. */
static unsigned asked(el_place_t place)
{
    unsigned count = 0;

    for (uint32_t turn = 0; turn < 1600; turn++) {
        count += el_sketch_asks(&state.sketch, place, turn);
    }
    return count;
}

static void learn(el_place_t place, int bodies, int every)
{
    for (int i = 0; i < bodies; i++) {
        el_sketch_learn(&state.sketch, place, every > 0 && i % every == 0);
    }
}

START_TEST(the_first_bodies_are_all_hashed)
{
    el_place_t place = el_sketch_place("host", "/path");

    ck_assert_uint_eq(asked(place), 1600);
    learn(place, 15, 0);
    ck_assert_uint_eq(asked(place), 1600);
}
END_TEST

START_TEST(of_a_path_that_never_repeats_a_sample_is_hashed)
{
    el_place_t place = el_sketch_place("host", "/path");

    learn(place, 16, 0);
    ck_assert_uint_ge(asked(place), 95);
    ck_assert_uint_le(asked(place), 105);
}
END_TEST

START_TEST(a_sample_is_spread_over_every_round)
{
    el_place_t place = el_sketch_place("host", "/path");

    learn(place, 100, 0);
    for (uint32_t round = 2; round < 40; round++) {
        for (uint32_t first = 0; first < round; first++) {
            unsigned count = 0;

            for (uint32_t turn = first; turn < 600 * round; turn += round) {
                count += el_sketch_asks(&state.sketch, place, turn);
            }
            ck_assert_msg(count > 5, "%u of 600 at %u of each %u", count, first, round);
        }
    }
}
END_TEST

START_TEST(a_path_that_repeats_is_hashed)
{
    el_place_t one = el_sketch_place("host", "/one"), other = el_sketch_place("host", "/other");

    learn(one, 1000, 20);
    learn(other, 1000, 100);
    ck_assert_uint_eq(asked(one), 1600);
    ck_assert_uint_le(asked(other), 105);
}
END_TEST

START_TEST(a_path_changes)
{
    el_place_t place = el_sketch_place("host", "/path");

    learn(place, 1000, 0);
    learn(place, 10, 1);
    ck_assert_uint_eq(asked(place), 1600);
    learn(place, 1000, 0);
    ck_assert_uint_le(asked(place), 105);
}
END_TEST

START_TEST(a_new_path_is_as_its_host_is)
{
    for (int i = 0; i < 64; i++) {
        char path[16] = {'/', (char)('a' + i % 8), (char)('a' + i / 8)};

        learn(el_sketch_place("crawled", path), 1, 0);
        learn(el_sketch_place("busy", path), 2, 2);
    }
    ck_assert_uint_le(asked(el_sketch_place("crawled", "/new")), 420);
    ck_assert_uint_ge(asked(el_sketch_place("crawled", "/new")), 380);
    ck_assert_uint_eq(asked(el_sketch_place("busy", "/new")), 1600);
    ck_assert_uint_eq(asked(el_sketch_place("other", "/new")), 1600);
}
END_TEST

START_TEST(many_paths_leave_a_busy_one_alone)
{
    el_place_t busy = el_sketch_place("busy", "/page");

    for (int i = 0; i < 100000; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%d", i);
        learn(el_sketch_place("crawled", path), 1, 0);
        if (i % 50 == 0) {
            learn(busy, 1, 1);
        }
    }
    ck_assert_uint_eq(asked(busy), 1600);
}
END_TEST

START_TEST(it_complains_once_a_minute)
{
    ck_assert(el_cache_state_may_complain(&state, 0));
    ck_assert(!el_cache_state_may_complain(&state, 30));
    ck_assert(!el_cache_state_may_complain(&state, 59));
    ck_assert(el_cache_state_may_complain(&state, 61));
    ck_assert(!el_cache_state_may_complain(&state, 120));
    ck_assert(el_cache_state_may_complain(&state, 121));
}
END_TEST

Suite *cache_state_suite(void)
{
    TCase *tc = tcase_create("cache_state");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, what_was_seen_is_known);
    tcase_add_test(tc, few_that_are_new_are_taken_for_known);
    tcase_add_loop_test(tc, what_is_long_ago_is_forgotten, 0, ROWS(memories));
    tcase_add_test(tc, a_reset_forgets_all);
    tcase_add_test(tc, the_first_bodies_are_all_hashed);
    tcase_add_test(tc, of_a_path_that_never_repeats_a_sample_is_hashed);
    tcase_add_test(tc, a_sample_is_spread_over_every_round);
    tcase_add_test(tc, a_path_that_repeats_is_hashed);
    tcase_add_test(tc, a_path_changes);
    tcase_add_test(tc, a_new_path_is_as_its_host_is);
    tcase_add_test(tc, many_paths_leave_a_busy_one_alone);
    tcase_add_test(tc, it_complains_once_a_minute);
    return suite_of("cache_state", tc);
}
