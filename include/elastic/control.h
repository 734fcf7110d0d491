/*
 * The controller: (bounds, state, load) -> the next state. No clock, no lock, no I/O inside, so
 * that a test can run a day in a millisecond.
 *
 * This is Proc. 1 of "Automatic and Dynamic Configuration of Data Compression for Web Servers"
 * (Zohar, Cassuto; LISA 2014, §4.1): one setup down above the high threshold, one up below the low
 * one, and nothing in the dead band between. The paper prints the test of the time reversed; it
 * acts when the time of the update has come.
 */
#ifndef ELASTIC_CONTROL_H
#define ELASTIC_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    EL_CONTROL_STEP, /* Proc. 1 */
    EL_CONTROL_OFF   /* every coding stays at its ceiling */
} el_control_mode_t;

typedef struct {
    el_control_mode_t mode;
    double low;    /* busy share below which effort goes up, 0 … 1 */
    double high;   /* busy share above which effort goes down; low < high */
    double bypass; /* busy share above which the floor is not low enough; above 1: never */
    unsigned top;  /* positions run 0 … top */
} el_control_config_t;

typedef struct {
    unsigned position; /* 0 … top */
    unsigned top;      /* the top that `position` was set for */
    bool bypass;       /* responses go out uncompressed */
} el_control_state_t;

/*
 * The state after a sample with the load `busy` (0 … 1). `state` is first clamped to config->top.
 * Bypass begins above config->bypass when the position is at the floor, and ends below low + (high
 * − low) / 2, half the dead band away from what begins it at the earliest; while it lasts, the
 * position stays.
 */
el_control_state_t el_control_next(const el_control_config_t *config, el_control_state_t state,
                                   double busy);

/*
 * `state` made to fit new bounds, as after a reload: clamped, and without a bypass that is now off.
 */
el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state);

/* Whether the update set for `next_update` is due at `now` (any unit, one clock). */
bool el_control_due(uint64_t next_update, uint64_t now);

/*
 * The time of the update after one that was due at `due` and is made at `now`: one interval after
 * it was due, so that late ticks do not add up, or one interval from now where that has passed
 * already.
 */
uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval);

#endif
