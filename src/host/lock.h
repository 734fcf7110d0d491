/*
 * A lock between the threads of several processes, in memory that they share. It survives whoever
 * dies while holding it, and nobody waits for it for long.
 */
#ifndef ELASTIC_HOST_LOCK_H
#define ELASTIC_HOST_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    pthread_mutex_t mutex;
} el_lock_t;

/* Makes the shared memory at `lock` a lock; false where the system has none of this kind. */
bool el_lock_init(el_lock_t *lock);

/*
 * Takes the lock. False where others have held it for `usec` µs: a process that was stopped keeps it
 * for as long. `*died` is whether its last holder ended without giving it back, so that what it
 * protects may be half done.
 */
bool el_lock_take(el_lock_t *lock, uint64_t usec, bool *died);

void el_lock_give(el_lock_t *lock);

#endif
