/* Shared by the tests of the controller, and the list of them. */
#ifndef ELASTIC_TESTS_SIM_H
#define ELASTIC_TESTS_SIM_H

#include "plant.h"

#include <check.h>

#define SIM_LOW 0.5
#define SIM_HIGH 0.8

/* Intervals of half a second in a minute. */
#define SIM_MINUTE 120

/* A configuration of `mode`, with a setup for each of the plant's positions. */
el_control_config_t sim_config(el_control_mode_t mode);

double sim_position(const plant_t *plant);

/* True if the load is between the thresholds, or beyond them at the right bound. */
bool sim_is_settled(const plant_t *plant, double position);

/* Holds `rate` until the controller has had time to settle. */
void sim_settle(plant_t *plant, const el_control_config_t *config, double rate);

/* A plant whose setups each cost twice as much as the one below, as different codings do. */
plant_t sim_leaps(void);

/* Random numbers from a seed other than 0 (xorshift64): above 0 up to 1, and normal. */
double sim_even(uint64_t *seed);
double sim_normal(uint64_t *seed);

TCase *sim_courses(void);
TCase *sim_learning(void);
TCase *sim_price(void);
TCase *sim_regret(void);
TCase *sim_mix(void);

/* Prints the regret of each setup and of the default. */
void sim_regret_print(void);

#endif
