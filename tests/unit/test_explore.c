#include "elastic/explore.h"

#include "suites.h"

static el_explore_t explore;

static void set_up(void)
{
    el_explore_reset(&explore);
}

START_TEST(nothing_is_there_to_be_spent_at_first)
{
    ck_assert(!el_explore_claim(&explore, 1));
    el_explore_earn(&explore, 1000 * EL_EXPLORE_PART);
    ck_assert(!el_explore_claim(&explore, 1001));
    ck_assert(el_explore_claim(&explore, 1000));
    ck_assert(!el_explore_claim(&explore, 1));
}
END_TEST

START_TEST(what_was_not_needed_is_given_back)
{
    el_explore_earn(&explore, 1000 * EL_EXPLORE_PART);
    ck_assert(el_explore_claim(&explore, 1000));
    el_explore_settle(&explore, 1000, 400);
    ck_assert(!el_explore_claim(&explore, 601));
    ck_assert(el_explore_claim(&explore, 600));
}
END_TEST

START_TEST(what_was_needed_beyond_is_owed)
{
    el_explore_earn(&explore, 1000 * EL_EXPLORE_PART);
    ck_assert(el_explore_claim(&explore, 1000));
    el_explore_settle(&explore, 1000, 5000);
    el_explore_earn(&explore, 4000 * EL_EXPLORE_PART);
    ck_assert(!el_explore_claim(&explore, 1));
    el_explore_earn(&explore, 10 * EL_EXPLORE_PART);
    ck_assert(el_explore_claim(&explore, 10));
}
END_TEST

START_TEST(a_quiet_day_saves_no_more_than_one_response_may_wait)
{
    for (int i = 0; i < 1000; i++) {
        el_explore_earn(&explore, UINT64_C(1000000000) * EL_EXPLORE_PART);
    }
    ck_assert(!el_explore_claim(&explore, EL_EXPLORE_MOST + 1));
    ck_assert(!el_explore_claim(&explore, UINT64_MAX));
    ck_assert(el_explore_claim(&explore, EL_EXPLORE_MOST));
    ck_assert(!el_explore_claim(&explore, 1));
}
END_TEST

/* Whatever is asked for, and however wrong it is expected. */
START_TEST(it_takes_a_hundredth_at_most)
{
    uint64_t spent = 0, encoding = 0;
    uint32_t seed = 1;

    for (int i = 0; i < 100000; i++) {
        uint64_t want;

        encoding += 300000;
        el_explore_earn(&explore, 300000);
        seed = seed * 1664525 + 1013904223;
        want = 10000 + (seed >> 8) % 4000000;
        if (el_explore_claim(&explore, want)) {
            uint64_t took = want / 4 + want * (seed >> 28) / 8;

            el_explore_settle(&explore, want, took);
            spent += took;
            ck_assert_uint_le(spent, encoding / EL_EXPLORE_PART + 8000000);
        }
    }
    ck_assert_uint_le(spent, encoding / 100);
    ck_assert_uint_ge(spent, encoding / 200);
}
END_TEST

#define NEVER UINT32_MAX
#define LATELY (EL_EXPLORE_AGE - 1)

static const el_rung_t rungs[] = {
    {EL_GZIP, 1, {1000, 3000}}, {EL_GZIP, 3, {2000, 2800}}, {EL_GZIP, 6, {8000, 2400}},
    {EL_BR, 5, {16000, 2200}}, {EL_ZSTD, 3, {2000, 2700}},
};

static const struct {
    const char *guards;
    uint32_t ages[ROWS(rungs)];
    uint32_t nsec;
    int picked;
} picks[] = {
    {"all are known", {LATELY, LATELY, LATELY, LATELY, 0}, 2000, -1},
    {"one is old", {LATELY, LATELY, EL_EXPLORE_AGE, LATELY, 0}, 2000, 2},
    {"one never was measured", {LATELY, LATELY, LATELY, NEVER, 0}, 2000, 3},
    {"the nearest above", {NEVER, LATELY, NEVER, NEVER, LATELY}, 5000, 2},
    {"the nearest below", {NEVER, LATELY, LATELY, NEVER, LATELY}, 2000, 0},
    {"a factor counts, not a difference", {NEVER, LATELY, NEVER, LATELY, LATELY}, 3500, 2},
    {"of two that are as near the first", {NEVER, NEVER, NEVER, NEVER, NEVER}, 2000, 1},
};

START_TEST(what_is_nearest_is_explored_first)
{
    const el_rung_t *picked =
        el_explore_pick(rungs, picks[_i].ages, ROWS(rungs), picks[_i].nsec);

    ck_assert_msg(picked == (picks[_i].picked < 0 ? NULL : &rungs[picks[_i].picked]), "%s",
                  picks[_i].guards);
}
END_TEST

Suite *explore_suite(void)
{
    TCase *tc = tcase_create("explore");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, nothing_is_there_to_be_spent_at_first);
    tcase_add_test(tc, what_was_not_needed_is_given_back);
    tcase_add_test(tc, what_was_needed_beyond_is_owed);
    tcase_add_test(tc, a_quiet_day_saves_no_more_than_one_response_may_wait);
    tcase_add_test(tc, it_takes_a_hundredth_at_most);
    tcase_add_loop_test(tc, what_is_nearest_is_explored_first, 0, ROWS(picks));
    return suite_of("explore", tc);
}
