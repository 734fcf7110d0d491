#include "elastic/price.h"

#include "elastic/control.h"
#include "suites.h"

#include <math.h>

#define NONE ((el_goal_kind_t)99)

static const struct {
    const char *text;
    el_goal_kind_t kind; /* NONE: refused */
    double one, two;     /* bits a second, or the prices */
} texts[] = {
    {"cpu", EL_GOAL_CPU, 0, 0},
    {"  CPU\t", EL_GOAL_CPU, 0, 0},
    {"cpu 5", NONE, 0, 0},
    {"cpux", NONE, 0, 0},
    {"", NONE, 0, 0},
    {"   ", NONE, 0, 0},
    {"time", EL_GOAL_TIME, 5e6, 0},
    {"Time 20Mbit/s", EL_GOAL_TIME, 20e6, 0},
    {"time 1.5gbit/s", EL_GOAL_TIME, 1.5e9, 0},
    {"time 256kbit/s", EL_GOAL_TIME, 256e3, 0},
    {"time 9600bit/s", EL_GOAL_TIME, 9600, 0},
    {"time 0Mbit/s", NONE, 0, 0},
    {"time 5", NONE, 0, 0},
    {"time 5MB/s", NONE, 0, 0},
    {"time 5Mbit", NONE, 0, 0},
    {"time -5Mbit/s", NONE, 0, 0},
    {"time 5 Mbit/s", NONE, 0, 0},
    {"time fast", NONE, 0, 0},
    {"time 5Mbit/s x", NONE, 0, 0},
    {"time auto", EL_GOAL_TIME, 5e6, 0},
    {"time AUTO 2Mbit/s 50Mbit/s", EL_GOAL_TIME, 5e6, 0},
    {"time auto 10Mbit/s 50Mbit/s", EL_GOAL_TIME, 10e6, 0},
    {"time auto 100kbit/s 1Mbit/s", EL_GOAL_TIME, 1e6, 0},
    {"time auto 3Mbit/s 3Mbit/s", EL_GOAL_TIME, 3e6, 0},
    {"time auto 2Mbit/s", NONE, 0, 0},
    {"time auto 2Mbit/s 1Mbit/s", NONE, 0, 0},
    {"time auto 0Mbit/s 1Mbit/s", NONE, 0, 0},
    {"time auto 1Mbit/s 2Mbit/s 3Mbit/s", NONE, 0, 0},
    {"time 5Mbit/s 1Mbit/s 20Mbit/s", NONE, 0, 0},
    {"latency p95 5ms", NONE, 0, 0},
    {"time .5Mbit/s", EL_GOAL_TIME, 5e5, 0},
    {"time 1.2.3Mbit/s", NONE, 0, 0},
    {"time 1e3Mbit/s", NONE, 0, 0},
    {"time Mbit/s", NONE, 0, 0},
    {"time 1234567890123456bit/s", NONE, 0, 0},
    {"cost 0.04/h 0.08/GB", EL_GOAL_COST, 0.04, 0.08},
    {"cost 1/H 2/gb", EL_GOAL_COST, 1, 2},
    {"cost 0/h 0.08/GB", EL_GOAL_COST, 0, 0.08},
    {"cost 0.04/h 0/GB", EL_GOAL_COST, 0.04, 0},
    {"cost 0/h 0/GB", NONE, 0, 0},
    {"cost 0.08/GB 0.04/h", NONE, 0, 0},
    {"cost 0.04/h", NONE, 0, 0},
    {"cost 0.04 0.08", NONE, 0, 0},
    {"cost 0.04/h 0.08/GB 1", NONE, 0, 0},
    {"cost ./h 0.08/GB", NONE, 0, 0},
};

CASE(goals);

