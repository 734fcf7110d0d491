#include "elastic/top.h"

#include "random.h"
#include "suites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define TEXTS 4000
#define ADDED 40000
#define THREADS 4

static el_top_t top;
static el_top_item_t items[EL_TOP_SLOTS];
static uint64_t total;

static void set_up(void)
{
    el_top_reset(&top);
}

static size_t read_all(void)
{
    return el_top_read(&top, items, EL_TOP_SLOTS, &total);
}

static const el_top_item_t *find(const char *text)
{
    size_t count = read_all();

    for (size_t i = 0; i < count; i++) {
        if (strcmp(items[i].text, text) == 0) {
            return &items[i];
        }
    }
    return NULL;
}

START_TEST(the_heaviest_come_first)
{
    el_top_add(&top, "host", "/b", 5);
    el_top_add(&top, "host", "/a", 3);
    el_top_add(&top, "host", "/c", 4);
    el_top_add(&top, "host", "/a", 3);
    ck_assert_uint_eq(el_top_read(&top, items, 2, &total), 2);
    ck_assert_uint_eq(total, 15);
    ck_assert_str_eq(items[0].text, "host/a");
    ck_assert_uint_eq(items[0].weight, 6);
    ck_assert_str_eq(items[1].text, "host/b");
    ck_assert_uint_eq(read_all(), 3);
    ck_assert_str_eq(items[2].text, "host/c");
}
END_TEST

/* Number 1 comes half of the time, number n about 1 / n² of it. */
static unsigned draw(uint64_t *state)
{
    uint32_t word;

    random_bytes(state, (uint8_t *)&word, sizeof(word));
    return (unsigned)(TEXTS / (1 + word % TEXTS)) % TEXTS;
}

START_TEST(true_heavy_hitters_are_found)
{
    static uint64_t truth[TEXTS];
    uint64_t state = (uint64_t)_i, all = 0;
    char text[16];

    memset(truth, 0, sizeof(truth));
    for (unsigned i = 0; i < ADDED; i++) {
        /* Every other one is asked for once: the table is full of them all the time. */
        unsigned which = i % 2 ? draw(&state) : TEXTS + i;
        uint64_t weight = 1 + i % 3;

        snprintf(text, sizeof(text), "/%u", which);
        el_top_add(&top, "", text, weight);
        all += weight;
        if (which < TEXTS) {
            truth[which] += weight;
        }
    }
    for (unsigned which = 0; which < TEXTS; which++) {
        const el_top_item_t *item;

        if (truth[which] * EL_TOP_SLOTS / 2 <= all) {
            continue;
        }
        snprintf(text, sizeof(text), "/%u", which);
        item = find(text);
        ck_assert_msg(item != NULL, "%s weighs %lu", text, (unsigned long)truth[which]);
        ck_assert_uint_ge(item->weight, truth[which]);
        ck_assert_uint_le(item->weight - item->excess, truth[which]);
    }
    ck_assert_uint_eq(total, all);
}
END_TEST

START_TEST(what_came_once_is_not_listed)
{
    char text[16];

    for (unsigned i = 0; i < 3 * EL_TOP_SLOTS; i++) {
        snprintf(text, sizeof(text), "/%u", i);
        el_top_add(&top, "", text, 1);
    }
    for (size_t i = 0, count = read_all(); i < count; i++) {
        ck_assert_uint_le(items[i].excess, items[i].weight / 2);
    }
    snprintf(text, sizeof(text), "/%u", 3 * EL_TOP_SLOTS - 1);
    ck_assert_ptr_null(find(text));
}
END_TEST

START_TEST(a_new_text_has_the_weight_of_the_one_before)
{
    char text[16];

    for (unsigned i = 0; i < EL_TOP_SLOTS; i++) {
        snprintf(text, sizeof(text), "/%u", i);
        el_top_add(&top, "", text, i == 7 ? 9 : 10);
    }
    el_top_add(&top, "", "/new", 11);
    ck_assert_uint_eq(find("/new")->weight, 20);
    ck_assert_uint_eq(find("/new")->excess, 9);
    ck_assert_ptr_null(find("/7"));
    ck_assert_uint_eq(read_all(), EL_TOP_SLOTS);
}
END_TEST

