/*
 * Stability of the controller: `step` and `mix` with loads that jump, climb, swing and waver, in
 * the model of a server. Pages take CPU time to make and, by the position, to compress; work that
 * exceeds the CPU waits. docs/internals/control.md states the results.
 */
#include "elastic/control.h"
#include "sim.h"

#define PLANT_TOP 8

/* CPU time of an interval, µs: half a second of one CPU. */
#define PLANT_CAPACITY 500000.

/* zlib's levels 1 to 9 on pages of 120 KB, µs per KB on one core. */
static const double zlib[PLANT_TOP + 1] = {8.6, 9.4, 11.6, 12.9, 17.2, 23.5, 27.4, 35.2, 38.3};

/* One tick of /proc/stat in half a second of one CPU. */
#define RESOLUTION (1 / 50.)

/* Parts of an interval. */
#define SLICES 10

/* Largest backlog, as a share of an interval's CPU time. */
#define WAITING 0.2

typedef struct {
    /* The server. */
    double cost[PLANT_TOP + 1]; /* real cost of compression at a position, µs per KB */
    double page;                /* cost of the rest of a response, µs per KB */

    /* Errors of the measured load. */
    double noise; /* largest error of the busy share */
    double lag;   /* share of the work done at the last position */

    /* Its state. */
    el_control_state_t state;
    el_control_memory_t memory;
    double last_position;
    double backlog; /* KB */
    uint64_t seed;

    /* The last interval's real values. */
    double busy;
    bool moved;
} plant_t;

/* A server of one CPU with gzip's nine levels, no noise and no lag, at the ceiling. */
static plant_t plant_new(void)
{
    plant_t plant = {.page = 6, .seed = 1};

    memcpy(plant.cost, zlib, sizeof(zlib));
    plant.state = (el_control_state_t){PLANT_TOP, PLANT_TOP, false, 0};
    plant.last_position = PLANT_TOP;
    return plant;
}

/* A fraction of a position is a share of the responses. */
static double cost_at(const plant_t *plant, double position)
{
    unsigned below = (unsigned)fmin(position, PLANT_TOP - 1);

    return plant->cost[below] + (plant->cost[below + 1] - plant->cost[below]) * (position - below);
}

/* KB per interval with which the load at `position` is `busy`. */
static double plant_rate(const plant_t *plant, double position, double busy)
{
    return busy * PLANT_CAPACITY / (plant->page + cost_at(plant, position));
}

static double within(double value, double least, double most)
{
    return fmin(most, fmax(least, value));
}

/* Runs an interval in which `rate` KB arrive evenly, then the controller. */
static void plant_hold(plant_t *plant, const el_control_config_t *config, double rate)
{
    double position = el_control_position(plant->state);
    double cost = plant->lag * cost_at(plant, plant->last_position)
                  + (1 - plant->lag) * cost_at(plant, position);
    double all = plant->page + cost;
    double served = 0;
    el_observation_t observed = {0};

    for (unsigned i = 0; i < SLICES; i++) {
        double comes = rate / SLICES;
        double done = fmin(plant->backlog + comes, PLANT_CAPACITY / SLICES / all);

        served += done;
        plant->backlog = within(plant->backlog + comes - done, 0, WAITING * PLANT_CAPACITY / all);
    }
    plant->busy = served * all / PLANT_CAPACITY;
    observed.busy = within(plant->busy + plant->noise * (2 * sim_even(&plant->seed) - 1), 0, 1);
    observed.busy = round(observed.busy / RESOLUTION) * RESOLUTION;
    plant->state = el_control_next(config, &observed, &plant->memory, plant->state);
    plant->last_position = position;
    plant->moved = el_control_position(plant->state) != position;
}

/* Its setups each cost twice as much as the one below, as different codings do. */
static plant_t leaps_new(void)
{
    plant_t plant = plant_new();

    for (unsigned p = 0; p <= PLANT_TOP; p++) {
        plant.cost[p] = pow(2, p);
    }
    plant.page = 1;
    return plant;
}

