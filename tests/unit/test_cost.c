#include "elastic/cost.h"

#include "suites.h"

#include <string.h>

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
    const char *guards;
    uint64_t nbytes;
    unsigned size_class;
} classes[] = {
    {"unknown", 0, 3},       {"one byte", 1, 0},       {"up to 2 KB", 2048, 0},
    {"beyond", 2049, 1},     {"up to 8 KB", 8192, 1},  {"beyond", 8193, 2},
    {"up to 32 KB", 32768, 2}, {"up to 128 KB", 131072, 3}, {"larger", 131073, 4},
    {"the largest", UINT64_MAX, 4},
};

START_TEST(lengths_have_their_class)
{
    ck_assert_msg(el_cost_class(classes[_i].nbytes) == classes[_i].size_class, "%s",
                  classes[_i].guards);
}
END_TEST

START_TEST(without_a_measurement_the_table_counts)
{
    el_cost_t cost = expect(1000);

    ck_assert_uint_eq(cost.nsec, known.nsec);
    ck_assert_uint_eq(cost.size, known.size);
}
END_TEST

START_TEST(many_measurements_replace_the_table)
{
    update(1, 3000, 2000, 1000);
    update(99, 3000, 2000, 1000);
    ck_assert_uint_ge(expect(1000).nsec, 2970);
    ck_assert_uint_le(expect(1000).nsec, 3000);
    ck_assert_uint_ge(expect(1000).size, 1990);
    ck_assert_uint_le(expect(1000).size, 2010);
}
END_TEST

START_TEST(the_weight_is_the_number_of_measurements)
{
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, 6, 2), 1000), 0);
    update(3, 3000, 2000, 1000);
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, 6, 2), 1000), 3);
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, 6, 3), 1000), 0);
    update(1000, 3000, 2000, 1000);
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, 6, 2), 1000), 64);
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, 6, 2), 1000 + 12 * 3600), 0);
    ck_assert_uint_eq(el_cost_weight(&costs, KEY(EL_GZIP, EL_COST_LEVELS, 2), 1000), 0);
}
END_TEST

START_TEST(a_slow_machine_is_slow_for_every_setup)
{
    el_cost_t other;

    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 1e-9);
    update(100, 3000, 2500, 1000);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 3, 0.05);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000 + 12 * 3600), 1, 1e-9);
    other = el_cost_expect(&costs, KEY(EL_BR, 5, 0), (el_cost_t){500, 3000}, 1000);
    ck_assert_uint_ge(other.nsec, 1480);
    ck_assert_uint_le(other.nsec, 1500);
    ck_assert_uint_ge(other.size, 2990);
}
END_TEST

static void update_coding(el_coding_t coding, int level, int times, uint32_t nsec)
{
    for (int i = 0; i < times; i++) {
        el_cost_update(&costs, KEY(coding, level, 2), known, (el_cost_t){nsec, known.size}, 1000);
    }
}

/* What is expected of another class of lengths, which nobody has measured. */
static uint32_t expect_unmeasured(el_coding_t coding)
{
    return el_cost_expect(&costs, KEY(coding, 3, 4), known, 1000).nsec;
}

/* Measured a hundred times as often as the others, it still is one engine of three. */
START_TEST(a_slow_engine_is_no_slow_machine)
{
    update_coding(EL_GZIP, 6, 20, 1000);
    update_coding(EL_BR, 5, 20, 1100);
    update_coding(EL_ZSTD, 3, 2000, 3300);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1.1, 0.01);
    ck_assert_uint_le(expect_unmeasured(EL_GZIP), 1100);
    ck_assert_uint_le(expect_unmeasured(EL_BR), 1110);
    ck_assert_uint_ge(expect_unmeasured(EL_ZSTD), 2900);
}
END_TEST

START_TEST(of_two_engines_the_faster_one_gives_the_machines_speed)
{
    update_coding(EL_BR, 5, 20, 3000);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 3, 0.01);
    update_coding(EL_GZIP, 6, 20, 1000);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 0.01);
    update_coding(EL_BR, 5, 20, 3000);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 0.01);
    ck_assert_uint_le(expect_unmeasured(EL_ZSTD), 1010);
}
END_TEST

/* The last one that was measured speaks alone when the others were long ago. */
START_TEST(an_old_measurement_of_a_coding_does_not_count)
{
    update_coding(EL_GZIP, 6, 100, 1000);
    el_cost_update(&costs, KEY(EL_BR, 5, 2), known, (el_cost_t){3000, 2500}, 1000 + 12 * 3600);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000 + 12 * 3600), 3, 0.01);
}
END_TEST

