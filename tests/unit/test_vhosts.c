#include "elastic/vhosts.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>

#define THREADS 3
#define ADDED 20000

static el_vhosts_t vhosts;
static unsigned places[EL_VHOSTS];

static void set_up(void)
{
    memset(&vhosts, 0, sizeof(vhosts));
}

static uint64_t compressed(unsigned place)
{
    return el_vhosts_total(&vhosts, place, EL_VHOST_COMPRESSED);
}

START_TEST(a_name_has_one_hash_whatever_its_case)
{
    ck_assert_uint_eq(el_vhosts_hash("WWW.Example.org"), el_vhosts_hash("www.example.org"));
    ck_assert_uint_ne(el_vhosts_hash("www.example.org"), el_vhosts_hash("www.example.net"));
    ck_assert_uint_ne(el_vhosts_hash(""), 0);
}
END_TEST

START_TEST(a_name_keeps_its_place_and_counts)
{
    const uint64_t before[] = {5, 6, 7}, after[] = {9, 7, 5};
    unsigned of_five, of_seven;

    el_vhosts_assign(&vhosts, before, 3, places);
    ck_assert(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
    of_five = places[0];
    of_seven = places[2];
    for (unsigned process = 0; process < 2 * EL_COUNTER_STRIPES; process++) {
        el_vhosts_add(&vhosts, process, of_five, EL_VHOST_COMPRESSED, 2);
    }
    el_vhosts_assign(&vhosts, after, 3, places);
    ck_assert_uint_eq(places[1], of_seven);
    ck_assert_uint_eq(places[2], of_five);
    ck_assert_uint_eq(compressed(of_five), 4 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(compressed(places[0]), 0);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, of_five, EL_VHOST_UNCOMPRESSED), 0);
}
END_TEST

START_TEST(a_full_table_takes_the_places_of_names_that_are_gone)
{
    uint64_t names[EL_VHOSTS];
    bool taken[EL_VHOSTS] = {false};

    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        names[i] = i + 1;
    }
    el_vhosts_assign(&vhosts, names, EL_VHOSTS, places);
    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        el_vhosts_add(&vhosts, 0, places[i], EL_VHOST_COMPRESSED, names[i]);
    }
    names[3] = 99;
    el_vhosts_assign(&vhosts, names, EL_VHOSTS, places);
    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        ck_assert_uint_lt(places[i], EL_VHOSTS);
        ck_assert(!taken[places[i]]);
        taken[places[i]] = true;
        ck_assert_uint_eq(compressed(places[i]), i == 3 ? 0 : names[i]);
    }
}
END_TEST

/* A child of before a restart, which counts on in the places that it knows. */
static void *count_on(void *number)
{
    unsigned process = *(unsigned *)number;

    for (unsigned i = 0; i < ADDED; i++) {
        el_vhosts_add(&vhosts, process, process, EL_VHOST_COMPRESSED, 1);
        el_vhosts_add(&vhosts, process, EL_VHOST_OTHER, EL_VHOST_BYTES_IN, 2);
    }
    return NULL;
}

START_TEST(children_count_while_places_are_given)
{
    const uint64_t all[] = {5, 6, 7}, fewer[] = {5, 6, 8};
    unsigned numbers[THREADS];
    pthread_t threads[THREADS];

    el_vhosts_assign(&vhosts, all, 3, places);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = places[i];
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_on, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        el_vhosts_assign(&vhosts, i % 2 ? all : fewer, 3, places);
        ck_assert(places[0] == numbers[0] && places[1] == numbers[1]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    /* Of names that stayed, nothing is lost. */
    ck_assert_uint_eq(compressed(numbers[0]), ADDED);
    ck_assert_uint_eq(compressed(numbers[1]), ADDED);
    ck_assert_uint_le(compressed(numbers[2]), ADDED);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, EL_VHOST_OTHER, EL_VHOST_BYTES_IN),
                      2 * THREADS * ADDED);
}
END_TEST

Suite *vhosts_suite(void)
{
    TCase *tc = tcase_create("vhosts"), *threads = tcase_create("threads");
    Suite *suite = suite_of("vhosts", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, a_name_has_one_hash_whatever_its_case);
    tcase_add_test(tc, a_name_keeps_its_place_and_counts);
    tcase_add_test(tc, a_full_table_takes_the_places_of_names_that_are_gone);
    tcase_set_tags(threads, "threads");
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_add_test(threads, children_count_while_places_are_given);
    suite_add_tcase(suite, threads);
    return suite;
}
