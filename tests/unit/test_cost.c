#include "elastic/cost.h"
#include "suites.h"

#include <math.h>

#define KEY(coding, level, size_class) ((el_cost_key_t){coding, level, size_class})

static el_costs_t costs;

static const el_cost_t known = {1000, 2500};

CASE(cost, ZEROED(costs));

static void update(el_coding_t coding, int level, el_cost_t measured, uint32_t now)
{
    el_cost_update(&costs, KEY(coding, level, 2), known, measured, now);
}

static el_cost_t expect(el_coding_t coding, int level, uint32_t now)
{
    return el_cost_expect(&costs, KEY(coding, level, 2), known, now);
}

static const struct {
    uint64_t nbytes; /* 0: unknown */
    unsigned size_class;
} classes[] = {
    {0, 3}, {1, 0}, {2048, 0}, {2049, 1}, {8192, 1}, {8193, 2}, {32768, 2}, {131072, 3},
    {131073, 4}, {UINT64_MAX, 4},
};
EACH(cost, lengths_have_their_class, classes)
{
    ck_assert_uint_eq(el_cost_class(row->nbytes), row->size_class);
}

static const struct {
    uint64_t nbytes;
    uint32_t nsec;
} starts[] = {
    {0, 1312}, {500, 13000}, {1024, 13000}, {4096, 6000}, {12288, 3333}, {40960, 2000},
    {122880, 1333}, {UINT64_MAX, 1000},
};
EACH(cost, in_a_server_a_body_takes_longer_to_begin, starts)
{
    el_cost_t cost = el_cost_in_server(known, row->nbytes);

    ck_assert_uint_eq(cost.nsec, row->nsec);
    ck_assert_uint_eq(cost.size, known.size);
}

#define LATER (1000 + 12 * 3600)
#define ANY UINT32_MAX

/* What is measured of gzip 6, a number of times each, and what is expected of it. */
static const struct {
    const char *label;
    struct {
        int times;
        uint32_t nsec, size, at;
    } measured[2];
    uint32_t at;
    el_cost_t least, most;
} histories[] = {
    {"nothing is known", {{0}}, 1000, {1000, 2500}, {1000, 2500}},
    {"measurements replace the table", {{501, 3000, 2000, 1000}}, 1000, {2970, 1990}, {3000, 2010}},
    {"another clock is behind", {{3, 3000, 2000, 1000}}, 995, {1500, 0}, {3000, ANY}},
    {"an outlier moves little", {{1, 4000000, 2500, 1000}}, 1000, {0, 0}, {16000, ANY}},
    {"it is forgotten", {{1, 4000000, 2500, 1000}, {100, 1000, 2500, 1000}}, 1000, {0, 0},
     {2000, ANY}},
    {"one after many", {{1100, 1000, 2500, 1000}, {1, 1000000, 9999, 1000}}, 1000, {0, 0},
     {1100, 2750}},
    {"none after many", {{1100, 1000, 2500, 1000}, {1, 0, 0, 1000}}, 1000, {950, 0}, {1000, ANY}},
    {"a minute later", {{500, 3000, 2500, 1000}}, 1060, {2900, 0}, {3000, ANY}},
    {"half a day later", {{500, 3000, 2500, 1000}}, LATER, {1000, 2500}, {1000, 2500}},
    {"a new one counts in full then", {{500, 3000, 2500, 1000}, {1, 2000, 2500, LATER}}, LATER,
     {1500, 0}, {2000, ANY}},
};
EACH(cost, what_was_measured_is_expected, histories)
{
    el_cost_t cost;

    for (int i = 0; i < ROWS(row->measured); i++) {
        for (int n = 0; n < row->measured[i].times; n++) {
            update(EL_GZIP, 6, (el_cost_t){row->measured[i].nsec, row->measured[i].size},
                   row->measured[i].at);
        }
    }
    cost = expect(EL_GZIP, 6, row->at);
    row_assert(cost.nsec >= row->least.nsec && cost.nsec <= row->most.nsec);
    row_assert(cost.size >= row->least.size && cost.size <= row->most.size);
}

