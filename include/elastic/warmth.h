/*
 * Warmth: whether the time that a body took is that of others like it. The first body of a new
 * context takes up to twelve times as long: pages are touched, and code is run, for the first time.
 * What contexts usually take is not that, but where none of a setup are kept, each body has a new
 * one, and they do.
 *
 * A process has one memory of it, zeroed at first. Any thread.
 */
#ifndef ELASTIC_WARMTH_H
#define ELASTIC_WARMTH_H

#include "elastic/cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic uint8_t fresh[EL_ALL_CODINGS][EL_COST_LEVELS]; /* new contexts in a row */
} el_warmth_t;

/* Takes whether the body's context was new, and returns whether its time is a usual one. */
bool el_warmth_is_usual(el_warmth_t *warmth, el_coding_t coding, int level, bool fresh);

#endif
