#include "elastic/cost.h"

#include "suites.h"

#include <math.h>

#define KEY(coding, level, size_class) ((el_cost_key_t){coding, level, size_class})

static el_costs_t costs;

static const el_cost_t known = {1000, 2500};

static void set_up(void)
{
    memset(&costs, 0, sizeof(costs));
}

static void update(int times, uint32_t nsec, uint32_t size, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_cost_update(&costs, KEY(EL_GZIP, 6, 2), known, (el_cost_t){nsec, size}, now);
    }
}

static el_cost_t expect(uint32_t now)
{
    return el_cost_expect(&costs, KEY(EL_GZIP, 6, 2), known, now);
}

static const struct {
    const char *label;
    uint64_t nbytes;
    unsigned size_class;
} classes[] = {
    {"unknown", 0, 3},       {"one byte", 1, 0},       {"up to 2 KB", 2048, 0},
    {"beyond", 2049, 1},     {"up to 8 KB", 8192, 1},  {"beyond", 8193, 2},
    {"up to 32 KB", 32768, 2}, {"up to 128 KB", 131072, 3}, {"larger", 131073, 4},
    {"the largest", UINT64_MAX, 4},
};

CASE(cost, .set_up = set_up);

EACH(cost, lengths_have_their_class, classes)
{
    row_eq(el_cost_class(row->nbytes), row->size_class);
}

TEST(cost, without_a_measurement_the_table_counts)
{
    el_cost_t cost = expect(1000);

    ck_assert_uint_eq(cost.nsec, known.nsec);
    ck_assert_uint_eq(cost.size, known.size);
}

TEST(cost, many_measurements_replace_the_table)
{
    update(1, 3000, 2000, 1000);
    update(500, 3000, 2000, 1000);
    ck_assert_uint_ge(expect(1000).nsec, 2970);
    ck_assert_uint_le(expect(1000).nsec, 3000);
    ck_assert_uint_ge(expect(1000).size, 1990);
    ck_assert_uint_le(expect(1000).size, 2010);
}

TEST(cost, the_age_is_that_of_the_setups_last_measurement)
{
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 1000), UINT32_MAX);
    update(3, 3000, 2000, 1000);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 1007), 7);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 3), 1007), UINT32_MAX);
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, EL_COST_LEVELS, 2), 1000), UINT32_MAX);
    /* Another thread's clock may be a little behind. */
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), 995), 0);
    ck_assert_uint_ge(expect(995).nsec, 1500);
}

static void update_setup(el_coding_t coding, int level, uint32_t nsec, uint32_t now)
{
    el_cost_update(&costs, KEY(coding, level, 2), known, (el_cost_t){nsec, known.size}, now);
}

static uint32_t expect_setup(el_coding_t coding, int level, uint32_t now)
{
    return el_cost_expect(&costs, KEY(coding, level, 2), known, now).nsec;
}

TEST(cost, a_slow_machine_is_slow_for_every_setup)
{
    el_cost_t other;

    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 1e-9);
    /* In use are some setups of two codings. */
    for (int i = 0; i < 100; i++) {
        update_setup(EL_GZIP, 1 + i % 9, 3000, 1000);
        update_setup(EL_BR, i % 7, 3000, 1000);
    }
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 3, 0.6);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000 + 12 * 3600), 1, 1e-3);
    other = el_cost_expect(&costs, KEY(EL_ZSTD, 5, 0), (el_cost_t){500, 3000}, 1000);
    ck_assert_uint_ge(other.nsec, 1200);
    ck_assert_uint_le(other.nsec, 1500);
    ck_assert_uint_eq(other.size, 3000);
}

TEST(cost, a_slow_engine_is_no_slow_machine)
{
    for (int i = 0; i < 2000; i++) {
        update_setup(EL_GZIP, 6, 1000, 1000);
        update_setup(EL_BR, 5, 1100, 1000);
        update_setup(EL_ZSTD, 3, 3300, 1000);
    }
    ck_assert_double_le(el_cost_slowness(&costs, 1000), 1.7);
    ck_assert_uint_le(expect_setup(EL_GZIP, 6, 1000), 1050);
    ck_assert_uint_le(expect_setup(EL_BR, 5, 1000), 1160);
    ck_assert_uint_ge(expect_setup(EL_ZSTD, 3, 1000), 3100);
}

