#include "elastic/ladder.h"
#include "suites.h"

#define TOP_MAX 18

#define GZIP(min, max) [EL_GZIP] = {min, max, true, false}
#define BR(min, max) [EL_BR] = {min, max, true, false}
#define ZSTD(min, max) [EL_ZSTD] = {min, max, true, false}

static const struct {
    const char *label;
    el_range_t ranges[EL_CODINGS];
    unsigned top, start;
} ladders[] = {
    {"gzip 1 9 alone: nine setups, level 6", {GZIP(1, 9)}, 8, 5},
    {"the defaults of gzip and br", {GZIP(1, 9), BR(0, 6)}, 8, 5},
    {"br is the widest", {GZIP(1, 9), BR(0, 11)}, 11, 7},
    {"zstd is the widest", {GZIP(1, 9), ZSTD(1, 19)}, 18, 12},
    {"the ceiling is nearest", {GZIP(1, 3)}, 2, 2},
    {"the floor is nearest, on a wider ladder", {GZIP(7, 9), BR(0, 6)}, 6, 0},
    {"the higher of positions with that level", {GZIP(5, 7), BR(0, 11)}, 11, 8},
    {"the higher of two levels as near", {GZIP(5, 7), BR(0, 1)}, 2, 1},
    {"gzip pinned, br moves", {GZIP(6, 6), BR(0, 6)}, 6, 6},
    {"no coding", {{0, 0, false, false}}, 0, 0},
    {"bounds of a coding that is not used", {GZIP(1, 9), [EL_BR] = {0, 11, false, false}}, 8, 5},
    {"gzip is not used, whatever its bounds", {[EL_GZIP] = {1, 9, false, false}, BR(0, 6)}, 6, 6},
};

CASE(climbing);

EACH(climbing, ranges_give_top_and_start, ladders)
{
    row_eq(el_ladder_top(row->ranges), row->top);
    row_eq(el_ladder_start(row->ranges), row->start);
}

static const struct {
    const char *label;
    el_range_t range;
    unsigned top;
    int levels[TOP_MAX + 2]; /* at positions 0 … top + 1 */
} walks[] = {
    {"the widest: each position its level", {1, 9, true, false}, 8, {1, 2, 3, 4, 5, 6, 7, 8, 9, 9}},
    {"narrower: rounded, halves up", {0, 6, true, false}, 8, {0, 1, 2, 2, 3, 4, 5, 5, 6, 6}},
    {"one step in the middle", {3, 4, true, false}, 4, {3, 3, 4, 4, 4, 4}},
    {"three into eleven", {5, 7, true, false}, 11, {5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7}},
    {"pinned", {6, 6, true, false}, 4, {6, 6, 6, 6, 6, 6}},
};
EACH(climbing, a_position_gives_a_level, walks)
{
    for (unsigned p = 0; p <= row->top + 1; p++) {
        row_eq(el_ladder_level(row->range, p, row->top), row->levels[p]);
    }
}

TEST(climbing, a_position_far_past_the_top_is_the_ceiling)
{
    ck_assert_int_eq(el_ladder_level(el_range_of(1, 9), UINT32_MAX, 8), 9);
    ck_assert_int_eq(el_ladder_level(el_range_of(1, 9), UINT32_MAX - 1, UINT32_MAX), 9);
}

static const el_rung_t setups[] = {
    {EL_GZIP, 1, {1400, 2650}}, {EL_GZIP, 3, {2100, 2480}}, {EL_GZIP, 6, {10700, 2210}},
    {EL_BR, 0, {1400, 2660}},   {EL_BR, 2, {5700, 2360}},   {EL_BR, 5, {13500, 2070}},
    {EL_ZSTD, 1, {1900, 2450}}, {EL_ZSTD, 3, {2500, 2350}}, {EL_ZSTD, 5, {5500, 2230}},
};

/* A copy of `setups` in order of cost, without dominated ones. */
static el_rung_t built[ROWS(setups)];

static size_t build(void)
{
    memcpy(built, setups, sizeof(built));
    return el_ladder_build(built, ROWS(setups));
}

