#include "elastic/price.h"
#include "elastic/control.h"
#include "suites.h"

#include <math.h>

CASE(goals);

static const struct {
    const char *text;
    el_goal_kind_t kind;
    double one, two; /* bits a second, or the prices */
} texts[] = {
    {"cpu", EL_GOAL_CPU, 0, 0}, {"  CPU\t", EL_GOAL_CPU, 0, 0}, {"time", EL_GOAL_TIME, 5e6, 0},
    {"Time 20Mbit/s", EL_GOAL_TIME, 20e6, 0}, {"time 1.5gbit/s", EL_GOAL_TIME, 1.5e9, 0},
    {"time 256kbit/s", EL_GOAL_TIME, 256e3, 0}, {"time 9600bit/s", EL_GOAL_TIME, 9600, 0},
    {"time auto", EL_GOAL_TIME, 5e6, 0}, {"time AUTO 2Mbit/s 50Mbit/s", EL_GOAL_TIME, 5e6, 0},
    {"time auto 10Mbit/s 50Mbit/s", EL_GOAL_TIME, 10e6, 0},
    {"time auto 100kbit/s 1Mbit/s", EL_GOAL_TIME, 1e6, 0},
    {"time auto 3Mbit/s 3Mbit/s", EL_GOAL_TIME, 3e6, 0}, {"time .5Mbit/s", EL_GOAL_TIME, 5e5, 0},
    {"cost 0.04/h 0.08/GB", EL_GOAL_COST, 0.04, 0.08}, {"cost 1/H 2/gb", EL_GOAL_COST, 1, 2},
    {"cost 0/h 0.08/GB", EL_GOAL_COST, 0, 0.08}, {"cost 0.04/h 0/GB", EL_GOAL_COST, 0.04, 0},
};
EACH(goals, a_text_is_a_goal, texts)
{
    size_t len = strlen(row->text);
    el_goal_t goal;

    named_assert(row->text, el_goal_parse(copy_of(row->text, len), len, &goal));
    named_eq(row->text, goal.kind, row->kind);
    if (goal.kind == EL_GOAL_TIME) {
        named_assert(row->text, fabs(goal.rate - row->one) < 1e-3);
    } else if (goal.kind == EL_GOAL_COST) {
        named_assert(row->text, fabs(goal.per_core_hour - row->one) < 1e-9);
        named_assert(row->text, fabs(goal.per_gbyte - row->two) < 1e-9);
    }
}

static const char *const refused[] = {
    "cpu 5", "cpux", "", "   ", "time 0Mbit/s", "time 5", "time 5MB/s", "time 5Mbit",
    "time -5Mbit/s", "time 5 Mbit/s", "time fast", "time 5Mbit/s x", "time auto 2Mbit/s",
    "time auto 2Mbit/s 1Mbit/s", "time auto 0Mbit/s 1Mbit/s", "time auto 1Mbit/s 2Mbit/s 3Mbit/s",
    "time 5Mbit/s 1Mbit/s 20Mbit/s", "latency p95 5ms", "time 1.2.3Mbit/s", "time 1e3Mbit/s",
    "time Mbit/s", "time 1234567890123456bit/s", "cost 0/h 0/GB", "cost 0.08/GB 0.04/h",
    "cost 0.04/h", "cost 0.04 0.08", "cost 0.04/h 0.08/GB 1", "cost ./h 0.08/GB",
};
EACH(goals, a_text_is_no_goal, refused)
{
    el_goal_t goal;

    named_assert(*row, !el_goal_parse(copy_of(*row, strlen(*row)), strlen(*row), &goal));
}

static const struct {
    const char *text;
    double worth;
} worths[] = {
    {"cpu", 0},
    {"time", 1600},
    {"time 20Mbit/s", 400},
    {"time auto 1Mbit/s 2Mbit/s", 4000},
    /* 0.09 for a GB is 9e-11 a byte; 0.045 for a core hour is 1.25e-14 a nanosecond. */
    {"cost 0.045/h 0.09/GB", 7200},
    {"cost 45/h 0.09/GB", 7.2},
    {"cost 1/h 0/GB", 0},
    /* At the upper bound. */
    {"cost 0/h 0.09/GB", 2e5},
    {"cost 0.0001/h 10/GB", 2e5},
    {"time 1bit/s", 2e5},
};
EACH(goals, a_goal_says_what_a_byte_is_worth, worths)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(row->text, strlen(row->text), &goal));
    named_assert(row->text, fabs(el_goal_worth(&goal) - row->worth) < 1e-6);
}

static const struct {
    const char *text;
    double measured;
    bool limited;
    double rate;
} rates[] = {
    {"time auto", 3e6, false, 3e6}, {"time auto", 1e5, false, 1e6}, {"time auto", 1e9, false, 20e6},
    {"time auto", 3e6, true, 5e6}, {"time auto", 8e6, true, 8e6}, {"time auto", 1e9, true, 20e6},
    {"time auto 1kbit/s 1Gbit/s", 5e8, false, 5e8},
};
EACH(goals, a_connections_rate_counts_within_bounds, rates)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(row->text, strlen(row->text), &goal));
    ck_assert_double_eq(el_goal_rate(&goal, row->measured, row->limited), row->rate);
}

