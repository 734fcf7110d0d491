#include "elastic/curve.h"

#include "suites.h"

#include <math.h>
#include <stddef.h>

static const double rising[] = {1, 2, 4, 8};
/* The engine of position 1 has become slow. */
static const double hump[] = {1, 9, 4, 8};
static const double flat[] = {3, 3, 3, 3};
static const double zero[] = {1, 0, 4, 8};
static const double negative[] = {1, -2, 4, 8};
static const double endless[] = {1, 2, 4, INFINITY};
static const double no_number[] = {NAN, 2, 4, 8};

static const struct {
    const char *guards;
    const double *cost;
    bool has;
} figures[] = {
    {"rising", rising, true},
    {"falling in between", hump, true},
    {"all the same", flat, true},
    {"none", NULL, false},
    {"a zero", zero, false},
    {"below zero", negative, false},
    {"infinite", endless, false},
    {"no number", no_number, false},
};

START_TEST(figures_are_usable_or_not)
{
    el_curve_t costs = {figures[_i].cost, 3};

    ck_assert_msg(el_curve_has_costs(&costs) == figures[_i].has, "%s", figures[_i].guards);
}
END_TEST

static const struct {
    const char *guards;
    double position, cost;
} points[] = {
    {"the floor", 0, 1},        {"the ceiling", 3, 8},     {"a whole one", 2, 4},
    {"between two", 1.5, 3},    {"near the upper", 2.75, 7}, {"below the floor", -1, 1},
    {"above the ceiling", 4, 8},
};

START_TEST(a_position_has_a_cost)
{
    el_curve_t curve = {rising, 3};

    ck_assert_msg(fabs(el_curve_cost(&curve, points[_i].position) - points[_i].cost) < 1e-12, "%s",
                  points[_i].guards);
}
END_TEST

static const struct {
    const char *guards;
    const double *curve;
    double cost, position;
} costs[] = {
    {"a setup's own", rising, 4, 2},
    {"between two", rising, 6, 2.5},
    {"just below the floor's", rising, 0.99, 0},
    {"nothing", rising, 0, 0},
    {"less than nothing", rising, -5, 0},
    {"the ceiling's", rising, 8, 3},
    {"more than the ceiling's", rising, 100, 3},
    {"a slow setup is passed over", hump, 4, 2},
    {"below a slow setup", hump, 2, 0.125},
    {"all cost the same, and it is there", flat, 3, 3},
    {"all cost the same, and it is not there", flat, 2, 0},
};

START_TEST(a_cost_has_a_position)
{
    el_curve_t curve = {costs[_i].curve, 3};
    double position = el_curve_position(&curve, costs[_i].cost);

    ck_assert_msg(fabs(position - costs[_i].position) < 1e-12, "%s: %f", costs[_i].guards,
                  position);
}
END_TEST

START_TEST(one_setup_is_floor_and_ceiling)
{
    el_curve_t curve = {rising, 0};

    ck_assert(el_curve_has_costs(&curve));
    ck_assert_double_eq(el_curve_cost(&curve, 0), 1);
    ck_assert_double_eq(el_curve_position(&curve, 0.5), 0);
    ck_assert_double_eq(el_curve_position(&curve, 5), 0);
}
END_TEST

Suite *curve_suite(void)
{
    TCase *tc = tcase_create("curve");

    tcase_add_loop_test(tc, figures_are_usable_or_not, 0, ROWS(figures));
    tcase_add_loop_test(tc, a_position_has_a_cost, 0, ROWS(points));
    tcase_add_loop_test(tc, a_cost_has_a_position, 0, ROWS(costs));
    tcase_add_test(tc, one_setup_is_floor_and_ceiling);
    return suite_of("curve", tc);
}
