#include "elastic/explore.h"

#include "suites.h"

/* Whatever encoding takes, and whatever exploring does. */
START_TEST(it_takes_a_hundredth)
{
    double encoding = 0, exploring = 0;
    uint32_t seed = 1;

    for (uint32_t turn = 1; turn <= 100000; turn++) {
        double took, nsec;

        seed = seed * 1664525 + 1013904223;
        took = 10000 + (double)((seed >> 8) % 40000000);
        nsec = 10000 + (double)((seed >> 4) % 4000000);
        encoding += took;
        if (el_explore_is_due(turn, took, nsec)) {
            exploring += nsec;
        }
        ck_assert_msg(exploring <= encoding / 100 + EL_EXPLORE_MOST, "%.0f of %.0f", exploring,
                      encoding);
    }
    ck_assert_double_ge(exploring, encoding / 150);
}
END_TEST

static const struct {
    const char *guards;
    uint32_t turn;
    double encoding, nsec;
    bool due;
} dues[] = {
    {"there was time for it", 1, 1e9, 1e6, true},
    {"a dear one waits", 1, 1e8, 1e7, false},
    {"no response waits for longer than that", 1, 1e12, EL_EXPLORE_MOST + 1., false},
    {"as long as that", 1, 1e12, EL_EXPLORE_MOST, true},
    {"without encoding there is none", 1, 0, 1, false},
};

START_TEST(a_dear_one_is_seldom_due)
{
    ck_assert_msg(el_explore_is_due(dues[_i].turn, dues[_i].encoding, dues[_i].nsec)
                      == dues[_i].due, "%s", dues[_i].guards);
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

    tcase_add_test(tc, it_takes_a_hundredth);
    tcase_add_loop_test(tc, a_dear_one_is_seldom_due, 0, ROWS(dues));
    tcase_add_loop_test(tc, what_is_nearest_is_explored_first, 0, ROWS(picks));
    return suite_of("explore", tc);
}
