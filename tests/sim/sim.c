/*
 * Stability of the controller: every mode against the plant, with loads that jump, climb, swing and
 * waver. docs/internals/control.md states the results.
 */
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

el_control_config_t sim_config(el_control_mode_t mode)
{
    return (el_control_config_t){mode, SIM_LOW, SIM_HIGH, 2.0, PLANT_TOP, {0}};
}

double sim_position(const plant_t *plant)
{
    return el_control_position(plant->state);
}

bool sim_is_settled(const plant_t *plant, double position)
{
    return (plant->busy >= SIM_LOW - 0.01 || position >= PLANT_TOP)
           && (plant->busy <= SIM_HIGH + 0.01 || position <= 0);
}

void sim_settle(plant_t *plant, const el_control_config_t *config, double rate)
{
    for (unsigned i = 0; i < 200; i++) {
        plant_hold(plant, config, rate);
    }
}

plant_t sim_leaps(void)
{
    plant_t plant = plant_new();

    for (unsigned p = 0; p <= PLANT_TOP; p++) {
        plant.cost[p] = pow(2, p);
    }
    plant.page = 1;
    return plant;
}

double sim_even(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)((*seed >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

double sim_normal(uint64_t *seed)
{
    return sqrt(-2 * log(sim_even(seed))) * cos(2 * 3.14159265358979 * sim_even(seed));
}

int main(int argc, char **argv)
{
    Suite *suite;
    SRunner *runner;
    int failed;

    if (argc > 1 && strcmp(argv[1], "regret") == 0) {
        sim_regret_print();
        return EXIT_SUCCESS;
    }

    suite = suite_create("sim");
    suite_add_tcase(suite, sim_courses());
    suite_add_tcase(suite, sim_mix());
    suite_add_tcase(suite, sim_price());
    suite_add_tcase(suite, sim_learning());
    suite_add_tcase(suite, sim_regret());
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
