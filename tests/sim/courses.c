/* Rising and falling loads, and changing costs, in every mode. */
#include "sim.h"

#include <math.h>

/* Longest run of intervals above the threshold while the position is above the floor. */
static unsigned longest_above(plant_t *plant, const el_control_config_t *config,
                              double (*rate)(const plant_t *, unsigned), unsigned intervals)
{
    unsigned longest = 0, running = 0;

    for (unsigned i = 0; i < intervals; i++) {
        double position = sim_position(plant);

        plant_hold(plant, config, rate(plant, i));
        running = plant->busy > SIM_HIGH + 0.01 && position > 0 ? running + 1 : 0;
        longest = running > longest ? running : longest;
    }
    return longest;
}

/* Rises in a minute to twice the load that the ceiling can carry, and falls back. */
static double ramp(const plant_t *plant, unsigned i)
{
    double share = i < SIM_MINUTE ? (double)i / SIM_MINUTE : 2 - (double)i / SIM_MINUTE;

    return plant_rate(plant, PLANT_TOP, 2 * fmax(0, share));
}

/* A day in four minutes: little load before dawn, 1.5 times what the ceiling carries at night. */
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
    unsigned mix, step; /* longest run above the threshold */
} courses[] = {
    {"a ramp", ramp, 0, 1},
    {"a day", day, 0, 1},
    {"a square wave of one interval", square_1, 1, 1},
    {"a square wave of three intervals", square_3, 3, 3},
    {"a square wave of twenty intervals", square_20, 5, 5},
};

START_TEST(a_load_that_goes_up_and_down_is_followed)
{
    static const el_control_mode_t modes[] = {EL_CONTROL_MIX, EL_CONTROL_STEP};
    unsigned most[] = {courses[_i].mix, courses[_i].step};

    for (unsigned m = 0; m < 2; m++) {
        el_control_config_t config = sim_config(modes[m]);
        plant_t plant = plant_new();
        unsigned above = longest_above(&plant, &config, courses[_i].rate, 480);

        ck_assert_msg(above <= most[m], "%s, mode %d: %u intervals above", courses[_i].name,
                      (int)modes[m], above);
    }
}
END_TEST

/* The setups of the upper half become three times as slow. */
START_TEST(a_slowed_engine_changes_the_choice)
{
    static const el_control_mode_t modes[] = {EL_CONTROL_MIX, EL_CONTROL_STEP};
    static const unsigned within[] = {20, 12};
    el_control_config_t config = sim_config(modes[_i]);
    plant_t plant = plant_new();
    double rate = plant_rate(&plant, 7, 0.65);
    double before;

    sim_settle(&plant, &config, rate);
    before = sim_position(&plant);
    ck_assert_double_gt(before, 5);
    for (unsigned p = 4; p <= PLANT_TOP; p++) {
        plant.cost[p] *= 3;
    }
    for (unsigned i = 0; i < within[_i]; i++) {
        plant_hold(&plant, &config, rate);
    }
    plant_hold(&plant, &config, rate);
    ck_assert_double_lt(sim_position(&plant), before - 1);
    /* Proc. 1 has no setup to rest at between two so far apart. */
    ck_assert_msg(modes[_i] == EL_CONTROL_STEP || sim_is_settled(&plant, sim_position(&plant)),
                  "%g at %g", plant.busy, sim_position(&plant));
}
END_TEST

TCase *sim_courses(void)
{
    TCase *tc = tcase_create("courses");

    tcase_add_loop_test(tc, a_load_that_goes_up_and_down_is_followed, 0,
                        (int)(sizeof(courses) / sizeof(courses[0])));
    tcase_add_loop_test(tc, a_slowed_engine_changes_the_choice, 0, 2);
    return tc;
}