EACH(goals, a_text_is_a_goal, texts)
{
    const char *text = row->text;
    size_t len = strlen(text);
    char *exact = malloc(len > 0 ? len : 1);
    el_goal_t goal = {.kind = NONE};
    bool good;

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, len);
    good = el_goal_parse(exact, len, &goal);
    free(exact);
    ck_assert_msg(good == (row->kind != NONE), "%s", text);
    ck_assert_msg(goal.kind == row->kind, "%s: kind", text);
    if (goal.kind == EL_GOAL_TIME) {
        ck_assert_msg(fabs(goal.rate - row->one) < 1e-3, "%s: %f", text, goal.rate);
    } else if (goal.kind == EL_GOAL_COST) {
        ck_assert_msg(fabs(goal.per_core_hour - row->one) < 1e-9, "%s: core", text);
        ck_assert_msg(fabs(goal.per_gbyte - row->two) < 1e-9, "%s: GB", text);
    }
}

static double worth_of(const char *text)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(text, strlen(text), &goal));
    return el_goal_worth(&goal);
}

static const struct {
    const char *text;
    double worth;
} worths[] = {
    {"time", 1600},
    {"time 20Mbit/s", 400},
    {"time auto 1Mbit/s 2Mbit/s", 4000},
    /* A GB for 0.09 is 9e-11 a byte; a core's hour for 0.045 is 1.25e-14 a nanosecond. */
    {"cost 0.045/h 0.09/GB", 7200},
    {"cost 45/h 0.09/GB", 7.2},
    {"cost 1/h 0/GB", 0},
    /* As much as any setup may cost, and not more. */
    {"cost 0/h 0.09/GB", 2e5},
    {"cost 0.0001/h 10/GB", 2e5},
    {"time 1bit/s", 2e5},
};

EACH(goals, a_goal_says_what_a_byte_is_worth, worths)
{
    double got = worth_of(row->text);

    ck_assert_msg(fabs(got - row->worth) < 1e-6, "%s: %f", row->text, got);
}

static const struct {
    const char *text;
    double measured;
    bool limited;
    double rate;
} rates[] = {
    {"time auto", 3e6, false, 3e6},   {"time auto", 1e5, false, 1e6},
    {"time auto", 1e9, false, 20e6},  {"time auto", 3e6, true, 5e6},
    {"time auto", 8e6, true, 8e6},    {"time auto", 1e9, true, 20e6},
    {"time auto 1kbit/s 1Gbit/s", 5e8, false, 5e8},
};

EACH(goals, a_connections_rate_counts_within_bounds, rates)
{
    el_goal_t goal;

    ck_assert(el_goal_parse(row->text, strlen(row->text), &goal));
    ck_assert_double_eq(el_goal_rate(&goal, row->measured, row->limited), row->rate);
}

static const struct {
    double cpus, load, delay;
} delays[] = {
    {1, 0, 1},       {1, 0.2, 1.5625}, {1, 0.5, 4},     {1, 0.8, 25},    {1, 0.9, 100},
    {2, 0.2, 1.13},  {2, 0.5, 2.22},   {2, 0.9, 50.1},  {4, 0.5, 1.42},  {4, 0.95, 100.2},
    {16, 0.7, 1.27}, {16, 0.95, 25.4}, {64, 0.5, 1},    {64, 0.9, 2.10}, {64, 0.95, 6.70},
    {0.5, 0.5, 4},   {1.5, 0.5, 3.11}, {0, 0.5, 4},
};

CASE(delays_and_prices);

EACH(delays_and_prices, the_delay_is_the_derivative_of_the_time_in_the_queue, delays)
{
    double got = el_price_delay(row->load, row->cpus);

    ck_assert_msg(fabs(got / row->delay - 1) < 0.005, "%g CPUs at %g: %f", row->cpus,
                  row->load, got);
}

/* The mean time in M/M/c for a service time of `s`, by Erlang's C as a sum. */
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

TEST(delays_and_prices, a_full_machine_has_a_delay_as_well)
{
    ck_assert(isfinite(el_price_delay(1, 1)) && el_price_delay(1, 1) > 1e5);
    ck_assert(isfinite(el_price_delay(2, 64)) && el_price_delay(2, 64) > 1e3);
    ck_assert(isfinite(el_price_delay(1, 1e6)));
    ck_assert_double_eq(el_price_delay(-1, 1), 1);
}

