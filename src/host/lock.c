#define _POSIX_C_SOURCE 200809L

#include "host/lock.h"

#include "host/clock.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

/* As often the CPU is left to the holder, which needs microseconds, before this thread sleeps. */
#define YIELDS 8

/* Nanoseconds of a sleep. */
#define NAP 50000

bool el_lock_init(el_lock_t *lock)
{
    pthread_mutexattr_t attributes;
    bool made = pthread_mutexattr_init(&attributes) == 0;

    if (made) {
        made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0
               && pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0
               && pthread_mutex_init(&lock->mutex, &attributes) == 0;
        pthread_mutexattr_destroy(&attributes);
    }
    return made;
}

static void wait_a_little(unsigned turn)
{
    const struct timespec nap = {.tv_nsec = NAP};

    if (turn < YIELDS) {
        sched_yield();
    } else {
        nanosleep(&nap, NULL);
    }
}

/* Waiting with a limit goes by the calendar in most systems, which may be set meanwhile. */
bool el_lock_take(el_lock_t *lock, uint64_t usec, bool *died)
{
    int error = pthread_mutex_trylock(&lock->mutex);
    uint64_t until = error == EBUSY ? el_clock_usec() + usec : 0;

    for (unsigned turn = 0; error == EBUSY && el_clock_usec() < until; turn++) {
        wait_a_little(turn);
        error = pthread_mutex_trylock(&lock->mutex);
    }
    *died = error == EOWNERDEAD;
    if (*died) {
        pthread_mutex_consistent(&lock->mutex);
    }
    return error == 0 || *died;
}

void el_lock_give(el_lock_t *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}
