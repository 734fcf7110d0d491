/* `mix` compared with `step`: where they rest, and how much they vary. */
#include "sim.h"

#include <math.h>

static double variance(el_control_mode_t mode, plant_t plant, double load, double noise,
                       bool *in_band)
{
    el_control_config_t config = sim_config(mode);
    double rate, sum = 0, squares = 0;

    plant.noise = noise;
    plant.lag = 0.2;
    rate = plant_rate(&plant, PLANT_TOP, load);
    sim_settle(&plant, &config, rate);
    *in_band = true;
    for (unsigned i = 0; i < 10 * SIM_MINUTE; i++) {
        double position = sim_position(&plant);

        plant_hold(&plant, &config, rate);
        *in_band &= sim_is_settled(&plant, position);
        sum += position;
        squares += position * position;
    }
    return squares / (10 * SIM_MINUTE) - sum / (10 * SIM_MINUTE) * (sum / (10 * SIM_MINUTE));
}

/* If every level's load is within the band, both stay. */
START_TEST(mix_settles_where_step_does)
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

/* If no setup fits the band, `step` alternates for ever, and `mix` rests between two. */
START_TEST(mix_varies_less_than_step)
{
    static const double noises[] = {0, 0.05};
    double mixed = 0, stepped = 0;

    for (double load = 1; load < 50; load *= 1.03) {
        bool in_band, ignored;
        double mix = variance(EL_CONTROL_MIX, sim_leaps(), load, noises[_i], &in_band);
        double step = variance(EL_CONTROL_STEP, sim_leaps(), load, noises[_i], &ignored);

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
        el_control_config_t config = sim_config(m == 0 ? EL_CONTROL_MIX : EL_CONTROL_STEP);
        plant_t plant = plant_new();
        double rate = plant_rate(&plant, 4.5, 0.625);

        config.low = 0.60;
        config.high = 0.65;
        sim_settle(&plant, &config, rate);
        moves[m] = 0;
        for (unsigned i = 0; i < SIM_MINUTE; i++) {
            plant_hold(&plant, &config, rate);
            moves[m] += plant.moved;
        }
    }
    ck_assert_double_eq(moves[0], 0);
    ck_assert_double_ge(moves[1], SIM_MINUTE / 2);
}
END_TEST

/* Noise has reversed the error for ten minutes before. */
START_TEST(mix_notices_that_a_load_is_gone)
{
    el_control_config_t config = sim_config(EL_CONTROL_MIX);
    plant_t plant = _i == 0 ? plant_new() : sim_leaps();
    double high = plant_rate(&plant, 2.5, 0.65), low = plant_rate(&plant, PLANT_TOP, 0.3);

    plant.noise = 0.15;
    plant.lag = 0.2;
    for (unsigned i = 0; i < 10 * SIM_MINUTE; i++) {
        plant_hold(&plant, &config, high);
    }
    ck_assert_double_lt(sim_position(&plant), PLANT_TOP - 2);
    for (unsigned i = 0; i < 20; i++) {
        plant_hold(&plant, &config, low);
    }
    ck_assert_double_ge(sim_position(&plant), PLANT_TOP - 1);
}
END_TEST

TCase *sim_mix(void)
{
    TCase *tc = tcase_create("mix");

    tcase_add_loop_test(tc, mix_settles_where_step_does, 0, 2);
    tcase_add_loop_test(tc, mix_varies_less_than_step, 0, 2);
    tcase_add_test(tc, mix_rests_where_step_cannot);
    tcase_add_loop_test(tc, mix_notices_that_a_load_is_gone, 0, 2);
    return tc;
}
