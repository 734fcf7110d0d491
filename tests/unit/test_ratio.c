#include "elastic/ratio.h"

#include "elastic/mediatype.h"
#include "suites.h"

#include <string.h>

#define HOUR 3600

static el_ratios_t ratios;

static void set_up(void)
{
    memset(&ratios, 0, sizeof(ratios));
}

static void update(int times, uint32_t type, uint64_t out, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_ratio_update(&ratios, type, 10000, out, now);
    }
}

static const struct {
    const char *guards;
    uint64_t in, out;
    bool pays;
} bodies[] = {
    {"text", 10000, 2500, true},
    {"a little more than a twentieth", 10000, 9499, true},
    {"a twentieth", 10000, 9500, false},
    {"no smaller", 10000, 10000, false},
    {"longer", 10000, 1000000, false},
    {"empty", 0, 20, false},
    {"the longest", UINT64_MAX, UINT64_MAX / 2, true},
};

START_TEST(a_body_pays_from_a_twentieth_on)
{
    ck_assert_msg(el_ratio_pays(bodies[_i].in, bodies[_i].out) == bodies[_i].pays, "%s",
                  bodies[_i].guards);
}
END_TEST

START_TEST(a_type_without_bodies_is_not_poor)
{
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
    update(7, 7, 10000, 1000);
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
    update(1, 7, 10000, 1000);
    ck_assert(el_ratio_poor(&ratios, 7, 1000));
}
END_TEST

START_TEST(a_type_does_not_change_another)
{
    update(64, 7, 10000, 1000);
    ck_assert(!el_ratio_poor(&ratios, 8, 1000));
    /* In the same place. */
    ck_assert(!el_ratio_poor(&ratios, 7 + (1u << 8), 1000));
    update(64, 7 + (1u << 8), 2000, 1000);
    ck_assert(el_ratio_poor(&ratios, 7, 1000));
    ck_assert(!el_ratio_poor(&ratios, 7 + (1u << 8), 1000));
}
END_TEST

START_TEST(a_type_of_both_kinds_is_judged_by_the_average)
{
    for (int i = 0; i < 64; i++) {
        update(1, 7, i % 4 ? 10000 : 7000, 1000);
        update(1, 8, i % 32 ? 10000 : 7000, 1000);
    }
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
    ck_assert(el_ratio_poor(&ratios, 8, 1000));
}
END_TEST

START_TEST(a_type_recovers)
{
    update(64, 7, 10000, 1000);
    update(10, 7, 2500, 1000);
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
}
END_TEST

START_TEST(one_body_changes_little)
{
    update(64, 7, 10000, 1000);
    update(1, 7, 1, 1000);
    ck_assert(el_ratio_poor(&ratios, 7, 1000));
    update(64, 8, 9300, 1000);
    update(1, 8, 1000000000, 1000);
    ck_assert(!el_ratio_poor(&ratios, 8, 1000));
}
END_TEST

START_TEST(old_measurements_do_not_count)
{
    update(64, 7, 10000, 1000);
    ck_assert(el_ratio_poor(&ratios, 7, 1000 + HOUR / 2));
    ck_assert(!el_ratio_poor(&ratios, 7, 1000 + HOUR));
    /* What it was then still counts a little: half of the bodies are enough. */
    update(4, 7, 10000, 1000 + HOUR);
    ck_assert(el_ratio_poor(&ratios, 7, 1000 + HOUR));
}
END_TEST

START_TEST(another_callers_clock_may_be_ahead)
{
    update(64, 7, 10000, 1600);
    ck_assert(el_ratio_poor(&ratios, 7, 1599));
}
END_TEST

START_TEST(small_bodies_and_those_without_a_type_do_not_count)
{
    for (int i = 0; i < 64; i++) {
        el_ratio_update(&ratios, 7, EL_RATIO_LEAST - 1, 2000, 1000);
    }
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
    update(64, 0, 10000, 1000);
    ck_assert(!el_ratio_poor(&ratios, 0, 1000));
}
END_TEST

START_TEST(a_full_place_replaces_the_type_with_the_least_weight)
{
    uint32_t type = 5;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        update(way == 1 ? 20 : 40, type + (way << 8), 10000, 1000);
    }
    update(10, type + (EL_RATIO_WAYS << 8), 10000, 1000);
    for (unsigned way = 0; way <= EL_RATIO_WAYS; way++) {
        ck_assert(el_ratio_poor(&ratios, type + (way << 8), 1000) == (way != 1));
    }
}
END_TEST

START_TEST(all_types_of_a_site_have_room)
{
    static const char *const types[] = {
        "text/html", "text/css", "text/plain", "text/javascript", "text/xml", "text/csv",
        "text/markdown", "text/calendar", "text/event-stream", "application/javascript",
        "application/json", "application/ld+json", "application/problem+json", "application/xml",
        "application/rss+xml", "application/atom+xml", "application/xhtml+xml",
        "application/x-javascript", "application/x-tar", "application/manifest+json",
        "application/wasm", "application/vnd.ms-fontobject", "font/otf", "font/ttf",
        "image/svg+xml", "image/bmp", "image/x-icon", "application/octet-stream",
    };

    for (int i = 0; i < ROWS(types); i++) {
        update(8, el_mediatype_hash(types[i]), i % 2 ? 10000 : 5000, 1000);
    }
    for (int i = 0; i < ROWS(types); i++) {
        ck_assert_msg(el_ratio_poor(&ratios, el_mediatype_hash(types[i]), 1000) == (i % 2),
                      "%s", types[i]);
    }
}
END_TEST

START_TEST(a_mean_is_of_as_many_bodies_as_are_wanted)
{
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 0, 1000), 0);
    update(1, 7, 100, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 1, 1000), 100);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 0);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 8, 1, 1000), 0);
    /* In the same place. */
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7 + (1u << 8), 1, 1000), 0);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 0, 1, 1000), 0);
    update(1, 7, 120, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 110);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 1, 1000 + HOUR), 0);
}
END_TEST

START_TEST(a_reset_forgets)
{
    update(64, 7, 10000, 1000);
    el_ratio_reset(&ratios);
    ck_assert(!el_ratio_poor(&ratios, 7, 1000));
}
END_TEST

Suite *ratio_suite(void)
{
    TCase *tc = tcase_create("ratio");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_loop_test(tc, a_body_pays_from_a_twentieth_on, 0, ROWS(bodies));
    tcase_add_test(tc, a_type_without_bodies_is_not_poor);
    tcase_add_test(tc, a_type_does_not_change_another);
    tcase_add_test(tc, a_type_of_both_kinds_is_judged_by_the_average);
    tcase_add_test(tc, a_type_recovers);
    tcase_add_test(tc, one_body_changes_little);
    tcase_add_test(tc, old_measurements_do_not_count);
    tcase_add_test(tc, another_callers_clock_may_be_ahead);
    tcase_add_test(tc, small_bodies_and_those_without_a_type_do_not_count);
    tcase_add_test(tc, a_full_place_replaces_the_type_with_the_least_weight);
    tcase_add_test(tc, all_types_of_a_site_have_room);
    tcase_add_test(tc, a_mean_is_of_as_many_bodies_as_are_wanted);
    tcase_add_test(tc, a_reset_forgets);
    return suite_of("ratio", tc);
}
