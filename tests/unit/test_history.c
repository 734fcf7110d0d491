#include "elastic/counters.h"
#include "suites.h"

static el_history_t history;

CASE(history, ZEROED(history));

TEST(history, a_minute_has_the_means_of_its_samples)
{
    el_history_point_t point;

    ck_assert(!el_history_get(&history, 7, &point));
    el_history_add(&history, 7, (el_history_point_t){0.2, 1, 0});
    el_history_add(&history, 7, (el_history_point_t){0.4, 0, 0});
    ck_assert(el_history_get(&history, 7, &point));
    ck_assert_double_eq_tol(point.load, 0.3, 1e-6);
    ck_assert_double_eq_tol(point.position, 0.5, 1e-6);
    ck_assert(!el_history_get(&history, 8, &point));
}

TEST(history, an_hour_later_a_minute_is_forgotten)
{
    el_history_point_t point;

    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        el_history_add(&history, minute, (el_history_point_t){(double)minute / 1000, 0, 0});
    }
    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        bool there = minute > 2 * EL_HISTORY_MINUTES;

        ck_assert_int_eq(el_history_get(&history, minute, &point), there);
        if (there) {
            ck_assert_double_eq_tol(point.load, (double)minute / 1000, 1e-6);
        }
    }
}

/* Whatever was saved since the last sample, even if that was minutes ago, or bodies grew. */
TEST(history, a_minute_has_the_bytes_saved_until_its_last_sample)
{
    static const struct {
        uint64_t minute;
        double saved;  /* since the start */
        double within; /* the minute, so far */
    } samples[] = {{1, 100, 100}, {1, 150, 150}, {2, 150, 0}, {5, 900, 750}, {6, 880, -20},
                   {1 + EL_HISTORY_MINUTES, 881, 1}};
    el_history_point_t point;

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        el_history_add(&history, samples[i].minute, (el_history_point_t){0, 0, samples[i].saved});
        ck_assert(el_history_get(&history, samples[i].minute, &point));
        ck_assert_double_eq_tol(point.saved, samples[i].within, 1e-6);
    }
}

TEST(history, a_day_has_what_was_not_counted_before_it)
{
    el_history_begin(&history, 7, (uint64_t[EL_PAST_COUNTS]){10, 20, 30, 40});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 0);
    el_history_begin(&history, 8, (uint64_t[EL_PAST_COUNTS]){11, 21, 31, 41});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 21);
    ck_assert_uint_eq(history.before[EL_PAST_CPU], 41);
    el_history_begin(&history, 8, (uint64_t[EL_PAST_COUNTS]){5, 5, 5, 5});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 21);
    el_history_begin(&history, 9, (uint64_t[EL_PAST_COUNTS]){6, 6, 6, 6});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 27);
    ck_assert_uint_eq(history.before[EL_PAST_TIME], 17);
}
