/*
 * How stable the controller is: every mode against the plant, with loads that jump, climb, swing
 * and waver. What the assertions say of `predict`, docs/control.md says to operators.
 */
#include "plant.h"

#include "elastic/histogram.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOW 0.5
#define HIGH 0.8
/* Where `predict` goes. */
#define AIM 0.725

/* Intervals in a minute, of half a second. */
#define MINUTE 120

static el_control_config_t config_of(el_control_mode_t mode)
{
    return (el_control_config_t){mode, LOW, HIGH, 2.0, PLANT_TOP, {0}};
}

static double position_of(const plant_t *plant)
{
    return el_control_position(plant->state);
}

/* Between the thresholds, or beyond them at the bound that does what it can. */
static bool is_settled(const plant_t *plant, double position)
{
    return (plant->busy >= LOW - 0.01 || position >= PLANT_TOP)
           && (plant->busy <= HIGH + 0.01 || position <= 0);
}

/* Holds `rate` until the controller has had all the time it may want. */
static void settle(plant_t *plant, const el_control_config_t *config, double rate)
{
    for (unsigned i = 0; i < 200; i++) {
        plant_hold(plant, config, rate);
    }
}

/* How much the true costs differ from what the controller knows: at the floor, at the ceiling. */
static const struct {
    const char *name;
    double floor, ceiling;
    double lag, spent_noise;
} contents[] = {
    {"as known", 1, 1, 0, 0},
    {"twice as dear", 2, 2, 0, 0},
    {"half as dear", 0.5, 0.5, 0, 0},
    {"a steeper curve", 1, 1.15, 0, 0},
    {"a flatter curve", 1, 0.85, 0, 0},
    {"a lag, and CPU time that is sampled", 1, 1, 0.2, 0.1},
};

static plant_t plant_of(int content)
{
    plant_t plant = plant_new();

    for (unsigned p = 0; p <= PLANT_TOP; p++) {
        plant.cost[p] *= contents[content].floor
                         + (contents[content].ceiling - contents[content].floor) * p / PLANT_TOP;
    }
    plant.lag = contents[content].lag;
    plant.spent_noise = contents[content].spent_noise;
    return plant;
}

/* Loads, as the busy share that they would be at the ceiling; above 1 it cannot carry them. */
static const double loads[] = {0.05, 0.3, 0.6, 0.78, 0.9, 1.2, 1.6, 2.2};

/* From one load to another, in the middle of an interval or between two. */
START_TEST(predict_settles_in_three_intervals)
{
    el_control_config_t config = config_of(EL_CONTROL_PREDICT);

    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < 8; to++) {
            for (unsigned slice = 0; slice < PLANT_SLICES; slice += 3) {
                plant_t plant = plant_of(_i);
                double before = plant_rate(&plant, PLANT_TOP, loads[from]);
                double after = plant_rate(&plant, PLANT_TOP, loads[to]);

                settle(&plant, &config, before);
                ck_assert(is_settled(&plant, position_of(&plant)));
                /* The rest of the interval that it falls into, and three more. */
                plant_run(&plant, &config, before, after, slice);
                for (unsigned i = 0; i < (slice == 0 ? 2 : 3); i++) {
                    plant_hold(&plant, &config, after);
                }
                for (unsigned i = 0; i < 20; i++) {
                    double position = position_of(&plant);

                    plant_hold(&plant, &config, after);
                    ck_assert_msg(is_settled(&plant, position),
                                  "%s: %g to %g at %u: %u intervals later %g at %g",
                                  contents[_i].name, loads[from], loads[to], slice, i,
                                  plant.busy, position);
                }
            }
        }
    }
}
END_TEST

/* Where the load falls, effort rises: not so far that the CPU passes the aim by 10 points. */
START_TEST(predict_overshoots_by_ten_points_at_most)
{
    el_control_config_t config = config_of(EL_CONTROL_PREDICT);

    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < from; to++) {
            for (unsigned slice = 0; slice < PLANT_SLICES; slice += 3) {
                plant_t plant = plant_of(_i);
                double before = plant_rate(&plant, PLANT_TOP, loads[from]);
                double after = plant_rate(&plant, PLANT_TOP, loads[to]);
                double was;

                settle(&plant, &config, before);
                was = position_of(&plant);
                plant_run(&plant, &config, before, after, slice);
                for (unsigned i = 0; i < 20; i++) {
                    plant_hold(&plant, &config, after);
                    ck_assert_msg(plant.busy <= AIM + 0.10 || position_of(&plant) <= was,
                                  "%s: %g to %g: %g", contents[_i].name, loads[from], loads[to],
                                  plant.busy);
                }
            }
        }
    }
}
END_TEST

