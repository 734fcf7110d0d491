/*
 * What the controller works on: its bounds, its state, what an interval showed, what it remembers.
 * Here is the arithmetic of the state, which the modes of the controller share.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_CONTROL_STATE_H
#define ELASTIC_CONTROL_STATE_H

#include "elastic/goal.h"
#include "elastic/price.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    EL_CONTROL_STEP,    /* Proc. 1 */
    EL_CONTROL_MIX,     /* proportional and integral, toward the middle between the thresholds */
    EL_CONTROL_PREDICT, /* by the costs of the setups */
    EL_CONTROL_OFF      /* every coding stays at its ceiling */
} el_control_mode_t;

/* A whole position's worth of el_control_state_t.fraction. */
#define EL_CONTROL_ONE 65536u

typedef struct {
    el_control_mode_t mode;
    double low;     /* busy share below which effort goes up, 0 … 1 */
    double high;    /* busy share above which effort goes down; low < high */
    double bypass;  /* busy share above which, at the floor, nothing is compressed; above 1: never */
    unsigned top;   /* positions run 0 … top */
    el_goal_t goal; /* zeros: the busy share itself */
} el_control_config_t;

typedef struct {
    unsigned position; /* 0 … top */
    unsigned top;      /* the top that `position` was set for */
    bool bypass;       /* responses go out uncompressed */
    uint16_t fraction; /* of the next position, in 1/65536; 0 at the top, and with `step` */
} el_control_state_t;

/*
 * What the interval showed. Zeros mean not known, except for `busy`.
 */
typedef struct {
    double busy;          /* share of the CPU that is ours to use, 0 … 1 */
    double seconds;       /* the interval's length */
    double cpus;          /* CPUs' worth of time that are our 100 percent */
    double capacity_usec; /* CPU time that there was: the interval's length times the CPUs */
    double spent_usec;    /* CPU time of it that compression used */
    double kbytes;        /* KB that were compressed, before */
    double p95_usec;      /* time within which 95 of 100 responses were compressed */
    const double *cost;   /* CPU µs per KB at positions 0 … config->top; NULL: not known */
} el_observation_t;

/* What the controller remembers from one interval to the next; zeros at the beginning. */
typedef struct {
    double error;   /* mix: the load's distance from the zone that mix leaves alone, an interval ago */
    double gain;    /* mix: the share of the full gain; below 0 where the load was too high */
    double target;  /* predict: the position that would have fitted the last interval */
    double scale;   /* predict: CPU time of compression as a multiple of the curve's; 0: not known */
    bool moved;     /* predict: the position changed after the last interval */
    bool over;      /* predict: the last interval's load was above the high threshold */
    bool saturated; /* predict: it went to the floor because a full CPU hides the demand */
    el_price_memory_t price; /* goals that set a price: what it is made of */
} el_control_memory_t;

/* Whether positions have no fraction. */
bool el_control_is_whole(el_control_mode_t mode);

/* Whether samples set a price, and do not move a position. */
static inline bool el_control_is_priced(const el_control_config_t *config)
{
    return config->mode != EL_CONTROL_OFF && el_goal_is_priced(&config->goal);
}

/*
 * `state` made to fit new bounds, as after a reload: clamped, without a bypass that is now off, and
 * without a fraction where positions are whole.
 */
el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state);

/* The position with its fraction, 0 … top. */
double el_control_position(el_control_state_t state);

/* `state` with another position, clamped to its top and rounded to the nearest 1/65536. */
el_control_state_t el_control_at(el_control_state_t state, double position);

/* The bits of a packed state; those above are 0. */
#define EL_CONTROL_BITS 49

/*
 * A state as one word, which can be read and written as one, and back; the bits above
 * EL_CONTROL_BITS are not looked at. Positions and tops are below 65536.
 */
uint64_t el_control_pack(el_control_state_t state);
el_control_state_t el_control_unpack(uint64_t word);

/*
 * The turn of the `count`th request of a process: over any stretch of requests spread evenly, with
 * no dice and nothing shared between processes. Neighbouring requests do not alternate in step, so
 * that a site whose requests alternate between large and small bodies is mixed as well.
 */
uint16_t el_control_turn(uint32_t count);

/* Whether a request takes the setup above `state.position` and not the one at it, by its turn. */
static inline bool el_control_upper(el_control_state_t state, uint16_t turn)
{
    return turn < state.fraction;
}

#endif