/* `count` samples of `load`, half a second each, of one CPU; the last delay. */
static double follow(el_price_memory_t *memory, unsigned count, double load)
{
    double delay = 0;

    while (count-- > 0) {
        delay = el_price_follow(memory, load, 1, 0.5);
    }
    return delay;
}

TEST(delays_and_prices, the_first_sample_counts_at_once)
{
    el_price_memory_t memory = {0};

    ck_assert_double_eq_tol(follow(&memory, 1, 0.5), 4, 1e-9);
}

TEST(delays_and_prices, a_flood_is_met_within_two_samples)
{
    el_price_memory_t memory = {0};

    follow(&memory, 100, 0.2);
    ck_assert_double_gt(follow(&memory, 1, 1), 25);
    ck_assert_double_gt(follow(&memory, 1, 1), 200);
}

TEST(delays_and_prices, after_it_the_delay_falls_within_seconds)
{
    el_price_memory_t memory = {0};

    follow(&memory, 100, 0.2);
    follow(&memory, 10, 1);
    ck_assert_double_gt(follow(&memory, 1, 0.2), 4);
    ck_assert_double_lt(follow(&memory, 9, 0.2), 3);
}

TEST(delays_and_prices, a_load_that_stays_has_one_delay)
{
    el_price_memory_t memory = {0};
    double delay = follow(&memory, 1, 0.6);

    for (unsigned n = 0; n < 1000; n++) {
        ck_assert_double_eq(follow(&memory, 1, 0.6), delay);
    }
}

/* A number of -1 … 1, the same in each run. */
static double noise(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state / 2147483648. - 1;
}

TEST(delays_and_prices, noise_changes_the_delay_seldom)
{
    el_price_memory_t memory = {0};
    uint32_t state = 1;
    double last = follow(&memory, 10, 0.6);
    unsigned changes = 0;

    /* Ten minutes with a standard deviation of eight points. */
    for (unsigned n = 0; n < 1200; n++) {
        double delay = follow(&memory, 1, 0.6 + 0.08 * sqrt(3) * noise(&state));

        changes += delay != last;
        last = delay;
    }
    ck_assert_uint_le(changes, 10);
    ck_assert_double_gt(last, 6.25 / 1.6);
    ck_assert_double_lt(last, 6.25 * 1.6);
}

/* Two minutes of a load of 0.5 whose samples are 5 points off. */
static el_price_memory_t wavering(void)
{
    el_price_memory_t memory = {0};

    for (unsigned n = 0; n < 120; n++) {
        follow(&memory, 1, 0.45);
        follow(&memory, 1, 0.55);
    }
    return memory;
}

TEST(delays_and_prices, a_single_sample_that_is_off_is_noise_and_two_are_a_load)
{
    el_price_memory_t memory = wavering();
    double before = memory.delay;

    ck_assert_double_eq(follow(&memory, 1, 0.82), before);
    ck_assert_double_gt(follow(&memory, 1, 0.82), 20);
    memory = wavering();
    ck_assert_double_eq(follow(&memory, 1, 0.82), before);
    ck_assert_double_eq(follow(&memory, 1, 0.5), before);
    ck_assert_double_eq(follow(&memory, 1, 0.82), before);
    /* Nor those on both sides. */
    memory = wavering();
    for (unsigned n = 0; n < 3; n++) {
        follow(&memory, 1, 0.18);
        ck_assert_double_lt(follow(&memory, 1, 0.82), 2 * before);
    }
}

TEST(delays_and_prices, a_sample_that_is_far_off_is_a_load)
{
    el_price_memory_t memory = wavering();

    ck_assert_double_gt(follow(&memory, 1, 1), 1000);
}