START_TEST(a_text_is_cut_and_stays_another)
{
    char text[2 * EL_TOP_TEXT];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    el_top_add(&top, "host", text, 2);
    text[sizeof(text) - 2] = 'y';
    el_top_add(&top, "host", text, 1);
    ck_assert_uint_eq(read_all(), 2);
    ck_assert_uint_eq(strlen(items[0].text), EL_TOP_TEXT - 1);
    ck_assert_str_eq(items[0].text, items[1].text);
}
END_TEST

START_TEST(an_era_halves)
{
    el_top_fade(&top, 7);
    el_top_add(&top, "", "/old", 40);
    el_top_fade(&top, 7);
    ck_assert_uint_eq(find("/old")->weight, 40);
    el_top_fade(&top, 9);
    el_top_add(&top, "", "/new", 11);
    el_top_fade(&top, 8);
    ck_assert_uint_eq(find("/old")->weight, 10);
    ck_assert_uint_eq(total, 21);
    ck_assert_str_eq(items[0].text, "/new");
    el_top_fade(&top, 200);
    ck_assert_uint_eq(read_all(), 0);
    ck_assert_uint_eq(total, 0);
}
END_TEST

START_TEST(a_reset_leaves_nothing)
{
    el_top_add(&top, "", "/a", 40);
    el_top_fade(&top, 3);
    el_top_reset(&top);
    ck_assert_uint_eq(read_all(), 0);
    el_top_fade(&top, 1);
    el_top_add(&top, "", "/b", 1);
    ck_assert_uint_eq(read_all(), 1);
}
END_TEST

static void *add_many(void *arg)
{
    uint64_t state = *(const unsigned *)arg;
    char text[16];

    for (unsigned i = 0; i < ADDED; i++) {
        snprintf(text, sizeof(text), "/%u", i % 2 ? draw(&state) : (unsigned)state % 100000);
        el_top_add(&top, "", text, 1);
    }
    return NULL;
}

static atomic_bool over;

/* A page that is looked at, and hours that begin: each text that is read is whole. */
static void *look_on(void *torn)
{
    el_top_item_t seen[EL_TOP_SLOTS];
    uint64_t all;

    for (uint64_t era = 1; !atomic_load(&over); era++) {
        size_t count = el_top_read(&top, seen, EL_TOP_SLOTS, &all);

        for (size_t i = 0; i < count; i++) {
            *(bool *)torn |= seen[i].text[0] != '/' || strspn(seen[i].text + 1, "0123456789")
                                                           != strlen(seen[i].text) - 1;
        }
        el_top_fade(&top, era / 8 + 1);
    }
    return NULL;
}

START_TEST(texts_are_whole_while_others_add)
{
    pthread_t reader, writer[2];
    unsigned seeds[2] = {1, 2};
    bool torn = false;

    atomic_store(&over, false);
    ck_assert_int_eq(pthread_create(&reader, NULL, look_on, &torn), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&writer[i], NULL, add_many, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(writer[i], NULL);
    }
    atomic_store(&over, true);
    pthread_join(reader, NULL);
    ck_assert(!torn);
}
END_TEST

START_TEST(threads_that_meet)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_many, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    read_all();
    ck_assert_uint_eq(total, THREADS * ADDED);
    ck_assert_str_eq(items[0].text, "/1");
    ck_assert_uint_ge(items[0].weight, THREADS * ADDED / 8);
}
END_TEST

Suite *top_suite(void)
{
    TCase *tc = tcase_create("top"), *threads = tcase_create("threads");
    Suite *suite = suite_of("top", tc);

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, the_heaviest_come_first);
    tcase_add_loop_test(tc, true_heavy_hitters_are_found, 0, 5);
    tcase_add_test(tc, what_came_once_is_not_listed);
    tcase_add_test(tc, a_new_text_has_the_weight_of_the_one_before);
    tcase_add_test(tc, a_text_is_cut_and_stays_another);
    tcase_add_test(tc, an_era_halves);
    tcase_add_test(tc, a_reset_leaves_nothing);
    tcase_set_tags(threads, "threads");
    tcase_add_checked_fixture(threads, set_up, NULL);
    tcase_add_test(threads, threads_that_meet);
    tcase_add_test(threads, texts_are_whole_while_others_add);
    suite_add_tcase(suite, threads);
    return suite;
}