/* The spike of the paper's case 1, and worse: from a steady load at the ceiling. */
START_TEST(predict_meets_a_spike_in_two_intervals)
{
    static const double spikes[] = {1.69, 3, 10};
    el_control_config_t config = config_of(EL_CONTROL_PREDICT);

    for (unsigned s = 0; s < 3; s++) {
        for (unsigned slice = 0; slice < PLANT_SLICES; slice++) {
            plant_t plant = plant_of(_i);
            double before = plant_rate(&plant, PLANT_TOP, 0.7);
            double after = spikes[s] * plant_rate(&plant, PLANT_TOP, 1);

            settle(&plant, &config, before);
            ck_assert_double_eq(position_of(&plant), PLANT_TOP);
            plant_run(&plant, &config, before, after, slice);
            plant_hold(&plant, &config, after);
            ck_assert_msg(position_of(&plant) == 0, "%s: x%g at %u: %g", contents[_i].name,
                          spikes[s], slice, position_of(&plant));
            /* And back, when it is over. */
            for (unsigned i = 0; i < 20; i++) {
                plant_hold(&plant, &config, after);
            }
            for (unsigned i = 0; i < 5; i++) {
                plant_hold(&plant, &config, before);
            }
            ck_assert_double_ge(position_of(&plant), PLANT_TOP - 1.5);
        }
    }
}
END_TEST

/* As in a container without a limit, beside others that take what they get. */
START_TEST(predict_meets_a_spike_on_a_cpu_that_is_never_full)
{
    el_control_config_t config = config_of(EL_CONTROL_PREDICT);

    for (unsigned slice = 0; slice < PLANT_SLICES; slice++) {
        plant_t plant = plant_of(_i);
        double before = plant_rate(&plant, PLANT_TOP, 0.6);
        double after = 1.69 * plant_rate(&plant, PLANT_TOP, 1);

        plant.hidden = 0.15;
        plant.backlog_max = 5;
        settle(&plant, &config, before);
        plant_run(&plant, &config, before, after, slice);
        plant_hold(&plant, &config, after);
        plant_hold(&plant, &config, after);
        ck_assert_msg(position_of(&plant) == 0, "%s at %u: %g", contents[_i].name, slice,
                      position_of(&plant));
    }
}
END_TEST

START_TEST(predict_is_calm_in_noise)
{
    el_control_config_t config = config_of(EL_CONTROL_PREDICT);

    for (double load = 0.05; load < 2.5; load += 0.05) {
        plant_t plant = plant_of(_i);
        double rate = plant_rate(&plant, PLANT_TOP, load);
        unsigned changes = 0;

        plant.noise = 0.05;
        plant.spent_noise = fmax(plant.spent_noise, 0.1);
        plant.seed = (uint64_t)(load * 1000) + 17;
        settle(&plant, &config, rate);
        for (unsigned i = 0; i < 10 * MINUTE; i++) {
            plant_hold(&plant, &config, rate);
            changes += plant.moved;
        }
        ck_assert_msg(changes <= 2, "%s: load %g: %u changes in 10 minutes", contents[_i].name,
                      load, changes);
    }
}
END_TEST

/* Intervals running that the load was above the threshold, at most; and at the floor none count. */
static unsigned longest_above(plant_t *plant, const el_control_config_t *config,
                              double (*rate)(const plant_t *, unsigned), unsigned intervals)
{
    unsigned longest = 0, running = 0;

    for (unsigned i = 0; i < intervals; i++) {
        double position = position_of(plant);

        plant_hold(plant, config, rate(plant, i));
        running = plant->busy > HIGH + 0.01 && position > 0 ? running + 1 : 0;
        longest = running > longest ? running : longest;
    }
    return longest;
}

