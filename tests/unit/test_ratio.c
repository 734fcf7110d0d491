#include "elastic/ratio.h"

#include "suites.h"

#define HOUR 3600

static el_ratios_t ratios;

static void set_up(void)
{
    memset(&ratios, 0, sizeof(ratios));
}

static void update(int times, uint32_t key, uint64_t out, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_ratio_update(&ratios, key, 10000, out, now);
    }
}

/* Of a body or more, at 1000 s. */
static uint32_t mean(uint32_t key)
{
    return el_ratio_mean(&ratios, key, 1, 1000);
}

CASE(ratio, .set_up = set_up);

TEST(ratio, a_mean_is_of_as_many_bodies_as_are_wanted)
{
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 0, 1000), 0);
    update(1, 7, 100, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 1, 1000), 100);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 0);
    ck_assert_uint_eq(mean(8), 0);
    ck_assert_uint_eq(mean(0), 0);
    update(1, 7, 120, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 110);
}

TEST(ratio, a_key_does_not_change_another)
{
    update(64, 7, 10000, 1000);
    ck_assert_uint_eq(mean(8), 0);
    /* In the same place. */
    ck_assert_uint_eq(mean(7 + (1u << 8)), 0);
    update(64, 7 + (1u << 8), 2000, 1000);
    ck_assert_uint_eq(mean(7), 10000);
    ck_assert_uint_eq(mean(7 + (1u << 8)), 2000);
}

TEST(ratio, bodies_of_both_kinds_have_the_average)
{
    for (int i = 0; i < 64; i++) {
        update(1, 7, i % 4 ? 10000 : 7000, 1000);
    }
    ck_assert_uint_ge(mean(7), 9150);
    ck_assert_uint_le(mean(7), 9350);
}

TEST(ratio, a_change_that_lasts_is_followed)
{
    update(64, 7, 10000, 1000);
    update(10, 7, 2500, 1000);
    ck_assert_uint_lt(mean(7), 9500);
    update(1000, 7, 2500, 1000);
    ck_assert_uint_lt(mean(7), 2700);
}

TEST(ratio, one_body_changes_little)
{
    update(64, 7, 10000, 1000);
    update(1, 7, 1, 1000);
    ck_assert_uint_gt(mean(7), 9900);
    update(64, 8, 9300, 1000);
    update(1, 8, 1000000000, 1000);
    ck_assert_uint_lt(mean(8), 9500);
}

TEST(ratio, old_measurements_do_not_count)
{
    update(64, 7, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR / 2), 10000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 0);
    /* What it was then still counts a little: half of the bodies are enough. */
    update(4, 7, 10000, 1000 + HOUR);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 10000);
    update(1, 8, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 8, 1, 1000 + HOUR), 0);
}

TEST(ratio, another_callers_clock_may_be_ahead)
{
    update(64, 7, 10000, 1600);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1599), 10000);
}

TEST(ratio, small_bodies_and_those_without_a_key_do_not_count)
{
    for (int i = 0; i < 64; i++) {
        el_ratio_update(&ratios, 7, EL_RATIO_LEAST - 1, 2000, 1000);
    }
    ck_assert_uint_eq(mean(7), 0);
    update(64, 0, 10000, 1000);
    ck_assert_uint_eq(mean(0), 0);
}

TEST(ratio, a_full_place_replaces_the_key_with_the_least_weight)
{
    uint32_t key = 5;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        update(way == 1 ? 20 : 40, key + (way << 8), 10000, 1000);
    }
    update(10, key + (EL_RATIO_WAYS << 8), 10000, 1000);
    for (unsigned way = 0; way <= EL_RATIO_WAYS; way++) {
        ck_assert_uint_eq(mean(key + (way << 8)), way == 1 ? 0 : 10000);
    }
}
