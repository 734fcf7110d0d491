/* What every test of the controller against the plant shares, and its parts. */
#ifndef ELASTIC_TESTS_SIM_H
#define ELASTIC_TESTS_SIM_H

#include "plant.h"

#include <check.h>

#define SIM_LOW 0.5
#define SIM_HIGH 0.8

/* Intervals in a minute, of half a second. */
#define SIM_MINUTE 120

/* A mode between the thresholds, with a setup for each of the plant's positions. */
el_control_config_t sim_config(el_control_mode_t mode);

double sim_position(const plant_t *plant);

/* Between the thresholds, or beyond them at the bound that does what it can. */
bool sim_is_settled(const plant_t *plant, double position);

/* Holds `rate` until the controller has had all the time it may want. */
void sim_settle(plant_t *plant, const el_control_config_t *config, double rate);

/* A plant of which each setup costs twice as much as the one below, as where each is another
 * coding. */
plant_t sim_leaps(void);

/* Random numbers (xorshift64), the same for each seed but 0: in 0 … 1, never 0; and normal ones. */
double sim_even(uint64_t *seed);
double sim_normal(uint64_t *seed);

/* The tests of each part. */
TCase *sim_courses(void);
TCase *sim_learning(void);
TCase *sim_price(void);
TCase *sim_regret(void);
TCase *sim_mix(void);

/* Prints the regret of each leg. */
void sim_regret_print(void);

#endif
