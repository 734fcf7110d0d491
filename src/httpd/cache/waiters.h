/*
 * Many requests for a body that is new: one thread of a process encodes it, the others wait for
 * that. Where it takes longer than expected one of them encodes it too, and no more than these two
 * do: all others wait for whichever is done first, which is sooner than they would be, as each
 * would make all others slower.
 *
 * Where what was made cannot be handed over, because it is too large or not smaller than the body,
 * those who waited encode it at once, and for some time nobody waits for that body any more.
 *
 * Any thread. Where so many bodies are encoded at the same time that one more finds no place, it is
 * encoded as if it was the only one.
 */
#ifndef ELASTIC_CACHE_WAITERS_H
#define ELASTIC_CACHE_WAITERS_H

#include "elastic/entry.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a thread stands with a body; zeroed: it has no place. */
typedef struct {
    bool encodes;  /* it is to encode the body, and then to leave the place */
    unsigned slot; /* of the process's table */
    bool vain;     /* set by the caller before it leaves: what it made cannot be handed over */
} el_waiters_t;

typedef enum {
    EL_WAITERS_ENCODE, /* the caller is to encode it, and has a place, or found none */
    EL_WAITERS_BUSY,   /* somebody still does */
    EL_WAITERS_PASSED  /* somebody did */
} el_waiters_answer_t;

/*
 * Enters with the encoding of that name. Where another thread is at it, waits. Where that has taken
 * `usec` µs of CPU time, more than it is expected to take, one of those who wait encodes it too: a
 * thread that only gets no CPU is no reason to want more of it. With 0 µs nobody waits.
 */
el_waiters_answer_t el_waiters_enter(el_waiters_t *waiters, const el_name_t *name, uint64_t usec);

/* How many wait for what the caller encodes, or another with it. */
unsigned el_waiters_count(const el_waiters_t *waiters);

/* Leaves, if nobody waits; true where somebody does: then what was made is handed over first. */
bool el_waiters_leave_unless_awaited(el_waiters_t *waiters);

/* Leaves the place, where there is one; those who wait go on. */
void el_waiters_leave(el_waiters_t *waiters);

#endif
