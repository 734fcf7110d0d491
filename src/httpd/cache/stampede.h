/*
 * Many requests for a body that is new: one thread of a process encodes it, the others wait for that.
 * Where it takes longer than expected one of them encodes it too, and no more than these two do: all
 * others wait for whichever is done first, which is sooner than they would be, as each would make all
 * others slower.
 *
 * Any thread. Where so many bodies are encoded at the same time that one more finds no place, it is
 * encoded as if it was the only one.
 */
#ifndef ELASTIC_CACHE_STAMPEDE_H
#define ELASTIC_CACHE_STAMPEDE_H

#include "elastic/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a thread stands with a body; zeroed: it has no place. */
typedef struct {
    bool encodes;  /* it is to encode the body, and then to leave the place */
    unsigned slot; /* of the process's table */
} el_stampede_t;

typedef enum {
    EL_STAMPEDE_ENCODE, /* the caller is to encode it, and has a place, or found none */
    EL_STAMPEDE_BUSY,   /* somebody still does */
    EL_STAMPEDE_PASSED  /* somebody did */
} el_stampede_turn_t;

/*
 * Enters with the encoding of that name. Where another thread is at it, waits. Where that has taken
 * `usec` µs of CPU time, more than it is expected to take, one of those who wait encodes it too: a
 * thread that only gets no CPU is no reason to want more of it. With 0 µs nobody waits.
 */
el_stampede_turn_t el_stampede_enter(el_stampede_t *stampede, const el_name_t *name, uint64_t usec);

/* How many wait for what the caller encodes, or another with it. */
unsigned el_stampede_waiting(const el_stampede_t *stampede);

/* Leaves, if nobody waits; true where somebody does: then what was made is handed over first. */
bool el_stampede_is_awaited(el_stampede_t *stampede);

/* Leaves the place, where there is one; those who wait go on. */
void el_stampede_leave(el_stampede_t *stampede);

#endif
