/*
 * The controller: (bounds, state, what an interval showed) -> the next state. No clock, no lock, no
 * I/O inside, so that a test can run a day in a millisecond.
 *
 * `step` is Proc. 1 of "Automatic and Dynamic Configuration of Data Compression for Web Servers"
 * (Zohar, Cassuto; LISA 2014, §4.1): one setup down above the high threshold, one up below the low
 * one, and nothing in the dead band between. The paper prints the test of the time reversed; it
 * acts when the time of the update has come.
 *
 * `mix` is its System-B (§4.2): the position is not a whole number, and its fraction is the share
 * of requests that take the upper one of two setups.
 *
 * `predict` goes by what the setups cost: above the high threshold, and below two fifths of the band
 * between them, it goes to the position whose cost fits, at once. While costs are not known it
 * does what `mix` does.
 */
#ifndef ELASTIC_CONTROL_H
#define ELASTIC_CONTROL_H

#include "elastic/control_state.h"

/*
 * The state after an interval. `state` is first clamped to `config`. Bypass begins above
 * config->bypass when the position is at the floor, and ends below low + (high − low) / 2, half the
 * dead band away from what begins it at the earliest; while it lasts, the position stays.
 *
 * A goal that sets a price (memory->price) goes by no threshold: the position then only shows where
 * on the ladder of the built-in costs the price lies.
 */
el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed,
                                   el_control_memory_t *memory, el_control_state_t state);

/* Whether the update set for `next_update` is due at `now` (any unit, one clock). */
bool el_control_due(uint64_t next_update, uint64_t now);

/*
 * The time of the update after one that was due at `due` and is made at `now`: one interval after
 * it was due, so that late ticks do not add up, or one interval from now where that has passed
 * already.
 */
uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval);

#endif
