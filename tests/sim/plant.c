#include "plant.h"

#include "elastic/curve.h"

#include <math.h>
#include <string.h>

/* zlib's levels 1 to 9 on pages of 120 KB, µs per KB on one core of this decade. */
static const double zlib[PLANT_TOP + 1] = {8.6, 9.4, 11.6, 12.9, 17.2, 23.5, 27.4, 35.2, 38.3};

/* A clock tick in an interval's ticks: what /proc/stat resolves in half a second of one CPU. */
#define RESOLUTION (1 / 50.)

plant_t plant_new(void)
{
    plant_t plant = {.page = 6, .backlog_max = 0.2, .seed = 1};

    memcpy(plant.cost, zlib, sizeof(zlib));
    memcpy(plant.known, zlib, sizeof(zlib));
    plant.state = (el_control_state_t){PLANT_TOP, PLANT_TOP, false, 0};
    plant.last_position = PLANT_TOP;
    return plant;
}

static double cost_at(const plant_t *plant, double position)
{
    el_curve_t curve = {plant->cost, PLANT_TOP};

    return el_curve_cost(&curve, position);
}

double plant_rate(const plant_t *plant, double position, double busy)
{
    return (busy - plant->others) * PLANT_CAPACITY / (plant->page + cost_at(plant, position));
}

double plant_load(const plant_t *plant, double position, double rate)
{
    return plant->others + rate * (plant->page + cost_at(plant, position)) / PLANT_CAPACITY;
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

void plant_run(plant_t *plant, const el_control_config_t *config, double before, double after,
               unsigned slice)
{
    double position = el_control_position(plant->state);
    double cost = plant->lag * cost_at(plant, plant->last_position)
                  + (1 - plant->lag) * cost_at(plant, position);
    double all = plant->page + cost;
    double room = (1 - plant->others - plant->hidden) * PLANT_CAPACITY / PLANT_SLICES;
    el_observation_t observed = {.capacity_usec = PLANT_CAPACITY, .cost = plant->known};
    el_control_state_t was = plant->state;

    plant->served = plant->arrived = 0;
    for (unsigned i = 0; i < PLANT_SLICES; i++) {
        double comes = (i < slice ? before : after) / PLANT_SLICES;
        double done = fmin(plant->backlog + comes, room / all);

        plant->arrived += comes;
        plant->served += done;
        plant->backlog = within(plant->backlog + comes - done, 0,
                                plant->backlog_max * PLANT_CAPACITY / all);
    }
    plant->busy = plant->others + plant->served * all / PLANT_CAPACITY;
    observed.busy = within(plant->busy + plant->noise * plant_random(plant), 0, 1);
    observed.busy = round(observed.busy / RESOLUTION) * RESOLUTION;
    observed.kbytes = plant->served;
    observed.spent_usec = plant->served * cost * (1 + plant->spent_noise * plant_random(plant));
    plant->state = el_control_next(config, &observed, &plant->memory, was);
    plant->last_position = position;
    plant->moved = el_control_position(plant->state) != position;
}

void plant_hold(plant_t *plant, const el_control_config_t *config, double rate)
{
    plant_run(plant, config, rate, rate, 0);
}
