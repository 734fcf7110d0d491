#include "plant.h"

#include <math.h>
#include <string.h>

/* zlib's levels 1 to 9 on pages of 120 KB, µs per KB on one core. */
static const double zlib[PLANT_TOP + 1] = {8.6, 9.4, 11.6, 12.9, 17.2, 23.5, 27.4, 35.2, 38.3};

/* One tick of /proc/stat in half a second of one CPU. */
#define RESOLUTION (1 / 50.)

/* Parts of an interval. */
#define SLICES 10

/* Largest backlog, as a share of an interval's CPU time. */
#define WAITING 0.2

plant_t plant_new(void)
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

double plant_rate(const plant_t *plant, double position, double busy)
{
    return busy * PLANT_CAPACITY / (plant->page + cost_at(plant, position));
}

/* xorshift64. */
double plant_random(plant_t *plant)
{
    plant->seed ^= plant->seed << 13;
    plant->seed ^= plant->seed >> 7;
    plant->seed ^= plant->seed << 17;
    return (double)(plant->seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static double within(double value, double least, double most)
{
    return fmin(most, fmax(least, value));
}

void plant_hold(plant_t *plant, const el_control_config_t *config, double rate)
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
    observed.busy = within(plant->busy + plant->noise * plant_random(plant), 0, 1);
    observed.busy = round(observed.busy / RESOLUTION) * RESOLUTION;
    plant->state = el_control_next(config, &observed, &plant->memory, plant->state);
    plant->last_position = position;
    plant->moved = el_control_position(plant->state) != position;
}