/* From nothing to twice what the ceiling carries, in a minute, and back. */
static double ramp(const plant_t *plant, unsigned i)
{
    double share = i < MINUTE ? (double)i / MINUTE : 2 - (double)i / MINUTE;

    return plant_rate(plant, PLANT_TOP, 2 * fmax(0, share));
}

/* A day in four minutes: little before dawn, and in the evening half as much again as the ceiling
 * carries. */
static double day(const plant_t *plant, unsigned i)
{
    return plant_rate(plant, PLANT_TOP, 0.85 - 0.65 * cos(2 * 3.14159265358979 * i / 480));
}

static double square_of(const plant_t *plant, unsigned i, unsigned half)
{
    return plant_rate(plant, PLANT_TOP, i / half % 2 == 0 ? 0.4 : 1.5);
}

static double square_1(const plant_t *plant, unsigned i)
{
    return square_of(plant, i, 1);
}

static double square_3(const plant_t *plant, unsigned i)
{
    return square_of(plant, i, 3);
}

static double square_20(const plant_t *plant, unsigned i)
{
    return square_of(plant, i, 20);
}

static const struct {
    const char *name;
    double (*rate)(const plant_t *, unsigned);
    unsigned predict, mix, step; /* intervals above the threshold, at most */
} courses[] = {
    {"a ramp", ramp, 1, 0, 1},
    {"a day", day, 1, 0, 1},
    {"a square wave of one interval", square_1, 1, 1, 1},
    {"a square wave of three intervals", square_3, 1, 3, 3},
    {"a square wave of twenty intervals", square_20, 1, 5, 5},
};

START_TEST(a_load_that_goes_up_and_down_is_followed)
{
    static const el_control_mode_t modes[] = {EL_CONTROL_PREDICT, EL_CONTROL_MIX, EL_CONTROL_STEP};
    unsigned most[] = {courses[_i].predict, courses[_i].mix, courses[_i].step};

    for (unsigned m = 0; m < 3; m++) {
        el_control_config_t config = config_of(modes[m]);
        plant_t plant = plant_new();
        unsigned above = longest_above(&plant, &config, courses[_i].rate, 480);

        ck_assert_msg(above <= most[m], "%s, mode %d: %u intervals above", courses[_i].name,
                      (int)modes[m], above);
    }
}
END_TEST

/* Each setup costs twice as much as the one below, as where each is another coding. */
static plant_t plant_of_leaps(void)
{
    plant_t plant = plant_new();

    for (unsigned p = 0; p <= PLANT_TOP; p++) {
        plant.cost[p] = plant.known[p] = pow(2, p);
    }
    plant.page = 1;
    return plant;
}

static double variance(el_control_mode_t mode, plant_t plant, double load, double noise,
                       bool *in_band)
{
    el_control_config_t config = config_of(mode);
    double rate, sum = 0, squares = 0;

    plant.noise = noise;
    plant.lag = 0.2;
    rate = plant_rate(&plant, PLANT_TOP, load);
    settle(&plant, &config, rate);
    *in_band = true;
    for (unsigned i = 0; i < 10 * MINUTE; i++) {
        double position = position_of(&plant);

        plant_hold(&plant, &config, rate);
        *in_band &= is_settled(&plant, position);
        sum += position;
        squares += position * position;
    }
    return squares / (10 * MINUTE) - sum / (10 * MINUTE) * (sum / (10 * MINUTE));
}

/* Where every level fits the band, both stand. */
START_TEST(mix_stands_where_step_does)
{
    static const double noises[] = {0, 0.05};

    for (double load = 0.1; load < 2.4; load += 0.02) {
        bool in_band;
        double mix = variance(EL_CONTROL_MIX, plant_new(), load, noises[_i], &in_band);

        ck_assert_msg(mix <= 0.01, "load %g: %g", load, mix);
        ck_assert_msg(in_band, "load %g: mix is out of the band", load);
    }
}
END_TEST