CASE(delays_and_prices);

/* The mean time in M/M/c for a service time `s`, with Erlang's C as a sum. */
static double time_in_queue(double s, double rate, unsigned cpus)
{
    double a = s * rate, term = 1, sum = 1, full;

    for (unsigned n = 1; n < cpus; n++) {
        term *= a / n;
        sum += term;
    }
    full = term * a / cpus * cpus / (cpus - a);
    return s + full / (sum + full) * s / (cpus - a);
}

static const unsigned cpus[] = {1, 2, 3, 7, 32, 64};
EACH(delays_and_prices, the_delay_is_the_slope_of_the_formula_as_it_is_printed, cpus)
{
    for (double load = 0.05; load < 0.96; load += 0.05) {
        double rate = load * *row, step = 1e-6;
        double slope = (time_in_queue(1 + step, rate, *row)
                        - time_in_queue(1 - step, rate, *row)) / (2 * step);
        double got = el_price_delay(load, *row);

        ck_assert_msg(fabs(got / slope - 1) < 1e-3, "%u at %g: %f, %f", *row, load, got, slope);
    }
}

/* Fractions of CPUs count; an unknown number is one. */
TEST(delays_and_prices, a_full_machine_has_a_delay_as_well)
{
    ck_assert_double_eq_tol(el_price_delay(0.5, 0.5), 4, 0.01);
    ck_assert_double_eq_tol(el_price_delay(0.5, 1.5), 3.11, 0.01);
    ck_assert_double_eq_tol(el_price_delay(0.5, 0), 4, 0.01);
    ck_assert(isfinite(el_price_delay(1, 1)) && el_price_delay(1, 1) > 1e5);
    ck_assert(isfinite(el_price_delay(2, 64)) && el_price_delay(2, 64) > 1e3);
    ck_assert(isfinite(el_price_delay(1, 1e6)));
    ck_assert_double_eq(el_price_delay(-1, 1), 1);
}

/* The delay at the end of a step: that of the step before, or within bounds. */
#define SAME -1, 0
#define ABOVE(least) least, INFINITY
#define BELOW(most) 0, most
#define ANY BELOW(INFINITY)

static const struct {
    const char *label;
    double low, high; /* alternating for two minutes before; 0: no samples before */
    double seconds;   /* between samples */
    struct {
        unsigned count;
        double load, least, most;
    } steps[6];
} courses[] = {
    {"the first sample counts at once", 0, 0, 0.5, {{1, 0.5, 3.999, 4.001}}},
    {"a flood is met within two samples", 0.2, 0.2, 0.5, {{1, 1, ABOVE(25)}, {1, 1, ABOVE(200)}}},
    {"after it the delay falls within seconds", 0.2, 0.2, 0.5,
     {{10, 1, ANY}, {1, 0.2, ABOVE(4)}, {9, 0.2, BELOW(3)}}},
    {"a load that stays has one delay", 0, 0, 0.5, {{1, 0.6, ANY}, {1000, 0.6, SAME}}},
    {"one that is far off is a load", 0.45, 0.55, 0.5, {{1, 1, ABOVE(1000)}}},
    {"two that are less far off are", 0.45, 0.55, 0.5, {{1, 0.82, SAME}, {1, 0.82, ABOVE(20)}}},
    {"a single one is noise", 0.45, 0.55, 0.5, {{1, 0.82, SAME}, {1, 0.5, SAME}, {1, 0.82, SAME}}},
    {"as are those on both sides", 0.45, 0.55, 0.5,
     {{1, 0.18, ANY}, {1, 0.82, BELOW(8)}, {1, 0.18, ANY}, {1, 0.82, BELOW(8)}, {1, 0.18, ANY},
      {1, 0.82, BELOW(8)}}},
    {"where a CPU is full now and then, twice running", 0.7, 0.9, 0.5,
     {{1, 1, BELOW(100)}, {1, 1, ABOVE(1000)}}},
    {"some seconds after a full CPU the delay is that of the load", 0.75, 0.8, 0.5,
     {{20, 1, ABOVE(1000)}, {30, 0.775, BELOW(31)}}},
    {"one of a minute counts at once", 0.2, 0.2, 60, {{1, 0.7, ABOVE(9)}, {1, 0.2, BELOW(2.5)}}},
};
EACH(delays_and_prices, loads_have_their_course, courses)
{
    el_price_memory_t price = {0};
    double delay = 0, before;

    for (unsigned n = 0; n < 240 && row->high > 0; n++) {
        delay = el_price_follow(&price, n % 2 == 0 ? row->low : row->high, 1, row->seconds);
    }
    for (int i = 0; i < ROWS(row->steps) && row->steps[i].count > 0; i++) {
        before = delay;
        for (unsigned n = 0; n < row->steps[i].count; n++) {
            delay = el_price_follow(&price, row->steps[i].load, 1, row->seconds);
        }
        ck_assert_msg(row->steps[i].least < 0 ? delay == before
                      : delay > row->steps[i].least && delay < row->steps[i].most,
                      "%s: %f after step %d", row->label, delay, i);
    }
}