TEST(climbing, a_ladder_rises_in_time_and_falls_in_bytes)
{
    /* gzip 6 takes more time than a mixture of zstd 5 and br 5, and saves less. */
    static const int left[] = {0, 6, 7, 8, 5};

    ck_assert_uint_eq(build(), ROWS(left));
    for (int i = 0; i < ROWS(left); i++) {
        ck_assert_mem_eq(&built[i], &setups[left[i]], sizeof(built[i]));
    }
}

/* Indexes of `setups`; -1 ends a row. */
static const struct {
    const char *label;
    el_rung_t most;
    int left[ROWS(setups) + 1];
} bounds[] = {
    {"fewer or as many", {EL_GZIP, 6, {10700, 2360}}, {2, 4, 5, 7, 8, -1}},
    {"the coding's own level and those above", {EL_GZIP, 3, {2100, 2300}}, {1, 2, 5, 8, -1}},
    {"another coding's levels count by their bytes", {EL_BR, 2, {5700, 2240}}, {2, 4, 5, 8, -1}},
    {"all", {EL_BR, 0, {1400, 2660}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, -1}},
    {"none makes as few", {EL_GZIP, 9, {30000, 2000}}, {5, -1}},
};
EACH(climbing, a_bound_leaves_what_makes_no_more_bytes, bounds)
{
    size_t count;

    memcpy(built, setups, sizeof(built));
    count = el_ladder_bound(built, ROWS(setups), row->most);
    for (size_t i = 0; i < count; i++) {
        row_assert(row->left[i] >= 0);
        row_eq(built[i].cost.size, setups[row->left[i]].cost.size);
    }
    row_eq(row->left[count], -1);
}

static const el_rung_t *rung_at(const el_rung_t *rungs, size_t count, unsigned position,
                                unsigned top, double slowness)
{
    return el_ladder_rung(rungs, count, el_ladder_price(rungs, count, position, top, slowness));
}

TEST(climbing, a_position_pays_the_same_for_a_byte_of_any_body)
{
    /* From setup to setup a byte costs 24, 59, 244, 488 ns; positions afford 8 × 192^(p/8). */
    static const size_t at[] = {0, 0, 1, 1, 2, 2, 3, 4, 4, 4};
    size_t count = build();

    /* At half the speed all setups take twice the time, and the choice stays. */
    for (int slowness = 1; slowness <= 2; slowness++) {
        for (unsigned p = 0; p < ROWS(at); p++) {
            ck_assert_ptr_eq(rung_at(built, count, p, 8, slowness), &built[at[p]]);
        }
        ck_assert_ptr_eq(rung_at(built, count, 0, 0, slowness), &built[count - 1]);
        for (size_t i = 0; i < count; i++) {
            built[i].cost.nsec *= 2;
        }
    }
}

static const struct {
    double price;
    size_t at;
} bids[] = {{0, 0}, {23, 0}, {25, 1}, {58, 1}, {60, 2}, {243, 2}, {245, 3}, {489, 4}, {1e9, 4}};
EACH(climbing, a_price_pays_for_every_byte_that_costs_no_more, bids)
{
    ck_assert_ptr_eq(el_ladder_rung(built, build(), row->price), &built[row->at]);
}

TEST(climbing, a_price_has_a_position)
{
    ck_assert(el_ladder_position(0, 8) == 0 && el_ladder_position(8, 8) == 0);
    ck_assert(el_ladder_position(1e9, 8) == 8 && el_ladder_position(100, 0) == 0);
    /* The inverse of el_ladder_price(). */
    for (unsigned p = 1; p < 8; p++) {
        double price = el_ladder_price(setups, 2, p, 8, 1);

        ck_assert_double_eq_tol(el_ladder_position(price, 8), p, 1e-9);
    }
}