#define LOW 0.5
#define HIGH 0.8

/* Intervals of half a second in a minute. */
#define MINUTE 120

/* A configuration of `mode`, with a setup for each of the plant's positions. */
static el_control_config_t config_of(el_control_mode_t mode)
{
    return (el_control_config_t){mode, LOW, HIGH, 2.0, PLANT_TOP, {0}};
}

/* True if the load is between the thresholds, or beyond them at the right bound. */
static bool is_settled(const plant_t *plant, double position)
{
    return (plant->busy >= LOW - 0.01 || position >= PLANT_TOP)
           && (plant->busy <= HIGH + 0.01 || position <= 0);
}

/* Holds `rate` for `intervals`; 200 give the controller time to settle. */
static void hold(plant_t *plant, const el_control_config_t *config, double rate, unsigned intervals)
{
    for (unsigned i = 0; i < intervals; i++) {
        plant_hold(plant, config, rate);
    }
}

/* Courses of a load: the rate of the interval `i`; of waves, `half` intervals of each kind. */
typedef double course_t(const plant_t *plant, unsigned i, unsigned half);

/* Rises in a minute to twice the load that the ceiling can carry, and falls back. */
static double ramp(const plant_t *plant, unsigned i, unsigned half)
{
    double share = i < MINUTE ? (double)i / MINUTE : 2 - (double)i / MINUTE;

    (void)half;
    return plant_rate(plant, PLANT_TOP, 2 * fmax(0, share));
}

/* A day in four minutes: little load before dawn, 1.5 times what the ceiling carries at night. */
static double day(const plant_t *plant, unsigned i, unsigned half)
{
    (void)half;
    return plant_rate(plant, PLANT_TOP, 0.85 - 0.65 * cos(2 * 3.14159265358979 * i / 480));
}

static double wave(const plant_t *plant, unsigned i, unsigned half)
{
    return plant_rate(plant, PLANT_TOP, i / half % 2 == 0 ? 0.4 : 1.5);
}

static const struct {
    const char *label;
    course_t *rate;
    unsigned half;
    unsigned most[2]; /* by mix and step: longest run above the threshold, not at the floor */
} rows[] = {
    {"a ramp", ramp, 0, {0, 1}},
    {"a day", day, 0, {0, 1}},
    {"a square wave of one interval", wave, 1, {1, 1}},
    {"a square wave of three intervals", wave, 3, {3, 3}},
    {"a square wave of twenty intervals", wave, 20, {5, 5}},
};

static const el_control_mode_t modes[] = {EL_CONTROL_MIX, EL_CONTROL_STEP};

CASE(courses);

EACH(courses, a_load_that_goes_up_and_down_is_followed, rows)
{
    for (int m = 0; m < ROWS(modes); m++) {
        el_control_config_t config = config_of(modes[m]);
        plant_t plant = plant_new();
        unsigned longest = 0, running = 0;

        for (unsigned i = 0; i < 480; i++) {
            double position = el_control_position(plant.state);

            plant_hold(&plant, &config, row->rate(&plant, i, row->half));
            running = plant.busy > HIGH + 0.01 && position > 0 ? running + 1 : 0;
            longest = running > longest ? running : longest;
        }
        ck_assert_msg(longest <= row->most[m], "%s, mode %d: %u intervals above", row->label, m,
                      longest);
    }
}

/* The setups of the upper half become three times as slow. */
EACH(courses, a_slowed_engine_changes_the_choice, modes)
{
    el_control_config_t config = config_of(*row);
    plant_t plant = plant_new();
    double rate = plant_rate(&plant, 7, 0.65), before, after;

    hold(&plant, &config, rate, 200);
    before = el_control_position(plant.state);
    ck_assert_double_gt(before, 5);
    for (unsigned p = 4; p <= PLANT_TOP; p++) {
        plant.cost[p] *= 3;
    }
    hold(&plant, &config, rate, *row == EL_CONTROL_MIX ? 21 : 13);
    after = el_control_position(plant.state);
    ck_assert_double_lt(after, before - 1);
    /* `step` has no setup to rest at between two so far apart. */
    ck_assert_msg(*row == EL_CONTROL_STEP || is_settled(&plant, after), "%g at %g", plant.busy,
                  after);
}