/* The machine's speed halves while one setup of one coding is in use; later all are measured. */
TEST(cost, a_machine_that_becomes_slower_is_noticed_for_all_setups_within_30_seconds)
{
    for (uint32_t t = 1000; t < 1600; t++) {
        update_setup(EL_GZIP, 4, 1000, t);
        update_setup(EL_GZIP, 6, 1500, t);
        update_setup(EL_BR, 5, 700, t);
    }
    for (uint32_t t = 1600; t < 1630; t++) {
        update_setup(EL_GZIP, 4, 2000, t);
    }
    ck_assert_uint_ge(expect_setup(EL_GZIP, 4, 1630), 1900);
    ck_assert_uint_ge(expect_setup(EL_GZIP, 6, 1630), 2300);
    ck_assert_uint_ge(expect_setup(EL_BR, 5, 1630), 900);
    for (uint32_t t = 1630; t < 1660; t++) {
        update_setup(EL_GZIP, 6, 3000, t);
        update_setup(EL_BR, 5, 1400, t);
    }
    ck_assert_uint_ge(expect_setup(EL_GZIP, 6, 1660), 2850);
    ck_assert_uint_ge(expect_setup(EL_BR, 5, 1660), 1330);
}

/* Bodies that compress half as well, of all setups those in use are measured. */
TEST(cost, other_content_is_noticed_within_30_seconds)
{
    for (uint32_t t = 1000; t < 1600; t++) {
        el_cost_update(&costs, KEY(EL_GZIP, 6, 2), known, (el_cost_t){1000, 2500}, t);
        el_cost_update(&costs, KEY(EL_BR, 5, 2), known, (el_cost_t){1000, 2300}, t);
    }
    for (uint32_t t = 1600; t < 1630; t++) {
        el_cost_update(&costs, KEY(EL_GZIP, 6, 2), known, (el_cost_t){1000, 5000}, t);
    }
    ck_assert_uint_ge(el_cost_expect(&costs, KEY(EL_GZIP, 6, 2), known, 1630).size, 4700);
    ck_assert_uint_ge(el_cost_expect(&costs, KEY(EL_GZIP, 1, 2), known, 1630).size, 4500);
    ck_assert_uint_ge(el_cost_expect(&costs, KEY(EL_BR, 5, 2), known, 1630).size, 3500);
}

/* Bodies vary by far more than two neighbouring levels are apart. */
TEST(cost, levels_of_a_coding_keep_their_order_by_size)
{
    static const uint32_t sizes[] = {1200, 4000, 2500, 1800, 3300, 2200};

    for (int i = 0; i < 3000; i++) {
        uint32_t size = sizes[(i * 7 + i / 5) % 6];

        el_cost_update(&costs, KEY(EL_GZIP, 5 + i % 3, 2), (el_cost_t){1000, 2500},
                       (el_cost_t){1000, size}, 1000 + (uint32_t)i / 10);
    }
    ck_assert_uint_ge(el_cost_expect(&costs, KEY(EL_GZIP, 5, 2), (el_cost_t){1000, 2550}, 1300).size,
                      el_cost_expect(&costs, KEY(EL_GZIP, 6, 2), (el_cost_t){1000, 2500}, 1300).size);
    ck_assert_uint_ge(el_cost_expect(&costs, KEY(EL_GZIP, 6, 2), (el_cost_t){1000, 2550}, 1300).size,
                      el_cost_expect(&costs, KEY(EL_GZIP, 7, 2), (el_cost_t){1000, 2500}, 1300).size);
}

/* The times of one setup as logarithms of what the table says. */
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

TEST(cost, many_at_a_time_are_averaged)
{
    for (int i = 0; i < 200; i++) {
        learn(i % 2 ? 0.6 : 0.2, 1000);
    }
    ck_assert_double_eq_tol(learned(1000), 0.4, 0.03);
}

TEST(cost, a_setup_may_be_faster_than_the_table_says)
{
    for (int i = 0; i < 500; i++) {
        learn(-0.7, 1000);
    }
    ck_assert_double_eq_tol(learned(1000), -0.7, 0.002);
}

TEST(cost, as_many_as_are_counted_and_more_are_learned)
{
    for (int i = 0; i < 70000; i++) {
        learn(0.5, 1000);
    }
    ck_assert_double_eq_tol(learned(1000), 0.5, 0.01);
}

TEST(cost, the_clock_may_run_over)
{
    uint32_t end = (1u << 24) - 5;

    for (int i = 0; i < 500; i++) {
        learn(0.4, end);
    }
    ck_assert_uint_eq(el_cost_age(&costs, KEY(EL_GZIP, 6, 2), end + 20), 20);
    ck_assert_double_eq_tol(learned(end + 20), 0.4, 0.005);
}

/* Some noise of the size that is reckoned with: the sum of four even ones. */
static double noise(uint32_t *seed)
{
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        *seed = *seed * 1664525 + 1013904223;
        sum += (double)(*seed >> 8) / (1 << 24) - 0.5;
    }
    return sum * 0.25 * sqrt(3);
}

/* {seconds between measurements, what changes} */
static const struct {
    uint32_t every;
    double step;
} changes[] = {{1, 0.5}, {1, 1}, {1, -1}, {1, 2}, {2, 1}};