START_TEST(an_outlier_moves_little)
{
    update(100, 1000, 2500, 1000);
    update(1, 1000000, 9999, 1000);
    ck_assert_uint_le(expect(1000).nsec, 1020);
    ck_assert_uint_le(expect(1000).size, 2540);
    update(1, 0, 0, 1000);
    ck_assert_uint_ge(expect(1000).nsec, 980);
}
END_TEST

START_TEST(a_first_measurement_may_be_an_outlier)
{
    update(1, 4000000, 2500, 1000);
    ck_assert_uint_le(expect(1000).nsec, 16000);
    update(100, 1000, 2500, 1000);
    ck_assert_uint_le(expect(1000).nsec, 2000);
}
END_TEST

START_TEST(old_measurements_do_not_count)
{
    update(100, 3000, 2500, 1000);
    ck_assert_uint_ge(expect(1000 + 60).nsec, 2970);
    ck_assert_uint_eq(expect(1000 + 12 * 3600).nsec, known.nsec);
    /* And a new one counts at once. */
    update(1, 2000, 2500, 1000 + 12 * 3600);
    ck_assert_uint_ge(expect(1000 + 12 * 3600).nsec, 1990);
}
END_TEST

static const struct {
    const char *guards;
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

START_TEST(a_time_is_shared_out_over_a_body)
{
    ck_assert_msg(el_cost_allowance(allowances[_i].usec, allowances[_i].nbytes)
                      == allowances[_i].nsec,
                  "%s", allowances[_i].guards);
}
END_TEST

START_TEST(what_is_no_setup_changes_nothing)
{
    el_costs_t before;

    memcpy(&before, &costs, sizeof(before));
    el_cost_update(&costs, KEY(EL_CODINGS, 6, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, EL_COST_LEVELS, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, -1, 2), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, EL_SIZE_CLASSES), known, known, 0);
    el_cost_update(&costs, KEY(EL_GZIP, 6, 2), (el_cost_t){0, 0}, known, 0);
    ck_assert_mem_eq(&before, &costs, sizeof(before));
    ck_assert_uint_eq(el_cost_expect(&costs, KEY(EL_GZIP, 99, 2), known, 0).nsec, known.nsec);
}
END_TEST

START_TEST(a_reset_forgets)
{
    update(100, 3000, 2000, 1000);
    el_cost_reset(&costs);
    ck_assert_uint_eq(expect(1000).nsec, known.nsec);
    ck_assert_uint_eq(el_cost_expect(&costs, KEY(EL_GZIP, 1, 0), known, 1000).nsec, known.nsec);
    ck_assert_double_eq_tol(el_cost_slowness(&costs, 1000), 1, 1e-9);
}
END_TEST

START_TEST(the_largest_values_fit)
{
    const el_cost_t most = {UINT32_MAX, UINT32_MAX};
    el_cost_t cost;

    el_cost_update(&costs, KEY(EL_BR, 11, 4), (el_cost_t){1, 1}, most, 0);
    cost = el_cost_expect(&costs, KEY(EL_BR, 11, 4), most, 0);
    ck_assert_uint_eq(cost.nsec, UINT32_MAX);
}
END_TEST

Suite *cost_suite(void)
{
    TCase *tc = tcase_create("cost");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_loop_test(tc, lengths_have_their_class, 0, ROWS(classes));
    tcase_add_test(tc, without_a_measurement_the_table_counts);
    tcase_add_test(tc, many_measurements_replace_the_table);
    tcase_add_test(tc, the_weight_is_the_number_of_measurements);
    tcase_add_test(tc, a_slow_machine_is_slow_for_every_setup);
    tcase_add_test(tc, a_slow_engine_is_no_slow_machine);
    tcase_add_test(tc, of_two_engines_the_faster_one_gives_the_machines_speed);
    tcase_add_test(tc, an_old_measurement_of_a_coding_does_not_count);
    tcase_add_test(tc, an_outlier_moves_little);
    tcase_add_test(tc, a_first_measurement_may_be_an_outlier);
    tcase_add_test(tc, old_measurements_do_not_count);
    tcase_add_loop_test(tc, a_time_is_shared_out_over_a_body, 0, ROWS(allowances));
    tcase_add_test(tc, what_is_no_setup_changes_nothing);
    tcase_add_test(tc, a_reset_forgets);
    tcase_add_test(tc, the_largest_values_fit);
    return suite_of("cost", tc);
}