/* A pseudo-random number of -1 … 1, the same in each run. */
static double noise(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state / 2147483648. - 1;
}

TEST(delays_and_prices, noise_changes_the_delay_seldom)
{
    el_price_memory_t price = {0};
    uint32_t state = 1;
    double last = el_price_follow(&price, 0.6, 1, 0.5);
    unsigned changes = 0;

    /* Ten minutes, with a standard deviation of eight points. */
    for (unsigned n = 0; n < 1200; n++) {
        double load = 0.6 + 0.08 * sqrt(3) * noise(&state);
        double delay = el_price_follow(&price, load, 1, 0.5);

        changes += delay != last;
        last = delay;
    }
    ck_assert_uint_le(changes, 10);
    ck_assert(last > 6.25 / 1.6 && last < 6.25 * 1.6);
}

static const struct {
    double mean, busy, surge;
} surges[] = {
    {0, 0, 5}, {4, 0.2, 15}, {4, 0.05, 40}, {16, 0.65, 33}, {100, 0.8, 200}, {1, 0, 50},
};
EACH(delays_and_prices, a_surge_is_more_than_chance_and_half_of_what_there_is_time_for, surges)
{
    ck_assert_double_eq_tol(el_price_surge(row->mean, row->busy), row->surge, 1e-9);
}

TEST(delays_and_prices, a_small_change_that_lasts_is_followed)
{
    el_price_memory_t price = {0};
    uint32_t state = 1;

    for (unsigned n = 0; n < 220; n++) {
        el_price_follow(&price, n < 100 ? 0.5 : 0.7 + 0.05 * noise(&state), 1, 0.5);
    }
    ck_assert_double_gt(price.delay, 11.1 / 1.5);
}

#define TOP 4

static const el_goal_t slow_wire = {.kind = EL_GOAL_TIME, .rate = 5e6};
static const el_goal_t wire = {.kind = EL_GOAL_TIME, .rate = 20e6};
static const el_goal_t money = {.kind = EL_GOAL_COST, .per_core_hour = 0.9, .per_gbyte = 0.1};
static const el_goal_t egress = {.kind = EL_GOAL_COST, .per_gbyte = 0.1};

static const struct {
    const char *label;
    const el_goal_t *goal;
    double busy, price;
    double position; /* 8 ns at the floor, 1536 at the ceiling */
} prices[] = {
    {"time: CPU to spare", &wire, 0, 400, 2.976238},
    {"time: a slower wire", &slow_wire, 0, 1600, TOP},
    {"time: half of the CPU is busy", &wire, 0.5, 100, 1.921559},
    {"time: the CPU is full", &wire, 1, 400e-6, 0},
    {"cost: CPU to spare", &money, 0, 400, 2.976238},
    {"cost: half of the CPU is busy", &money, 0.5, 100, 1.921559},
    {"cost: CPU for nothing, half of it busy", &egress, 0.5, 5e4, TOP},
    {"cost: CPU for nothing, and full", &egress, 1, 0.2, 0},
};

static el_control_memory_t memory;

static el_control_state_t next(el_control_config_t config, el_control_state_t state, double busy)
{
    el_observation_t observed = {.busy = busy, .seconds = 0.5, .cpus = 1};

    return el_control_next(&config, &observed, &memory, state);
}

/* In every mode but `off`. */
EACH(delays_and_prices, a_goal_sets_a_price, prices)
{
    el_control_config_t config = {EL_CONTROL_STEP, 0.5, 0.8, 2.0, TOP, *row->goal};
    el_control_state_t state = {2, TOP, false, 0};

    for (; config.mode < EL_CONTROL_OFF; config.mode++) {
        memory = (el_control_memory_t){0};
        row_assert(fabs(el_control_position(next(config, state, row->busy)) - row->position)
                   < 1e-4);
        row_assert(fabs(el_control_price(&config, &memory) / row->price - 1) < 0.003);
    }
    memory = (el_control_memory_t){0};
    row_eq(next(config, state, row->busy).position, TOP);
    row_assert(!el_control_is_priced(&config) && memory.price.samples == 0);
}

TEST(delays_and_prices, a_bypass_does_not_hide_the_load_from_the_price)
{
    el_control_config_t config = {EL_CONTROL_STEP, 0.5, 0.8, 0.9, TOP, wire};
    el_control_state_t state = {0, TOP, true, 0};

    memory = (el_control_memory_t){0};
    for (unsigned n = 0; n < 4; n++) {
        state = next(config, state, 0.95);
        ck_assert(state.bypass);
    }
    ck_assert_double_gt(memory.price.delay, 300);
    ck_assert(!next(config, state, 0.1).bypass);
    ck_assert_double_lt(memory.price.delay, 20);
}