/* Where no single setup fits, `step` goes up and down for ever; `mix` goes in between. */
START_TEST(mix_varies_less_than_step)
{
    static const double noises[] = {0, 0.05};
    double mixed = 0, stepped = 0;

    for (double load = 1; load < 50; load *= 1.03) {
        bool in_band, ignored;
        double mix = variance(EL_CONTROL_MIX, plant_of_leaps(), load, noises[_i], &in_band);
        double step = variance(EL_CONTROL_STEP, plant_of_leaps(), load, noises[_i], &ignored);

        ck_assert_msg(mix <= fmax(step, 0.01), "load %g: %g, step %g", load, mix, step);
        ck_assert_msg(in_band, "load %g: mix is out of the band", load);
        mixed += mix;
        stepped += step;
    }
    ck_assert_msg(mixed * 100 < stepped, "%g, step %g", mixed, stepped);
}
END_TEST

/* A narrow band between two levels: Proc. 1 has no level to rest at. */
START_TEST(mix_rests_where_step_cannot)
{
    double moves[2];

    for (unsigned m = 0; m < 2; m++) {
        el_control_config_t config = config_of(m == 0 ? EL_CONTROL_MIX : EL_CONTROL_STEP);
        plant_t plant = plant_new();
        double rate = plant_rate(&plant, 4.5, 0.625);

        config.low = 0.60;
        config.high = 0.65;
        settle(&plant, &config, rate);
        moves[m] = 0;
        for (unsigned i = 0; i < MINUTE; i++) {
            plant_hold(&plant, &config, rate);
            moves[m] += plant.moved;
        }
    }
    ck_assert_double_eq(moves[0], 0);
    ck_assert_double_ge(moves[1], MINUTE / 2);
}
END_TEST

/* However long noise has turned the error around before. */
START_TEST(mix_notices_that_a_load_is_gone)
{
    el_control_config_t config = config_of(EL_CONTROL_MIX);
    plant_t plant = _i == 0 ? plant_new() : plant_of_leaps();
    double high = plant_rate(&plant, 2.5, 0.65), low = plant_rate(&plant, PLANT_TOP, 0.3);

    plant.noise = 0.15;
    plant.lag = 0.2;
    for (unsigned i = 0; i < 10 * MINUTE; i++) {
        plant_hold(&plant, &config, high);
    }
    ck_assert_double_lt(position_of(&plant), PLANT_TOP - 2);
    for (unsigned i = 0; i < 20; i++) {
        plant_hold(&plant, &config, low);
    }
    ck_assert_double_ge(position_of(&plant), PLANT_TOP - 1);
}
END_TEST

/* The engine of the upper half becomes three times as slow; the averages follow. */
START_TEST(a_slowed_engine_changes_the_choice)
{
    static const el_control_mode_t modes[] = {EL_CONTROL_PREDICT, EL_CONTROL_MIX, EL_CONTROL_STEP};
    static const unsigned within[] = {3, 20, 12};
    el_control_config_t config = config_of(modes[_i]);
    plant_t plant = plant_new();
    double rate = plant_rate(&plant, 7, 0.65);
    double before;

    settle(&plant, &config, rate);
    before = position_of(&plant);
    ck_assert_double_gt(before, 5);
    for (unsigned p = 4; p <= PLANT_TOP; p++) {
        plant.cost[p] *= 3;
        plant.known[p] *= 3;
    }
    for (unsigned i = 0; i < within[_i]; i++) {
        plant_hold(&plant, &config, rate);
    }
    plant_hold(&plant, &config, rate);
    ck_assert_double_lt(position_of(&plant), before - 1);
    /* Between two setups so far apart, Proc. 1 has none to rest at. */
    ck_assert_msg(modes[_i] == EL_CONTROL_STEP || is_settled(&plant, position_of(&plant)),
                  "%g at %g", plant.busy, position_of(&plant));
}
END_TEST

/* Responses of an interval: of a busy site, and of one with hardly more than tell a percentile. */
static const unsigned responses[] = {100, 8};

/* Of `all`, the time within which 95 of 100 are. */
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile_95(double *all, size_t count)
{
    qsort(all, count, sizeof(*all), compare);
    return all[count * 95 / 100];
}

/*
 * Compression takes as long as the body is large and the CPU is contended. Each response has one of
 * the position's two setups. Writes the durations, µs, to `usec`.
 */
