/*
 * Resources that the threads of a process share: local copies of entries, waiting for another
 * thread's encoding, and spare objects. Does not depend on httpd. Any thread.
 */
#ifndef ELASTIC_CACHE_LOCAL_H
#define ELASTIC_CACHE_LOCAL_H

#include "elastic/entry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Local copies are the entries that this process used last, in its own memory. A popular entry is
 * then not copied, checked and looked up under the lock of all processes for each response. Its
 * bytes are sent from where they are, and stay until nobody sends them.
 *
 * Each copy has a stamp, and is found only while the stamp is not older than the caller allows: so
 * a process notices that another one has replaced the entry. The memory of all copies is bounded,
 * including those that are only still being sent.
 */

/* An entry that was found, and its memory. */
typedef struct {
    el_entry_t entry;              /* entry.data is inside `buffer` */
    void *buffer;                  /* NULL: nothing was found, or given away */
    void (*release)(void *buffer); /* any thread may call it, once */
    uint64_t waited;               /* µs spent waiting for other machines; starts at 0 */
} el_found_t;

/* Releases the buffer, unless it was given away. */
void el_found_release(el_found_t *found);

/* The time of a copy: a count of changes, or seconds. */
typedef struct {
    uint32_t now;
    uint32_t age; /* the greatest age of a copy */
} el_local_stamp_t;

/* In child_init: sets the memory for copies to `most` bytes. */
void el_local_open(size_t most);

/* Finds a copy. If true, the caller owns `found`, and calls el_found_release() or gives it away. */
bool el_local_get(const el_name_t *name, el_local_stamp_t stamp, el_found_t *found);

/*
 * Copies `entry`, replacing a copy of the same name, and finds it unless `found` is NULL. False if
 * the copies being sent leave no room, or memory is short.
 */
bool el_local_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found);

/*
 * If many requests want the encoding of a new body, one thread of the process encodes it, and the
 * others wait. If it takes much longer than expected, one waiting thread encodes it too, but no
 * third, because each would slow down all others.
 *
 * If the encoding is unusable, because it is too large or not smaller than the body, the waiting
 * threads encode at once, and for some time no thread waits for this body.
 */

/* A thread's registration as the encoder of a body; zeroed: none. */
typedef struct {
    bool encodes;  /* it encodes the body, and must leave afterwards */
    unsigned slot; /* in the process's table */
    bool vain;     /* set it before leaving: the encoding is unusable */
} el_waiters_t;

typedef enum {
    EL_WAITERS_ENCODE, /* the caller encodes; registered unless the table is full */
    EL_WAITERS_BUSY,   /* another thread is still encoding */
    EL_WAITERS_PASSED  /* another thread has finished */
} el_waiters_answer_t;

/*
 * Asks to encode the body of that name. If another thread is encoding it, waits; `usec` is the
 * expected CPU time in µs. With 0, does not wait.
 */
el_waiters_answer_t el_waiters_enter(el_waiters_t *waiters, const el_name_t *name, uint64_t usec);

/* The number of threads that wait for this encoding. */
unsigned el_waiters_count(const el_waiters_t *waiters);

/*
 * Ends the registration, if any, and wakes the waiting threads. With `unless_awaited`, stays
 * registered if any thread waits, and returns true: publish the encoding first, then leave.
 */
bool el_waiters_leave(el_waiters_t *waiters, bool unless_awaited);

/*
 * A few pointers that a process keeps for the next thread that needs one: buffers and contexts that
 * are costly to make. No thread waits for them.
 */

/* More threads seldom need one at the same time. */
#define EL_SPARES 8

/* Zeroed: empty. */
typedef struct {
    void *_Atomic kept[EL_SPARES];
} el_spares_t;

/* Takes a spare, which the caller then owns; NULL if there is none. */
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

/* Keeps `spare`. If there is no room, returns false, and the caller still owns it. */
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
