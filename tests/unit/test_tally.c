#include "elastic/tally.h"

#include "suites.h"

#include <string.h>

static el_tally_t tally;

static void set_up(void)
{
    memset(&tally, 0, sizeof(tally));
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

/* The class of the only body of `kind` that was encoded by gzip, -1 where there is none. */
static int only_class(el_tally_kind_t kind, uint64_t sum)
{
    el_tally_total_t total;
    int found = -1;

    el_tally_read(&tally, EL_GZIP, kind, &total);
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
    int time, size; /* classes */
} bodies[] = {
    {{1, 1, 0}, 0, 0},
    {{512, 26, 10000}, 0, 0},
    {{513, 25, 10001}, 1, 1},
    {{1024, 512, 1000000000}, 10, 1},
    {{UINT64_C(1) << 40, 16777217, UINT64_C(1) << 60}, 12, 12},
    {{100, 200, 3000000000}, 11, 0},
    {{0, 20, 5}, 0, 0},
};

START_TEST(a_bound_belongs_to_its_class)
{
    const el_tally_body_t *body = &bodies[_i].body;

    el_tally_add(&tally, 7, EL_TALLY_ZLIB, body);
    ck_assert_int_eq(only_class(EL_TALLY_TIME, body->nsec), bodies[_i].time);
    ck_assert_int_eq(only_class(EL_TALLY_SIZE, body->in), bodies[_i].size);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_RESPONSES), 1);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_IN), body->in);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_OUT), body->out);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ISAL, EL_TALLY_RESPONSES), 0);
}
END_TEST

static const el_tally_series_t found[] = {EL_TALLY_FILE_GZIP, EL_TALLY_CACHED_GZIP};

START_TEST(what_was_not_encoded_has_a_size_and_no_time)
{
    el_tally_add(&tally, 0, found[_i], &(el_tally_body_t){10, 5, 7});
    ck_assert_int_eq(only_class(EL_TALLY_TIME, 0), -1);
    ck_assert_int_eq(only_class(EL_TALLY_SIZE, 10), 0);
    ck_assert_uint_eq(el_tally_made(&tally, found[_i], EL_TALLY_OUT), 5);
}
END_TEST

START_TEST(the_engines_of_a_coding_have_one_histogram)
{
    el_tally_total_t total;

    el_tally_add(&tally, 0, EL_TALLY_ZLIB, &(el_tally_body_t){10, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_ISAL, &(el_tally_body_t){20, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_BROTLI, &(el_tally_body_t){40, 5, 7});
    el_tally_read(&tally, EL_GZIP, EL_TALLY_SIZE, &total);
    ck_assert_uint_eq(total.sum, 30);
    ck_assert_uint_eq(total.count[0], 2);
}
END_TEST

START_TEST(all_processes_count_together)
{
    el_tally_total_t total;

    for (unsigned process = 0; process < 3 * EL_COUNTER_STRIPES; process++) {
        el_tally_add(&tally, process, EL_TALLY_ZSTD, &(el_tally_body_t){10, 5, 7});
    }
    el_tally_read(&tally, EL_ZSTD, EL_TALLY_SIZE, &total);
    ck_assert_uint_eq(total.sum, 30 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZSTD, EL_TALLY_OUT), 15 * EL_COUNTER_STRIPES);
}
END_TEST

Suite *tally_suite(void)
{
    TCase *tc = tcase_create("tally");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, a_series_is_found_by_coding_and_engine);
    tcase_add_test(tc, bounds_rise_and_are_what_their_text_says);
    tcase_add_loop_test(tc, a_bound_belongs_to_its_class, 0, ROWS(bodies));
    tcase_add_loop_test(tc, what_was_not_encoded_has_a_size_and_no_time, 0, ROWS(found));
    tcase_add_test(tc, the_engines_of_a_coding_have_one_histogram);
    tcase_add_test(tc, all_processes_count_together);
    return suite_of("tally", tc);
}
