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
 * These two count with ElasticGoal cpu alone. By default, and with every other goal, samples set a
 * price (price.h), and the levels follow from that (ladder.h).
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
    EL_CONTROL_MIX,  /* proportional and integral, toward the middle between the thresholds */
    EL_CONTROL_OFF   /* every coding stays at its ceiling */
} el_control_mode_t;

/* A whole position's worth of el_control_state_t.fraction. */
#define EL_CONTROL_ONE 65536u

typedef struct {
    el_control_mode_t mode;
    double low;     /* busy share below which effort goes up, 0 … 1 */
    double high;    /* busy share above which effort goes down; low < high */
    double bypass;  /* busy share above which the floor compresses nothing; above 1: never */
    unsigned top;   /* positions run 0 … top */
    el_goal_t goal; /* zeros: the busy share itself */
} el_control_config_t;

typedef struct {
    unsigned position; /* 0 … top */
    unsigned top;      /* the top that `position` was set for */
    bool bypass;       /* responses go out uncompressed */
    uint16_t fraction; /* of the next position, in 1/65536; 0 at the top, and with `step` */
} el_control_state_t;

/* Facts of the interval. Zeros mean not known, except for `busy`. */
typedef struct {
    double busy;    /* share of the CPU that is ours to use, 0 … 1 */
    double seconds; /* the interval's length */
    double cpus;    /* CPUs' worth of time that are our 100 percent */
} el_observation_t;

/* The controller's memory from one interval to the next; zeros at the beginning. */
typedef struct {
    double error; /* mix: the load's distance, an interval ago, from the zone left alone */
    double gain;  /* mix: the share of the full gain; below 0 if the load was too high */
    el_price_memory_t price; /* goals that set a price: what it is made of */
} el_control_memory_t;

/* True if samples set a price, and do not move a position. */
static inline bool el_control_is_priced(const el_control_config_t *config)
{
    return config->mode != EL_CONTROL_OFF && config->goal.kind != EL_GOAL_CPU;
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
 * True if the `count`th request of a process takes the setup above `state.position` and not the one
 * at it: over any stretch of requests spread evenly, with no dice and nothing shared between
 * processes. Neighbouring requests do not alternate in step, so that a site whose requests
 * alternate between large and small bodies is mixed as well.
 */
bool el_control_upper(el_control_state_t state, uint32_t count);

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

/*
 * The price of a saved byte, ns of CPU time, by a goal that sets one, after a sample or more.
 */
double el_control_price(const el_control_config_t *config, const el_control_memory_t *memory);

/*
 * The time of the update after one that was due at `due` and is made at `now`: one interval after
 * it was due, so that late ticks do not add up, or one interval from now if that has passed
 * already.
 */
uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval);

/*
 * The position file: what elasticd publishes, and what httpds and other programs of the machine
 * read. Bytes <-> position. docs/internals/control.md has the layout for those who read it in other
 * languages.
 *
 * The file is written in place, and a reader may get half of a write: a checksum shows it. It is
 * read with pread(), never mapped: whoever truncated it would kill the reader.
 *
 * Pure; any thread.
 */

#define EL_POSITION_SIZE 64
#define EL_POSITION_VERSION 1

/* Without an update for so many intervals a position is stale. */
#define EL_POSITION_INTERVALS 10

/* No load was determined yet. */
#define EL_POSITION_NO_LOAD UINT32_MAX

typedef struct el_position {
    el_control_state_t control;
    uint64_t updated_usec;  /* of the monotonic clock, which all processes share; not 0 */
    uint64_t samples;       /* that the writer has taken */
    uint32_t interval_msec; /* between updates; not 0 */
    uint32_t load_ppm;      /* the last sample's busy share, or EL_POSITION_NO_LOAD */
    uint32_t pid;           /* of the writer */
    bool stopped;           /* written last thing by a writer that ended */
    bool locked;            /* while its writer lives, it holds a lock on the file */
} el_position_t;

/* X(identifier, text): what a file may be; the texts go behind its name in a log. */
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

/* Static text. */
extern const char *const el_position_texts[EL_POSITION_VERDICT_COUNT];

/* Writes `position` into the EL_POSITION_SIZE bytes at `bytes`. */
void el_position_encode(const el_position_t *position, uint8_t *bytes);

/*
 * Reads the `len` bytes at `bytes` at `now_usec` of the monotonic clock. `position` is filled where
 * the bytes are whole: GOOD, STOPPED and STALE. A time more than an interval ahead is stale too: it
 * is of another boot.
 */
el_position_verdict_t el_position_decode(const uint8_t *bytes, size_t len, uint64_t now_usec,
                                         el_position_t *position);

/* The same share of the way from floor to ceiling on a ladder with another top. */
el_control_state_t el_position_scale(el_control_state_t control, unsigned top);

#endif