/* `mix` compared with `step`: where they rest, and how much they vary. */
CASE(mix);

static const double noises[] = {0, 0.05};

static double variance(el_control_mode_t mode, plant_t plant, double load, double noise,
                       bool *in_band)
{
    el_control_config_t config = config_of(mode);
    double rate, sum = 0, squares = 0;

    plant.noise = noise;
    plant.lag = 0.2;
    rate = plant_rate(&plant, PLANT_TOP, load);
    hold(&plant, &config, rate, 200);
    *in_band = true;
    for (unsigned i = 0; i < 10 * MINUTE; i++) {
        double position = el_control_position(plant.state);

        plant_hold(&plant, &config, rate);
        *in_band &= is_settled(&plant, position);
        sum += position;
        squares += position * position;
    }
    return squares / (10 * MINUTE) - sum / (10 * MINUTE) * (sum / (10 * MINUTE));
}

/* If every level's load is within the band, both stay. */
EACH(mix, mix_settles_where_step_does, noises)
{
    for (double load = 0.1; load < 2.4; load += 0.02) {
        bool in_band;
        double mix = variance(EL_CONTROL_MIX, plant_new(), load, *row, &in_band);

        ck_assert_msg(mix <= 0.01, "load %g: %g", load, mix);
        ck_assert_msg(in_band, "load %g: mix is out of the band", load);
    }
}

/* If no setup fits the band, `step` alternates for ever, and `mix` rests between two. */
EACH(mix, mix_varies_less_than_step, noises)
{
    double mixed = 0, stepped = 0;

    for (double load = 1; load < 50; load *= 1.03) {
        bool in_band, ignored;
        double mix = variance(EL_CONTROL_MIX, leaps_new(), load, *row, &in_band);
        double step = variance(EL_CONTROL_STEP, leaps_new(), load, *row, &ignored);

        ck_assert_msg(mix <= fmax(step, 0.01), "load %g: %g, step %g", load, mix, step);
        ck_assert_msg(in_band, "load %g: mix is out of the band", load);
        mixed += mix;
        stepped += step;
    }
    ck_assert_msg(mixed * 100 < stepped, "%g, step %g", mixed, stepped);
}

/* A narrow band between two levels: `step` has no level to rest at. */
TEST(mix, mix_rests_where_step_cannot)
{
    double moves[2];

    for (int m = 0; m < ROWS(modes); m++) {
        el_control_config_t config = config_of(modes[m]);
        plant_t plant = plant_new();
        double rate = plant_rate(&plant, 4.5, 0.625);

        config.low = 0.60;
        config.high = 0.65;
        hold(&plant, &config, rate, 200);
        moves[m] = 0;
        for (unsigned i = 0; i < MINUTE; i++) {
            plant_hold(&plant, &config, rate);
            moves[m] += plant.moved;
        }
    }
    ck_assert_double_eq(moves[0], 0);
    ck_assert_double_ge(moves[1], MINUTE / 2);
}

static plant_t (*const plants[])(void) = {plant_new, leaps_new};

/* Noise has reversed the error for ten minutes before. */
EACH(mix, mix_notices_that_a_load_is_gone, plants)
{
    el_control_config_t config = config_of(EL_CONTROL_MIX);
    plant_t plant = (*row)();
    double high = plant_rate(&plant, 2.5, 0.65), low = plant_rate(&plant, PLANT_TOP, 0.3);

    plant.noise = 0.15;
    plant.lag = 0.2;
    hold(&plant, &config, high, 10 * MINUTE);
    ck_assert_double_lt(el_control_position(plant.state), PLANT_TOP - 2);
    hold(&plant, &config, low, 20);
    ck_assert_double_ge(el_control_position(plant.state), PLANT_TOP - 1);
}
