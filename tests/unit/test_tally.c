#include "elastic/tally.h"

#include "suites.h"

#include <string.h>

static el_tally_t tally;

static void set_up(void)
{
    el_tally_reset(&tally);
}

START_TEST(a_series_is_found_by_coding_and_engine)
{
    for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
        const el_tally_series_info_t *info = el_tally_info((el_tally_series_t)series);

        ck_assert_int_eq(el_tally_find(info->coding, info->engine), series);
    }
    ck_assert_int_eq(el_tally_find(EL_BR, "zlib"), EL_TALLY_SERIES_COUNT);
    ck_assert_int_eq(el_tally_find(EL_GZIP, "other"), EL_TALLY_SERIES_COUNT);
}
END_TEST

START_TEST(bounds_rise_and_are_what_their_text_says)
{
    for (int kind = 0; kind < EL_TALLY_KINDS; kind++) {
        const el_tally_bound_t *bounds = el_tally_bounds((el_tally_kind_t)kind);

        for (int i = 0; i < EL_TALLY_BOUNDS; i++) {
            double said = strtod(bounds[i].text, NULL) * el_tally_scale((el_tally_kind_t)kind);

            ck_assert_double_eq_tol((double)bounds[i].most, said, 0.5);
            ck_assert(i == 0 || bounds[i].most > bounds[i - 1].most);
        }
    }
}
END_TEST

/* The class of the only body of `kind` in the series of zlib. */
static int only_class(el_tally_kind_t kind, uint64_t sum)
{
    el_tally_total_t total;
    int found = -1;

    el_tally_read(&tally, EL_TALLY_ZLIB, kind, &total);
    ck_assert_uint_eq(total.sum, sum);
    for (int class = 0; class <= EL_TALLY_BOUNDS; class++) {
        if (total.count[class] > 0) {
            ck_assert_int_eq(found, -1);
            ck_assert_uint_eq(total.count[class], 1);
            found = class;
        }
    }
    return found;
}

static const struct {
    el_tally_body_t body;
    int time, in, out, ratio; /* classes; -1: not counted */
} bodies[] = {
    {{1, 1, 0}, 0, 0, 0, 11},
    {{512, 26, 10000}, 0, 0, 0, 1},
    {{513, 25, 10001}, 1, 1, 0, 0},
    {{1024, 512, 1000000000}, 10, 1, 0, 7},
    {{UINT64_C(1) << 40, 16777217, UINT64_C(1) << 60}, 12, 12, 12, 0},
    {{100, 200, 3000000000}, 11, 0, 0, 12},
    {{0, 20, 5}, 0, 0, 0, -1},
};

START_TEST(a_bound_belongs_to_its_class)
{
    const el_tally_body_t *body = &bodies[_i].body;
    uint64_t ratio = body->in ? (uint64_t)((double)body->out / (double)body->in * 1e6) : 0;

    el_tally_add(&tally, 7, EL_TALLY_ZLIB, body);
    ck_assert_int_eq(only_class(EL_TALLY_TIME, body->nsec), bodies[_i].time);
    ck_assert_int_eq(only_class(EL_TALLY_IN, body->in), bodies[_i].in);
    ck_assert_int_eq(only_class(EL_TALLY_OUT, body->out), bodies[_i].out);
    ck_assert_int_eq(only_class(EL_TALLY_RATIO, ratio), bodies[_i].ratio);
}
END_TEST

START_TEST(a_file_has_no_time)
{
    el_tally_total_t total;

    el_tally_add(&tally, 0, EL_TALLY_FILE_BR, &(el_tally_body_t){10, 5, 7});
    el_tally_read(&tally, EL_TALLY_FILE_BR, EL_TALLY_TIME, &total);
    ck_assert_uint_eq(total.sum + total.count[0], 0);
    el_tally_read(&tally, EL_TALLY_FILE_BR, EL_TALLY_OUT, &total);
    ck_assert_uint_eq(total.count[0], 1);
}
END_TEST

START_TEST(all_processes_count_together)
{
    el_tally_total_t total;

    for (unsigned process = 0; process < 3 * EL_COUNTER_STRIPES; process++) {
        el_tally_add(&tally, process, EL_TALLY_ZSTD, &(el_tally_body_t){10, 5, 7});
        el_tally_level(&tally, process, EL_ZSTD, 19);
    }
    el_tally_read(&tally, EL_TALLY_ZSTD, EL_TALLY_IN, &total);
    ck_assert_uint_eq(total.sum, 30 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(el_tally_level_total(&tally, EL_ZSTD, 19), 3 * EL_COUNTER_STRIPES);
    el_tally_reset(&tally);
    el_tally_read(&tally, EL_TALLY_ZSTD, EL_TALLY_IN, &total);
    ck_assert_uint_eq(total.sum + total.count[0], 0);
    ck_assert_uint_eq(el_tally_level_total(&tally, EL_ZSTD, 19), 0);
}
END_TEST

START_TEST(levels_out_of_bounds_are_not_counted)
{
    static const el_tally_t nothing;

    el_tally_level(&tally, 0, EL_GZIP, -1);
    el_tally_level(&tally, 0, EL_GZIP, EL_COST_LEVELS);
    ck_assert(memcmp(&tally, &nothing, sizeof(tally)) == 0);
    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        ck_assert_int_lt(el_coding_info((el_coding_t)coding)->level_max, EL_COST_LEVELS);
    }
}
END_TEST

Suite *tally_suite(void)
{
    TCase *tc = tcase_create("tally");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, a_series_is_found_by_coding_and_engine);
    tcase_add_test(tc, bounds_rise_and_are_what_their_text_says);
    tcase_add_loop_test(tc, a_bound_belongs_to_its_class, 0, ROWS(bodies));
    tcase_add_test(tc, a_file_has_no_time);
    tcase_add_test(tc, all_processes_count_together);
    tcase_add_test(tc, levels_out_of_bounds_are_not_counted);
    return suite_of("tally", tc);
}