TEST(climbing, where_all_bytes_are_dear_the_prices_follow)
{
    /* 9766 and 19531 ns a byte. */
    el_rung_t dear[] = {
        {EL_ZSTD, 15, {100000, 2000}}, {EL_ZSTD, 17, {200000, 1900}}, {EL_ZSTD, 19, {400000, 1800}},
    };
    static const size_t at[] = {0, 1, 1, 1, 2};

    ck_assert_uint_eq(el_ladder_build(dear, ROWS(dear)), ROWS(dear));
    for (unsigned p = 0; p < ROWS(at); p++) {
        ck_assert_ptr_eq(rung_at(dear, ROWS(dear), p, 4, 1), &dear[at[p]]);
    }
}

TEST(climbing, a_ladder_of_one_or_of_equals)
{
    el_rung_t equals[] = {{EL_BR, 5, {10, 10}}, {EL_GZIP, 6, {10, 10}}, {EL_GZIP, 7, {10, 11}}};

    ck_assert_uint_eq(el_ladder_build(equals, 0), 0);
    ck_assert_uint_eq(el_ladder_build(equals, 1), 1);
    ck_assert_uint_eq(el_ladder_build(equals, 3), 1);
    ck_assert_int_eq(equals[0].coding, EL_BR); /* the first of equals */
    ck_assert_ptr_eq(rung_at(equals, 1, 3, 8, 1), equals);
}

/* Levels of one coding; the third takes less time than the second. */
static const el_rung_t levels[] = {
    {EL_ZSTD, 1, {1900, 2450}}, {EL_ZSTD, 2, {4600, 2350}}, {EL_ZSTD, 3, {2600, 2340}},
    {EL_ZSTD, 4, {9000, 2200}},
};

static const struct {
    const char *label;
    size_t from;
    uint32_t most;
    size_t found;
} descents[] = {
    {"what fits stays", 3, 9000, 3},
    {"one down", 3, 8999, 2},
    {"the first that fits, though one below does not", 3, 2600, 2},
    {"past one that does not", 3, 2000, 0},
    {"never up", 1, 100000, 1},
    {"the floor where nothing fits", 3, 1, 0},
};
EACH(climbing, a_limit_is_kept_setup_by_setup, descents)
{
    row_eq(el_ladder_within(levels, &levels[row->from], row->most) - levels, (int)row->found);
}

CASE(trying);

#define NEVER UINT32_MAX
#define OLD EL_LADDER_TRIAL_AGE
#define LATELY (EL_LADDER_TRIAL_AGE - 1)

/* At 10 ns a byte these cost 4072, 4867, 10458, 18253 and 4765 ns a KB. */
static const el_rung_t rungs[] = {
    {EL_GZIP, 1, {1000, 3000}}, {EL_GZIP, 3, {2000, 2800}}, {EL_GZIP, 6, {8000, 2400}},
    {EL_BR, 5, {16000, 2200}}, {EL_ZSTD, 3, {2000, 2700}},
};

static const struct {
    const char *label;
    uint32_t ages[ROWS(rungs)];
    int used;
    double price;
    int tried;
} trials[] = {
    {"all are known", {LATELY, LATELY, LATELY, LATELY, 0}, 4, 10, -1},
    {"one is old", {LATELY, OLD, LATELY, LATELY, 0}, 4, 10, 1},
    {"one never was measured", {OLD, NEVER, LATELY, LATELY, 0}, 4, 10, 1},
    {"of two that are as old the first", {NEVER, NEVER, NEVER, NEVER, 0}, 4, 10, 0},
    {"not one that costs a fifth more", {0, LATELY, NEVER, NEVER, LATELY}, 0, 10, -1},
    {"one that costs a little less", {0, NEVER, NEVER, NEVER, NEVER}, 0, 10, 1},
    {"where bytes are dear, other ones", {LATELY, LATELY, NEVER, NEVER, 0}, 4, 1000, 2},
    {"where CPU time alone counts", {0, NEVER, NEVER, NEVER, NEVER}, 0, 0, -1},
};
EACH(trying, what_costs_little_more_is_tried_the_oldest_first, trials)
{
    const el_rung_t *tried = el_ladder_trial(rungs, row->ages, ROWS(rungs),
                                             rungs[row->used].cost, row->price);

    row_assert(tried == (row->tried < 0 ? NULL : &rungs[row->tried]));
}