TEST(cost, the_age_is_that_of_the_setups_last_measurement)
{
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 1000), UINT32_MAX);
    update(EL_GZIP, 6, (el_cost_t){3000, 2000}, 1000);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 1007), 7);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 3), 1007), UINT32_MAX);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, EL_COST_LEVELS, 2), 1000), UINT32_MAX);
    /* Another process's clock may be a little behind. */
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 995), 0);
}

TEST(cost, a_slow_machine_is_slow_for_every_setup)
{
    el_cost_t other;

    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 1e-9);
    /* Only some setups of two codings are in use. */
    for (int i = 0; i < 100; i++) {
        update(EL_GZIP, 1 + i % 9, (el_cost_t){3000, 2500}, 1000);
        update(EL_BR, i % 7, (el_cost_t){3000, 2500}, 1000);
    }
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 3, 0.6);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000 + 12 * 3600), 1, 1e-3);
    other = el_cost_expect(&costs, KEY(EL_ZSTD, 5, 0), (el_cost_t){500, 3000}, 1000);
    ck_assert(other.nsec >= 1200 && other.nsec <= 1500);
    ck_assert_uint_eq(other.size, 3000);
}

/* Four setups had their times and sizes for ten minutes; then others are measured, or none (0). */
static const el_cost_key_t keys[] = {{EL_GZIP, 4, 2}, {EL_GZIP, 6, 2}, {EL_BR, 5, 2}, {EL_BR, 4, 2}};
static const el_cost_t usual[] = {{1000, 2500}, {1500, 2500}, {700, 2300}, {700, 2300}};

static const struct {
    const char *label;
    uint32_t seconds;
    el_cost_t measured[ROWS(keys)], least[ROWS(keys)];
} turns[] = {
    {"a slower machine", 30, {{2000, 2500}}, {{1900, 0}, {2300, 0}, {900, 0}, {900, 0}}},
    {"other content", 30, {{1000, 5000}}, {{0, 4700}, {0, 4500}, {0, 3500}, {0, 3500}}},
    {"a slower coding", 60, {{1000, 2500}, {1500, 2500}, {2100, 2300}},
     {{0, 0}, {0, 0}, {1500, 0}, {1050, 0}}},
    {"a slower setup", 300, {{1000, 2500}, {4500, 2500}, {700, 2300}, {700, 2300}},
     {{0, 0}, {4000, 0}, {0, 0}, {0, 0}}},
};
EACH(cost, a_change_is_noticed, turns)
{
    for (uint32_t t = 1000; t < 1600 + row->seconds; t++) {
        for (int i = 0; i < ROWS(keys); i++) {
            el_cost_t now = t < 1600 ? usual[i] : row->measured[i];

            if (now.nsec > 0) {
                el_cost_update(&costs, keys[i], known, now, t);
            }
        }
    }
    for (int i = 0; i < ROWS(keys); i++) {
        el_cost_t cost = el_cost_expect(&costs, keys[i], known, 1600 + row->seconds);

        ck_assert_msg(cost.nsec >= row->least[i].nsec && cost.size >= row->least[i].size,
                      "%s: setup %d: %u ns, %u", row->label, i, cost.nsec, cost.size);
    }
}

/* Times of one setup, as logarithms relative to the table. */
static const el_cost_t unit = {1000000, 2500};

static void learn(double measured, uint32_t now)
{
    el_cost_t cost = {(uint32_t)(unit.nsec * exp2(measured)), unit.size};

    el_cost_update(&costs, KEY(EL_GZIP, 6, 2), unit, cost, now);
}

static double learned(uint32_t now)
{
    return log2((double)el_cost_expect(&costs, KEY(EL_GZIP, 6, 2), unit, now).nsec / unit.nsec);
}

#define CLOCK_END ((1u << 24) - 5) /* just before the stamps wrap */

