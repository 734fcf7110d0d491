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
#ifndef ELASTIC_POSITION_H
#define ELASTIC_POSITION_H

#include "elastic/control.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
const char *el_position_text(el_position_verdict_t verdict);

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
