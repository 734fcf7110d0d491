/*
 * Things that the threads of one process share: local copies of entries, the waiting for an
 * encoding that another thread makes, and spare buffers and contexts.
 *
 * Knows no server. Any thread.
 */
#ifndef ELASTIC_CACHE_LOCAL_H
#define ELASTIC_CACHE_LOCAL_H

#include "elastic/entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Local copies are those entries of the store that this process used last, in its own memory. An
 * entry that is asked for often is then neither copied nor checked for each response, and not
 * looked up under the lock of all processes. Its bytes are sent from where they lie, and stay until
 * nobody sends them any more.
 *
 * A copy has a stamp. It is found only while the stamp is not older than the caller allows, so an
 * entry that another process has stored in its place is seen. The memory of all copies is bounded,
 * those included that are only being sent.
 */

/* An encoding that was found in the store, and the memory that it lies in. */
typedef struct {
    el_entry_t entry;              /* entry.data lies within `buffer` */
    void *buffer;                  /* NULL: given away, or nothing was found */
    void (*release)(void *buffer); /* may be called from any thread, once */
    uint64_t waited;               /* µs for other machines; 0 before a request's first name */
} el_found_t;

/* Releases the buffer, unless it was given away. */
void el_found_release(el_found_t *found);

/* When a copy was taken, in a count that grows: of changes, or of seconds. */
typedef struct {
    uint32_t now;
    uint32_t age; /* by how much a copy may be older */
} el_local_stamp_t;

/* In child_init: keeps `most` bytes at most. */
void el_local_open(size_t most);

/* Finds a copy. True: the caller owns `found`, and calls el_found_release(), or gives it away. */
bool el_local_get(const el_name_t *name, el_local_stamp_t stamp, el_found_t *found);

/*
 * Makes a copy of `entry`, which replaces that of the same name, and finds it unless `found` is
 * NULL. False if there is no room for it beside what is being sent, or memory is short.
 */
bool el_local_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found);

/*
 * Waiting. If many requests want the encoding of a new body, one thread of the process encodes it,
 * and the others wait. If it takes much longer than expected, one of those who wait encodes it too,
 * and no third: each would make all others slower.
 *
 * If the encoding cannot be handed over, because it is too large or not smaller than the body,
 * those who waited encode it at once, and for some time nobody waits for that body any more.
 */

/* A thread's place at an encoding; zeroed: it has none. */
typedef struct {
    bool encodes;  /* it is to encode the body, and then to leave the place */
    unsigned slot; /* of the process's table */
    bool vain;     /* set by the caller before it leaves: the encoding cannot be handed over */
} el_waiters_t;

typedef enum {
    EL_WAITERS_ENCODE, /* the caller is to encode it, and has a place unless all are taken */
    EL_WAITERS_BUSY,   /* another thread still encodes it */
    EL_WAITERS_PASSED  /* another thread has encoded it */
} el_waiters_answer_t;

/*
 * Enters with the encoding of that name. Waits if another thread is at it, which is expected to
 * take `usec` µs of CPU time; with 0 nobody waits.
 */
el_waiters_answer_t el_waiters_enter(el_waiters_t *waiters, const el_name_t *name, uint64_t usec);

/* How many threads wait for the encoding that the caller makes, or another with it. */
unsigned el_waiters_count(const el_waiters_t *waiters);

/*
 * Leaves the place, if there is one; those who wait go on. With `unless_awaited` it stays if
 * somebody waits, and returns true: the encoding is to be handed over first.
 */
bool el_waiters_leave(el_waiters_t *waiters, bool unless_awaited);

/*
 * Spares are a few pointers that a process keeps for the thread that needs one next: buffers and
 * contexts that are costly to make. Nobody waits.
 */

/* More threads than that seldom need one at the same time. */
#define EL_SPARES 8

/* Zeroed: none. */
typedef struct {
    void *_Atomic kept[EL_SPARES];
} el_spares_t;

/* Takes a spare, which is the caller's from now on; NULL: there is none. */
static inline void *el_spares_take(el_spares_t *spares)
{
    for (int i = 0; i < EL_SPARES; i++) {
        void *spare = atomic_load_explicit(&spares->kept[i], memory_order_relaxed);

        if (spare && atomic_compare_exchange_strong(&spares->kept[i], &spare, NULL)) {
            return spare;
        }
    }
    return NULL;
}

/* Keeps `spare`; false if there is no room: it stays the caller's. */
static inline bool el_spares_keep(el_spares_t *spares, void *spare)
{
    for (int i = 0; i < EL_SPARES; i++) {
        void *none = NULL;

        if (!atomic_load_explicit(&spares->kept[i], memory_order_relaxed)
            && atomic_compare_exchange_strong(&spares->kept[i], &none, spare)) {
            return true;
        }
    }
    return false;
}

#endif