/* Where a CPU is full now and then, once is not a flood, but twice running is. */
TEST(delays_and_prices, a_full_cpu_counts_from_the_second_sample_on)
{
    el_price_memory_t memory = {0};

    for (unsigned n = 0; n < 240; n++) {
        follow(&memory, 1, n % 2 == 0 ? 0.7 : 0.9);
    }
    ck_assert_double_lt(follow(&memory, 1, 1), 100);
    ck_assert_double_gt(follow(&memory, 1, 1), 1000);
}

TEST(delays_and_prices, a_small_change_that_lasts_is_followed)
{
    el_price_memory_t memory = {0};
    uint32_t state = 1;

    follow(&memory, 100, 0.5);
    for (unsigned n = 0; n < 120; n++) {
        follow(&memory, 1, 0.7 + 0.05 * noise(&state));
    }
    ck_assert_double_gt(memory.delay, 11.1 / 1.5);
}

TEST(delays_and_prices, an_interval_of_a_minute_counts_at_once)
{
    el_price_memory_t memory = {0};

    for (unsigned n = 0; n < 20; n++) {
        el_price_follow(&memory, 0.2, 1, 60);
    }
    ck_assert_double_gt(el_price_follow(&memory, 0.7, 1, 60), 9);
    ck_assert_double_lt(el_price_follow(&memory, 0.2, 1, 60), 2.5);
}

#define TOP 4

static const el_goal_t slow_wire = {.kind = EL_GOAL_TIME, .rate = 5e6};
static const el_goal_t wire = {.kind = EL_GOAL_TIME, .rate = 20e6};
static const el_goal_t money = {.kind = EL_GOAL_COST, .per_core_hour = 0.9, .per_gbyte = 0.1};
static const el_goal_t egress = {.kind = EL_GOAL_COST, .per_gbyte = 0.1};

static el_control_config_t config_of(el_control_mode_t mode, const el_goal_t *goal)
{
    return (el_control_config_t){mode, 0.5, 0.8, 2.0, TOP, *goal};
}

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

/* Whatever moves the position otherwise. */
EACH(delays_and_prices, a_goal_sets_a_price, prices)
{
    for (el_control_mode_t mode = EL_CONTROL_STEP; mode < EL_CONTROL_OFF; mode++) {
        el_control_config_t config = config_of(mode, row->goal);
        el_observation_t observed = {.busy = row->busy, .seconds = 0.5, .cpus = 1};
        el_control_memory_t memory = {0};
        el_control_state_t state = {2, TOP, false, 0};
        double price;

        state = el_control_next(&config, &observed, &memory, state);
        price = el_control_price(&config, &memory);
        row_assert(fabs(price / row->price - 1) < 0.003);
        row_assert(fabs(el_control_position(state) - row->position) < 1e-4);
    }
}

TEST(delays_and_prices, off_sets_no_price)
{
    el_control_config_t config = config_of(EL_CONTROL_OFF, &wire);
    el_observation_t observed = {.busy = 0.5, .seconds = 0.5, .cpus = 1};
    el_control_memory_t memory = {0};
    el_control_state_t state = {2, TOP, false, 0};

    ck_assert(!el_control_is_priced(&config));
    state = el_control_next(&config, &observed, &memory, state);
    ck_assert_uint_eq(state.position, TOP);
    ck_assert_double_eq(memory.price.samples, 0);
}

TEST(delays_and_prices, a_bypass_does_not_hide_the_load_from_the_price)
{
    el_control_config_t config = config_of(EL_CONTROL_STEP, &wire);
    el_control_memory_t memory = {0};
    el_control_state_t state = {0, TOP, true, 0};
    el_observation_t observed = {.busy = 0.95, .seconds = 0.5, .cpus = 1};

    config.bypass = 0.9;
    for (unsigned n = 0; n < 4; n++) {
        state = el_control_next(&config, &observed, &memory, state);
        ck_assert(state.bypass);
    }
    ck_assert_double_gt(memory.price.delay, 300);
    observed.busy = 0.1;
    state = el_control_next(&config, &observed, &memory, state);
    ck_assert(!state.bypass);
    ck_assert_double_lt(memory.price.delay, 20);
}
