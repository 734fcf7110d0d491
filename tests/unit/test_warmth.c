#include "elastic/warmth.h"

#include "suites.h"

#include <string.h>

static el_warmth_t warmth;

static void set_up(void)
{
    memset((void *)&warmth, 0, sizeof(warmth));
}

/* How many of `times` bodies in a row, with new contexts or kept ones, take a usual time. */
static int usual(int times, el_coding_t coding, int level, bool fresh)
{
    int count = 0;

    for (int i = 0; i < times; i++) {
        count += el_warmth_is_usual(&warmth, coding, level, fresh);
    }
    return count;
}

START_TEST(the_first_body_of_a_context_is_not_usual)
{
    ck_assert_int_eq(usual(1, EL_GZIP, 6, true), 0);
    ck_assert_int_eq(usual(10, EL_GZIP, 6, false), 10);
}
END_TEST

START_TEST(new_contexts_now_and_then_are_not_usual)
{
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(usual(2, EL_GZIP, 6, true), 0);
        ck_assert_int_eq(usual(1, EL_GZIP, 6, false), 1);
    }
}
END_TEST

START_TEST(where_each_body_has_a_new_one_that_is_usual)
{
    ck_assert_int_eq(usual(3, EL_BR, 6, true), 0);
    ck_assert_int_eq(usual(1000, EL_BR, 6, true), 1000);
    /* Each setup by itself. */
    ck_assert_int_eq(usual(1, EL_BR, 5, true), 0);
    ck_assert_int_eq(usual(1, EL_GZIP, 6, true), 0);
}
END_TEST

START_TEST(what_is_no_setup_is_not_usual)
{
    ck_assert_int_eq(usual(10, EL_ALL_CODINGS, 6, false), 0);
    ck_assert_int_eq(usual(10, EL_GZIP, -1, false), 0);
    ck_assert_int_eq(usual(10, EL_GZIP, EL_COST_LEVELS, false), 0);
}
END_TEST

Suite *warmth_suite(void)
{
    TCase *tc = tcase_create("warmth");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, the_first_body_of_a_context_is_not_usual);
    tcase_add_test(tc, new_contexts_now_and_then_are_not_usual);
    tcase_add_test(tc, where_each_body_has_a_new_one_that_is_usual);
    tcase_add_test(tc, what_is_no_setup_is_not_usual);
    return suite_of("warmth", tc);
}
