/* The ring: what is found in it, and what makes room for what. */
#include "elastic/ring.h"

#include "random.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY (256 * 1024)

static void *memory;
static el_ring_t *ring;

static void set_up(void)
{
    memory = malloc(MEMORY);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xff, MEMORY);
    ring = el_ring_init(memory, MEMORY);
}

static void tear_down(void)
{
    free(memory);
}

/* As good as random, and the same for the same number. */
static void name_of(unsigned number, uint8_t name[EL_RING_NAME])
{
    uint64_t state = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (size_t i = 0; i < EL_RING_NAME; i += 8) {
        state ^= state >> 29;
        state *= UINT64_C(0xbf58476d1ce4e5b9);
        state ^= state >> 32;
        memcpy(name + i, &state, 8);
    }
}

/* An entry whose bytes are its number and length over and over. */
static bool add(unsigned number, size_t nbytes)
{
    uint8_t name[EL_RING_NAME], *at;

    name_of(number, name);
    at = el_ring_add(ring, name, nbytes);
    if (at) {
        memset(at, (int)(number + nbytes), nbytes);
    }
    return at != NULL;
}

/* Whether it is there; what is there is what was added. */
static bool has(unsigned number, el_ring_found_t *found)
{
    uint8_t name[EL_RING_NAME];
    bool is_whole = true;

    name_of(number, name);
    if (!el_ring_find(ring, name, found)) {
        return false;
    }
    for (size_t i = 0; i < found->nbytes && is_whole; i++) {
        is_whole = found->bytes[i] == (uint8_t)(number + found->nbytes);
    }
    ck_assert(is_whole); /* once: each assertion is written to a pipe */
    return true;
}

START_TEST(an_entry_is_found)
{
    el_ring_found_t found;

    ck_assert(!has(1, &found));
    ck_assert(add(1, 1000) && add(2, 0) && add(3, el_ring_most(ring)));
    ck_assert(has(1, &found) && found.nbytes == 1000 && !found.old);
    ck_assert(has(2, &found) && found.nbytes == 0);
    ck_assert(has(3, &found) && found.nbytes == el_ring_most(ring));
    ck_assert(!has(4, &found));
}
END_TEST

START_TEST(what_is_too_large_drives_out_nothing)
{
    el_ring_found_t found;

    ck_assert(add(1, 1000));
    ck_assert(!add(2, el_ring_most(ring) + 1));
    ck_assert(!add(3, SIZE_MAX));
    ck_assert(has(1, &found) && !has(2, &found) && !has(3, &found));
    ck_assert_uint_gt(el_ring_most(ring), MEMORY / 9);
}
END_TEST

START_TEST(a_name_has_one_entry)
{
    el_ring_found_t found;

    ck_assert(add(1, 1000) && add(2, 10) && add(1, 2000));
    ck_assert(has(1, &found) && found.nbytes == 2000);
    ck_assert(has(2, &found));
}
END_TEST

START_TEST(the_oldest_makes_room)
{
    el_ring_found_t found;
    unsigned there = 0;

    for (unsigned i = 0; i < 100; i++) {
        ck_assert(add(i, MEMORY / 20));
        ck_assert(has(i, &found) && !found.old);
        there += i >= 15 && has(i - 15, &found) && found.old;
    }
    /* A set of places may be full before the memory is. */
    ck_assert_uint_ge(there, 70);
    for (unsigned i = 0; i < 75; i++) {
        ck_assert(!has(i, &found));
    }
}
END_TEST

START_TEST(nothing_is_left_of_a_ring_that_was_cleared)
{
    el_ring_found_t found;

    for (unsigned i = 0; i < 50; i++) {
        ck_assert(add(i, 10000));
    }
    el_ring_clear(ring);
    for (unsigned i = 0; i < 50; i++) {
        ck_assert(!has(i, &found));
    }
    ck_assert(add(7, 10000) && has(7, &found));
}
END_TEST

START_TEST(entries_of_all_lengths_stay_whole)
{
    uint64_t state = 1;
    el_ring_found_t found;

    for (unsigned i = 0; i < 5000; i++) {
        uint32_t random[3];

        random_bytes(&state, (uint8_t *)random, sizeof(random));
        ck_assert(add(random[0] % 200, random[1] % (el_ring_most(ring) + 1) / (1 + i % 50)));
        ck_assert(has(random[0] % 200, &found));
        has(random[2] % 200, &found);
    }
}
END_TEST

Suite *ring_suite(void)
{
    TCase *tc = tcase_create("ring");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_entry_is_found);
    tcase_add_test(tc, what_is_too_large_drives_out_nothing);
    tcase_add_test(tc, a_name_has_one_entry);
    tcase_add_test(tc, the_oldest_makes_room);
    tcase_add_test(tc, nothing_is_left_of_a_ring_that_was_cleared);
    tcase_add_test(tc, entries_of_all_lengths_stay_whole);
    return suite_of("ring", tc);
}