static void compress(plant_t *plant, unsigned count, double *usec, el_histogram_t *histogram)
{
    static uint32_t number;

    for (unsigned n = 0; n < count; n++) {
        double kbytes = 60 * exp(0.7 * (plant_random(plant) + plant_random(plant)));
        unsigned setup = plant->state.position + el_control_upper(plant->state, number++);

        usec[n] = kbytes * plant->cost[setup] / (1.3 - plant->busy);
        el_histogram_add(histogram, (uint64_t)(1000 * usec[n]));
    }
}

#define SETTLING 100
#define WATCHED 400

/* The 95th percentile that clients see in the end, to the goal. */
static double reached(plant_t *plant, const el_control_config_t *config, bool known, double share,
                      unsigned count)
{
    static double usec[(SETTLING + WATCHED) * 100];
    static el_histogram_t histogram;
    double rate = plant_rate(plant, PLANT_TOP, share);

    memset(&histogram, 0, sizeof(histogram));
    for (unsigned i = 0; i < SETTLING + WATCHED; i++) {
        el_control_seen_t seen = {.capacity_usec = PLANT_CAPACITY, .kbytes = rate,
                                  .cost = known ? plant->known : NULL};

        plant->busy = seen.busy = plant_load(plant, position_of(plant), rate);
        compress(plant, count, &usec[(size_t)i * count], &histogram);
        seen.p95_usec = el_histogram_quantile(&histogram, 0.95, 20);
        if (seen.p95_usec > 0) {
            el_histogram_fade(&histogram, 0.7);
        }
        plant->state = el_control_next(config, &seen, &plant->memory, plant->state);
    }
    return percentile_95(&usec[(size_t)SETTLING * count], (size_t)WATCHED * count)
           / config->goal.p95_usec;
}

/* With the costs of all setups known, and with none; gzip's levels, and setups far apart. */
START_TEST(a_latency_is_reached)
{
    for (int known = 0; known < 2; known++) {
        for (int leaps = 0; leaps < 2; leaps++) {
            for (double wanted = 1.5; wanted < PLANT_TOP - 1; wanted += 0.75) {
                el_control_config_t config =
                    config_of(known ? EL_CONTROL_PREDICT : EL_CONTROL_MIX);
                plant_t plant = leaps ? plant_of_leaps() : plant_new();
                el_curve_t curve = {plant.cost, NULL, PLANT_TOP};
                double found;

                config.goal = (el_goal_t){.kind = EL_GOAL_LATENCY,
                                          .p95_usec = 170 * el_curve_cost(&curve, wanted)};
                found = reached(&plant, &config, known, leaps ? 0.4 : 0.5, responses[_i]);
                ck_assert_msg(found > 0.9 && found < 1.1,
                              "wanted between %g: costs %s, setups %s: %g of the goal", wanted,
                              known ? "known" : "unknown", leaps ? "far apart" : "near", found);
            }
        }
    }
}
END_TEST

static Suite *sim_suite(void)
{
    Suite *suite = suite_create("sim");
    TCase *tc = tcase_create("sim");
    int kinds = (int)(sizeof(contents) / sizeof(contents[0]));

    tcase_add_loop_test(tc, predict_settles_in_three_intervals, 0, kinds);
    tcase_add_loop_test(tc, predict_overshoots_by_ten_points_at_most, 0, kinds);
    tcase_add_loop_test(tc, predict_meets_a_spike_in_two_intervals, 0, kinds);
    tcase_add_loop_test(tc, predict_meets_a_spike_on_a_cpu_that_is_never_full, 0, kinds);
    tcase_add_loop_test(tc, predict_is_calm_in_noise, 0, kinds);
    tcase_add_loop_test(tc, a_load_that_goes_up_and_down_is_followed, 0,
                        (int)(sizeof(courses) / sizeof(courses[0])));
    tcase_add_loop_test(tc, mix_stands_where_step_does, 0, 2);
    tcase_add_loop_test(tc, mix_varies_less_than_step, 0, 2);
    tcase_add_test(tc, mix_rests_where_step_cannot);
    tcase_add_loop_test(tc, mix_notices_that_a_load_is_gone, 0, 2);
    tcase_add_loop_test(tc, a_slowed_engine_changes_the_choice, 0, 3);
    tcase_add_loop_test(tc, a_latency_is_reached, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(sim_suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
