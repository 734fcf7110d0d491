/* `predict`: at once where it is to be, and then at rest. */
#include "sim.h"

#include <math.h>

/* Where it goes. */
#define AIM 0.725

/* How much the true costs differ from what the controller is given: at the floor, at the ceiling. */
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
    el_control_config_t config = sim_config(EL_CONTROL_PREDICT);

    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < 8; to++) {
            for (unsigned slice = 0; slice < PLANT_SLICES; slice += 3) {
                plant_t plant = plant_of(_i);
                double before = plant_rate(&plant, PLANT_TOP, loads[from]);
                double after = plant_rate(&plant, PLANT_TOP, loads[to]);

                sim_settle(&plant, &config, before);
                ck_assert(sim_is_settled(&plant, sim_position(&plant)));
                /* The rest of the interval that it falls into, and three more. */
                plant_run(&plant, &config, before, after, slice);
                for (unsigned i = 0; i < (slice == 0 ? 2 : 3); i++) {
                    plant_hold(&plant, &config, after);
                }
                for (unsigned i = 0; i < 20; i++) {
                    double position = sim_position(&plant);

                    plant_hold(&plant, &config, after);
                    ck_assert_msg(sim_is_settled(&plant, position),
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
    el_control_config_t config = sim_config(EL_CONTROL_PREDICT);

    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < from; to++) {
            for (unsigned slice = 0; slice < PLANT_SLICES; slice += 3) {
                plant_t plant = plant_of(_i);
                double before = plant_rate(&plant, PLANT_TOP, loads[from]);
                double after = plant_rate(&plant, PLANT_TOP, loads[to]);
                double was;

                sim_settle(&plant, &config, before);
                was = sim_position(&plant);
                plant_run(&plant, &config, before, after, slice);
                for (unsigned i = 0; i < 20; i++) {
                    plant_hold(&plant, &config, after);
                    ck_assert_msg(plant.busy <= AIM + 0.10 || sim_position(&plant) <= was,
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
    el_control_config_t config = sim_config(EL_CONTROL_PREDICT);

    for (unsigned s = 0; s < 3; s++) {
        for (unsigned slice = 0; slice < PLANT_SLICES; slice++) {
            plant_t plant = plant_of(_i);
            double before = plant_rate(&plant, PLANT_TOP, 0.7);
            double after = spikes[s] * plant_rate(&plant, PLANT_TOP, 1);

            sim_settle(&plant, &config, before);
            ck_assert_double_eq(sim_position(&plant), PLANT_TOP);
            plant_run(&plant, &config, before, after, slice);
            plant_hold(&plant, &config, after);
            ck_assert_msg(sim_position(&plant) == 0, "%s: x%g at %u: %g", contents[_i].name,
                          spikes[s], slice, sim_position(&plant));
            /* And back, when it is over. */
            for (unsigned i = 0; i < 20; i++) {
                plant_hold(&plant, &config, after);
            }
            for (unsigned i = 0; i < 5; i++) {
                plant_hold(&plant, &config, before);
            }
            ck_assert_double_ge(sim_position(&plant), PLANT_TOP - 1.5);
        }
    }
}
END_TEST

/* As in a container without a limit, beside others that take what they get. */
START_TEST(predict_meets_a_spike_on_a_cpu_that_is_never_full)
{
    el_control_config_t config = sim_config(EL_CONTROL_PREDICT);

    for (unsigned slice = 0; slice < PLANT_SLICES; slice++) {
        plant_t plant = plant_of(_i);
        double before = plant_rate(&plant, PLANT_TOP, 0.6);
        double after = 1.69 * plant_rate(&plant, PLANT_TOP, 1);

        plant.hidden = 0.15;
        plant.backlog_max = 5;
        sim_settle(&plant, &config, before);
        plant_run(&plant, &config, before, after, slice);
        plant_hold(&plant, &config, after);
        plant_hold(&plant, &config, after);
        ck_assert_msg(sim_position(&plant) == 0, "%s at %u: %g", contents[_i].name, slice,
                      sim_position(&plant));
    }
}
END_TEST

START_TEST(predict_is_calm_in_noise)
{
    el_control_config_t config = sim_config(EL_CONTROL_PREDICT);

    for (double load = 0.05; load < 2.5; load += 0.05) {
        plant_t plant = plant_of(_i);
        double rate = plant_rate(&plant, PLANT_TOP, load);
        unsigned changes = 0;

        plant.noise = 0.05;
        plant.spent_noise = fmax(plant.spent_noise, 0.1);
        plant.seed = (uint64_t)(load * 1000) + 17;
        sim_settle(&plant, &config, rate);
        for (unsigned i = 0; i < 10 * SIM_MINUTE; i++) {
            plant_hold(&plant, &config, rate);
            changes += plant.moved;
        }
        ck_assert_msg(changes <= 2, "%s: load %g: %u changes in 10 minutes", contents[_i].name,
                      load, changes);
    }
}
END_TEST

TCase *sim_predict(void)
{
    TCase *tc = tcase_create("predict");
    int kinds = (int)(sizeof(contents) / sizeof(contents[0]));

    tcase_add_loop_test(tc, predict_settles_in_three_intervals, 0, kinds);
    tcase_add_loop_test(tc, predict_overshoots_by_ten_points_at_most, 0, kinds);
    tcase_add_loop_test(tc, predict_meets_a_spike_in_two_intervals, 0, kinds);
    tcase_add_loop_test(tc, predict_meets_a_spike_on_a_cpu_that_is_never_full, 0, kinds);
    tcase_add_loop_test(tc, predict_is_calm_in_noise, 0, kinds);
    return tc;
}
