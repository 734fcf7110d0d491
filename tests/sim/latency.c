/* The goal of latency: prices move until 95 of 100 responses are compressed within its time. */
#include "sim.h"

#include "elastic/histogram.h"
#include "elastic/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Responses of an interval: of a busy site, and of one with hardly enough for a percentile. */
static const unsigned responses[] = {100, 8};

/* gzip's setups for pages; and some that are far apart. */
static const el_rung_t near[] = {
    {EL_GZIP, 1, {1372, 2646}}, {EL_GZIP, 2, {1488, 2611}}, {EL_GZIP, 3, {2085, 2476}},
    {EL_GZIP, 4, {6788, 2285}}, {EL_GZIP, 6, {10740, 2211}}, {EL_GZIP, 8, {27774, 2182}},
};
static const el_rung_t apart[] = {
    {EL_GZIP, 1, {2000, 3000}}, {EL_GZIP, 4, {8000, 2500}}, {EL_GZIP, 9, {32000, 2300}},
};
static const struct {
    const el_rung_t *rungs;
    size_t count;
} ladders[] = {{near, 6}, {apart, 3}};

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

/* KB of a page, from 15 to 240. */
static double length(plant_t *plant)
{
    return 60 * exp(0.7 * (plant_random(plant) + plant_random(plant)));
}

#define SETTLING 100
#define WATCHED 400

/*
 * The 95th percentile that clients see in the end, to the goal. Compression takes as long as the
 * body is large and the CPU is contended; each response goes by a price of its own.
 */
static double reached(int ladder, const el_goal_t *goal, double busy, unsigned count)
{
    static double usec[(SETTLING + WATCHED) * 100];
    static el_histogram_t histogram;
    el_control_config_t config = sim_config(EL_CONTROL_STEP);
    plant_t plant = plant_new();
    double price = 1600;
    uint32_t number = 0;

    config.goal = *goal;
    memset(&histogram, 0, sizeof(histogram));
    for (size_t i = 0; i < SETTLING + WATCHED; i++) {
        el_observation_t observed = {.busy = busy, .cpus = 1, .seconds = 0.5};

        for (unsigned n = 0; n < count; n++) {
            const el_rung_t *rung = el_ladder_rung(
                ladders[ladder].rungs, ladders[ladder].count,
                price * el_goal_spread(el_control_turn(number++)));

            usec[i * count + n] = length(&plant) * rung->cost.nsec / 1000 / (1.3 - busy);
            el_histogram_add(&histogram, (uint64_t)(1000 * usec[i * count + n]));
        }
        observed.p95_usec = el_histogram_quantile(&histogram, 0.95, 20);
        if (observed.p95_usec > 0) {
            el_histogram_fade(&histogram, 0.7);
        }
        plant.state = el_control_next(&config, &observed, &plant.memory, plant.state);
        price = el_price_now(&plant.memory.price);
    }
    return percentile_95(&usec[(size_t)SETTLING * count], (size_t)WATCHED * count)
           / goal->p95_usec;
}

/* The same of one setup for all. */
static double pinned(const el_rung_t *rung, double busy)
{
    static double usec[10000];
    plant_t plant = plant_new();

    for (size_t n = 0; n < 10000; n++) {
        usec[n] = length(&plant) * rung->cost.nsec / 1000 / (1.3 - busy);
    }
    return percentile_95(usec, 10000);
}

START_TEST(a_latency_is_reached)
{
    static const double loads[] = {0.1, 0.5};

    for (int ladder = 0; ladder < 2; ladder++) {
        for (size_t l = 0; l < 2; l++) {
            const el_rung_t *rungs = ladders[ladder].rungs;
            double least = pinned(rungs, loads[l]);
            /* A dearer setup than any that half of the CPU may be spent for is not reached. */
            double most = pinned(&rungs[ladders[ladder].count - 1 - l], loads[l]);

            for (double wanted = 1.2 * least; wanted < most / 1.1; wanted *= 1.15) {
                el_goal_t goal = {.kind = EL_GOAL_LATENCY, .p95_usec = wanted};
                double found = reached(ladder, &goal, loads[l], responses[_i]);

                ck_assert_msg(found > 0.9 && found < 1.1,
                              "ladder %d, load %g, %g of the least: %g of the goal", ladder,
                              loads[l], wanted / least, found);
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