static const struct {
    const char *label;
    int count;
    double odd, even, learned, tolerance;
    uint32_t at, after;
} lessons[] = {
    {"many at a time are averaged", 200, 0.6, 0.2, 0.4, 0.03, 1000, 0},
    {"faster than the table says", 500, -0.7, -0.7, -0.7, 0.002, 1000, 0},
    {"as many as are counted, and more", 70000, 0.5, 0.5, 0.5, 0.01, 1000, 0},
    {"the clock may run over", 500, 0.4, 0.4, 0.4, 0.005, CLOCK_END, 20},
};
EACH(cost, what_is_measured_is_learned, lessons)
{
    for (int i = 0; i < row->count; i++) {
        learn(i % 2 ? row->odd : row->even, row->at);
    }
    row_assert(fabs(learned(row->at + row->after) - row->learned) < row->tolerance);
    row_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), row->at + row->after), row->after);
}

/* With one measurement a second, the hundredth moves the estimate less than the first. */
TEST(cost, measurements_are_counted_although_they_fade)
{
    double before;

    for (uint32_t t = 1000; t < 1100; t++) {
        learn(0.5, t);
    }
    before = learned(1100);
    learn(1.5, 1100);
    /* The gains sum to 0.18; the first measurement would move it by 0.7. */
    ck_assert_double_le(learned(1100) - before, 0.2);
}

static const struct {
    const char *label;
    uint64_t usec, nbytes;
    uint32_t nsec;
} allowances[] = {
    {"a KB has all of it", 1, 1024, 1000},
    {"a hundredth for each of a hundred KB", 5000, 102400, 50000},
    {"part of a KB has more", 1, 512, 2000}, {"nothing takes no time", 1000, 0, UINT32_MAX},
    {"no time is enough for nothing", 0, 1024, 0},
    {"an hour is no limit for a byte", UINT64_C(3600000000), 1, UINT32_MAX},
    {"the longest body has none", 1000, UINT64_MAX, 0},
};
EACH(cost, a_time_is_shared_out_over_a_body, allowances)
{
    row_eq(el_cost_allowance(row->usec, row->nbytes), row->nsec);
}

TEST(cost, what_is_no_setup_changes_nothing)
{
    el_costs_t before;

    memcpy(&before, &costs, sizeof(before));
    update(EL_ALL_CODINGS, 6, known, 0);
    update(EL_GZIP, EL_COST_LEVELS, known, 0);
    update(EL_GZIP, -1, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, EL_SIZE_CLASSES), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, 2), (el_cost_t){0, 0}, known, 0);
    ck_assert_mem_eq(&before, &costs, sizeof(before));
    ck_assert_uint_eq(expect(EL_GZIP, 99, 0).nsec, known.nsec);
}

TEST(cost, the_largest_values_fit)
{
    const el_cost_t most = {UINT32_MAX, UINT32_MAX};

    el_cost_update(&costs, KEY(EL_BR, 11, 4), (el_cost_t){1, 1}, most, 0);
    ck_assert_uint_eq(el_cost_expect(&costs, KEY(EL_BR, 11, 4), most, 0).nsec, UINT32_MAX);
}

/* Nothing is left; a tenth; all, though the dictionary was searched; more than all. */
static const struct {
    uint32_t own;
    el_cost_t cost;
} differences[] = {{0, {125, 0}}, {1000, {237, 250}}, {10000, {1250, 2500}}, {12000, {1474, 3000}}};
EACH(cost, a_difference_costs_what_its_dictionary_leaves, differences)
{
    ck_assert_uint_eq(el_cost_differ(known, row->own).nsec, row->cost.nsec);
    ck_assert_uint_eq(el_cost_differ(known, row->own).size, row->cost.size);
}

/* A difference's size does not predict the sizes of other codings. */
TEST(cost, of_a_difference_the_time_alone_is_learned)
{
    for (int i = 0; i < 100; i++) {
        update(EL_DCZ, 9, (el_cost_t){3000, 10}, 1000);
    }
    ck_assert_uint_ge(expect(EL_DCZ, 9, 1000).nsec, 2900);
    ck_assert_uint_eq(expect(EL_DCZ, 9, 1000).size, known.size);
    ck_assert_uint_eq(expect(EL_ZSTD, 9, 1000).size, known.size);
}
