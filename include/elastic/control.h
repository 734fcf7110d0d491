/*
 * The controller: (bounds, state, observation of an interval) -> the next state. It has no clock,
 * lock or I/O, so that a test can run a day in a millisecond.
 *
 * `step` is Proc. 1 of "Automatic and Dynamic Configuration of Data Compression for Web Servers"
 * (Zohar, Cassuto; LISA 2014, §4.1): one setup down above the high threshold, one up below the low
 * one, no move in the dead band between. The paper prints the test of the time reversed; the
 * procedure acts when the time of the update has come.
 *
 * `mix` is the paper's System-B (§4.2): the position has a fraction, which is the share of requests
 * that take the upper one of two setups.
 *
 * Only ElasticGoal cpu uses `step` and `mix`. With every other goal, also by default, samples set a
 * price (price.h), and the levels follow from the price (ladder.h).
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_CONTROL_H
#define ELASTIC_CONTROL_H

#include "elastic/price.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

typedef enum {
    EL_CONTROL_STEP, /* Proc. 1 */
    EL_CONTROL_MIX,  /* proportional and integral, toward the middle of the thresholds */
    EL_CONTROL_OFF   /* every coding stays at its ceiling */
} el_control_mode_t;

/* el_control_state_t.fraction counts in units of 1 / EL_CONTROL_ONE position. */
#define EL_CONTROL_ONE 65536u

typedef struct {
    el_control_mode_t mode;
    double low;     /* busy share, 0 … 1: effort rises below it */
    double high;    /* busy share: effort falls above it; low < high */
    double bypass;  /* busy share: above it the floor does not compress; above 1: never */
    unsigned top;   /* positions run 0 … top */
    el_goal_t goal; /* zeroed: EL_GOAL_CPU */
} el_control_config_t;

typedef struct {
    unsigned position; /* 0 … top */
    unsigned top;      /* the top of the scale that `position` is on */
    bool bypass;       /* responses go out uncompressed */
    uint16_t fraction; /* of the next position, in 1/65536; 0 at the top */
} el_control_state_t;

/* One interval. 0 means unknown, except for `busy`. */
typedef struct {
    double busy;    /* busy share of the CPUs that we may use, 0 … 1 */
    double seconds; /* the interval's length */
    double cpus;    /* CPUs that are our 100 percent; may be a fraction */
} el_observation_t;

/* The controller's memory between intervals; zeroed at the beginning. */
typedef struct {
    double error; /* mix: the last interval's distance from the middle zone */
    double gain;  /* mix: share of the full gain; below 0 if the last load was too high */
    el_price_memory_t price; /* for goals that set a price */
} el_control_memory_t;

/* True if samples set a price instead of a position. */
static inline bool el_control_is_priced(const el_control_config_t *config)
{
    return config->mode != EL_CONTROL_OFF && config->goal.kind != EL_GOAL_CPU;
}

/*
 * Fits `state` to new bounds, as after a reload: clamps the position, ends a bypass that is now
 * off, and drops a fraction unless the mode is `mix`.
 */
el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state);

/* The position with its fraction, 0 … top. */
double el_control_position(el_control_state_t state);

/* Sets the position, clamped to the state's top and rounded to 1/65536. */
el_control_state_t el_control_at(el_control_state_t state, double position);

/* Bits of a packed state; higher bits are 0. */
#define EL_CONTROL_BITS 49

/*
 * Packs a state into one word, for one atomic access, and unpacks it. Unpacking ignores the bits
 * above EL_CONTROL_BITS. Positions and tops are below 65536.
 */
uint64_t el_control_pack(el_control_state_t state);
el_control_state_t el_control_unpack(uint64_t word);

/*
 * True if request number `count` of a process takes the setup above `state.position` instead of the
 * one at it. The choice is deterministic and spread evenly, without state shared between processes.
 * Neighbouring requests do not simply alternate, so that a site that alternates between large and
 * small bodies is mixed as well.
 */
bool el_control_upper(el_control_state_t state, uint32_t count);

/*
 * The state after an interval. Clamps `state` to `config` first. Bypass begins above config->bypass
 * when the position is at the floor; while it lasts, the position stays. It ends when the load is
 * below low + (high − low) / 2 and not above config->bypass.
 *
 * With a goal that sets a price, `low` and `high` do not move the position: memory->price follows
 * the load, and the position only shows where the price lies on the scale of the built-in costs.
 */
el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed,
                                   el_control_memory_t *memory, el_control_state_t state);

/* The price of a saved byte in ns of CPU time. Needs a goal that sets a price, and a sample. */
double el_control_price(const el_control_config_t *config, const el_control_memory_t *memory);

/*
 * The time of the update after one that was due at `due` and happens at `now`: one interval after
 * `due`, so that delays of ticks do not add up, or one interval after `now` if that has passed.
 */
uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval);

/*
 * The position file: elasticd writes it; httpds and other programs on the machine read it.
 * docs/internals/control.md documents the layout for other languages.
 *
 * elasticd writes the file in place, so a reader may get half of a write; the checksum shows it.
 * Readers use pread() and never map the file: truncating a mapped file would kill them.
 *
 * Pure; any thread.
 */

#define EL_POSITION_SIZE 64
#define EL_POSITION_VERSION 1

/* A position is stale after this many intervals without an update. */
#define EL_POSITION_INTERVALS 10

/* No load is known yet. */
#define EL_POSITION_NO_LOAD UINT32_MAX

typedef struct el_position {
    el_control_state_t control;
    uint64_t updated_usec;  /* of the monotonic clock, which all processes share; not 0 */
    uint64_t samples;       /* taken by the writer */
    uint32_t interval_msec; /* between updates; not 0 */
    uint32_t load_ppm;      /* the last sample's busy share, or EL_POSITION_NO_LOAD */
    uint32_t pid;           /* of the writer */
    bool stopped;           /* the writer ended and wrote this last */
    bool locked;            /* the writer holds a lock on the file while it lives */
} el_position_t;

/* X(identifier, text): states of a position file. Logs put the file's name before the text. */
#define EL_POSITION_VERDICTS(X)                                                                    \
    X(GOOD, "has the position")                                                                    \
    X(SHORT, "is too short for a position file")                                                   \
    X(FOREIGN, "is not a position file")                                                           \
    X(VERSION_OTHER, "is of another version of elasticd")                                          \
    X(DAMAGED, "is damaged")                                                                       \
    X(STOPPED, "was left by an elasticd that has ended")                                           \
    X(STALE, "has not been updated for too long")

typedef enum {
#define X(id, text) EL_POSITION_##id,
    EL_POSITION_VERDICTS(X)
#undef X
    EL_POSITION_VERDICT_COUNT
} el_position_verdict_t;

extern const char *const el_position_texts[EL_POSITION_VERDICT_COUNT];

/* Encodes `position` into the EL_POSITION_SIZE bytes at `bytes`. */
void el_position_encode(const el_position_t *position, uint8_t *bytes);

/*
 * Decodes the `len` bytes at `bytes`; `now_usec` is the monotonic clock. Fills `position` for the
 * verdicts GOOD, STOPPED and STALE. A time more than an interval ahead of now is stale, too: it
 * comes from another boot.
 */
el_position_verdict_t el_position_decode(const uint8_t *bytes, size_t len, uint64_t now_usec,
                                         el_position_t *position);

/* Maps the position to a scale with another top, at the same share of the way. */
el_control_state_t el_position_scale(el_control_state_t control, unsigned top);

#endif