EACH(cost, a_change_is_followed_within_30_seconds_through_noise, changes)
{
    uint32_t seed = 7, t = 1000;
    double step = row->step;

    for (; t < 2800; t += row->every) {
        learn(noise(&seed), t);
    }
    ck_assert_double_eq_tol(learned(t), 0, 0.2);
    for (; t < 2830; t += row->every) {
        learn(step + noise(&seed), t);
    }
    ck_assert_msg(fabs(learned(t) - step) < 0.25, "every %u s: %.2f of %.2f", row->every,
                  learned(t), step);
}

TEST(cost, noise_is_averaged_where_nothing_changes)
{
    uint32_t seed = 3;

    for (uint32_t t = 0; t < 3600; t++) {
        for (int i = 0; i < 10; i++) {
            learn(noise(&seed), 1000 + t);
        }
        ck_assert_msg(t < 10 || fabs(learned(1000 + t)) < 0.3, "%.2f after %u s",
                      learned(1000 + t), t);
    }
}

TEST(cost, an_outlier_moves_little)
{
    update(100, 1000, 2500, 1000);
    update(1, 1000000, 9999, 1000);
    ck_assert_uint_le(expect(1000).nsec, 1100);
    ck_assert_uint_le(expect(1000).size, 2750);
    update(1, 0, 0, 1000);
    ck_assert_uint_le(expect(1000).nsec, 1020);
    ck_assert_uint_ge(expect(1000).nsec, 980);
}

TEST(cost, a_first_measurement_may_be_an_outlier)
{
    update(1, 4000000, 2500, 1000);
    ck_assert_uint_le(expect(1000).nsec, 16000);
    update(100, 1000, 2500, 1000);
    ck_assert_uint_le(expect(1000).nsec, 2000);
}

TEST(cost, old_measurements_do_not_count)
{
    update(500, 3000, 2500, 1000);
    ck_assert_uint_ge(expect(1000 + 60).nsec, 2900);
    ck_assert_uint_eq(expect(1000 + 12 * 3600).nsec, known.nsec);
    /* And a new one counts at once. */
    update(1, 2000, 2500, 1000 + 12 * 3600);
    ck_assert_uint_ge(expect(1000 + 12 * 3600).nsec, 1500);
}

static const struct {
    const char *label;
    uint64_t usec, nbytes;
    uint32_t nsec;
} allowances[] = {
    {"a KB has all of it", 1, 1024, 1000},
    {"a hundredth for each of a hundred KB", 5000, 102400, 50000},
    {"part of a KB has more", 1, 512, 2000},
    {"nothing takes no time", 1000, 0, UINT32_MAX},
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
    el_cost_update(&costs, KEY(EL_ALL_CODINGS, 6, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, EL_COST_LEVELS, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, -1, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, EL_SIZE_CLASSES), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, 2), (el_cost_t){0, 0}, known, 0);
    ck_assert_mem_eq(&before, &costs, sizeof(before));
    ck_assert_uint_eq(el_cost_expect(&costs, KEY(EL_GZIP, 99, 2), known, 0).nsec, known.nsec);
}

TEST(cost, the_largest_values_fit)
{
    const el_cost_t most = {UINT32_MAX, UINT32_MAX};
    el_cost_t cost;

    el_cost_update(&costs, KEY(EL_BR, 11, 4), (el_cost_t){1, 1}, most, 0);
    cost = el_cost_expect(&costs, KEY(EL_BR, 11, 4), most, 0);
    ck_assert_uint_eq(cost.nsec, UINT32_MAX);
}

static const struct {
    const char *label;
    uint32_t own;
    el_cost_t cost;
} differences[] = {
    {"nothing is left", 0, {125, 0}},
    {"a tenth is left", 1000, {237, 250}},
    {"all is left, and the dictionary was looked through", 10000, {1250, 2500}},
    {"it is longer", 12000, {1474, 3000}},
};

EACH(cost, a_difference_costs_what_its_dictionary_leaves, differences)
{
    el_cost_t cost = el_cost_differ(known, row->own);

    ck_assert_msg(cost.nsec == row->cost.nsec && cost.size == row->cost.size,
                  "%s: %u, %u", row->label, cost.nsec, cost.size);
}

TEST(cost, of_a_difference_the_time_alone_is_learned)
{
    el_cost_t cost;

    for (int i = 0; i < 100; i++) {
        el_cost_update(&costs, KEY(EL_DCZ, 9, 2), known, (el_cost_t){3000, 10}, 1000);
    }
    cost = el_cost_expect(&costs, KEY(EL_DCZ, 9, 2), known, 1000);
    ck_assert_uint_ge(cost.nsec, 2900);
    ck_assert_uint_eq(cost.size, known.size);
    /* It says nothing of what other codings leave. */
    ck_assert_uint_eq(el_cost_expect(&costs, KEY(EL_ZSTD, 9, 2), known, 1000).size, known.size);
}
