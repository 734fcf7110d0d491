/*
 * Many requests for a body that is new: one thread of a process encodes it, the others wait for that.
 * Any thread. Where so many bodies are encoded at the same time that one more finds no place, it is
 * encoded as if it was the only one.
 */
#ifndef ELASTIC_STORE_STAMPEDE_H
#define ELASTIC_STORE_STAMPEDE_H

#include "elastic/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a thread stands with a body; zeroed: it has no place. */
typedef struct {
    bool first;    /* it is to encode the body, and then to leave the place */
    unsigned slot; /* of the process's table */
} el_stampede_t;

typedef enum {
    EL_STAMPEDE_FIRST,  /* nobody encodes it: the caller does, and has a place, or found none */
    EL_STAMPEDE_BUSY,   /* somebody still does */
    EL_STAMPEDE_PASSED  /* somebody did */
} el_stampede_turn_t;

/*
 * Enters with the encoding of that name. Where another thread is at it, waits for `usec` µs for each
 * that waits, this one among them: so long it would take if all encoded it at the same time.
 */
el_stampede_turn_t el_stampede_enter(el_stampede_t *stampede, const el_name_t *name, uint64_t usec);

/* Leaves, if nobody waits; true where somebody does: then what was made is worth keeping first. */
bool el_stampede_is_awaited(el_stampede_t *stampede);

/* Leaves the place, where there is one; those who wait go on. */
void el_stampede_leave(el_stampede_t *stampede);

#endif
