/* The goal of latency, with setups mixed as requests have them. */
#include "sim.h"

#include "elastic/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Responses of an interval: of a busy site, and of one with hardly enough for a percentile. */
static const unsigned responses[] = {100, 8};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of `all`, the time within which 95 of 100 are. */
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
        el_observation_t observed = {.capacity_usec = PLANT_CAPACITY, .kbytes = rate,
                                     .cost = known ? plant->known : NULL};

        plant->busy = observed.busy = plant_load(plant, sim_position(plant), rate);
        compress(plant, count, &usec[(size_t)i * count], &histogram);
        observed.p95_usec = el_histogram_quantile(&histogram, 0.95, 20);
        if (observed.p95_usec > 0) {
            el_histogram_fade(&histogram, 0.7);
        }
        plant->state = el_control_next(config, &observed, &plant->memory, plant->state);
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
                    sim_config(known ? EL_CONTROL_PREDICT : EL_CONTROL_MIX);
                plant_t plant = leaps ? sim_leaps() : plant_new();
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

TCase *sim_latency(void)
{
    TCase *tc = tcase_create("latency");

    tcase_add_loop_test(tc, a_latency_is_reached, 0, 2);
    return tc;
}
