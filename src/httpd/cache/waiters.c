#define _XOPEN_SOURCE 700 /* pthread_condattr_setclock() */

#include "httpd/cache/waiters.h"

#include "host/process.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* Bodies that are encoded at the same time: a process has seldom more threads. */
#define SLOTS 64

/*
 * µs after which those give up who wait for two that encode: the highest level takes that for 50
 * MB.
 */
#define PATIENCE 60000000u

/* µs between two looks at that CPU time, so that looking takes none. */
#define NAP 5000

#define NSEC_PER_SEC 1000000000u

typedef struct {
    unsigned encoders; /* threads that encode it; 0: the slot is free */
    el_name_t name;
    bool vain;        /* what was last made of it could not be handed over: kept while it is free */
    unsigned round;   /* counts those who left */
    unsigned waiting; /* threads, of this round */
    bool succeeded;   /* one of them is the next to encode it, or does */
    clockid_t clock;  /* the CPU time of the thread that encodes it alone */
    uint64_t begun;   /* by that, in ns */
    pthread_cond_t left;
} slot_t;

/* Nothing is done under the lock but to look at the table. */
static struct {
    pthread_mutex_t lock;
    slot_t slot[SLOTS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The calendar may be set while somebody waits. */
static void prepare(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (unsigned i = 0; i < SLOTS; i++) {
        pthread_cond_init(&table.slot[i].left, &attributes);
    }
    pthread_condattr_destroy(&attributes);
}

static bool is_of(const slot_t *slot, const el_name_t *name)
{
    return memcmp(&slot->name, name, sizeof(*name)) == 0;
}

/* The slot of that name; where there is none, one that is free and best knows nothing, or NULL. */
static slot_t *find(const el_name_t *name)
{
    slot_t *unused = NULL;

    for (unsigned i = 0; i < SLOTS; i++) {
        slot_t *slot = &table.slot[i];

        if ((slot->encoders > 0 || slot->vain) && is_of(slot, name)) {
            return slot;
        }
        if (slot->encoders == 0 && (!unused || (unused->vain && !slot->vain))) {
            unused = slot;
        }
    }
    return unused;
}

static uint64_t nsec_of(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void take_place(el_waiters_t *waiters, slot_t *slot)
{
    if (slot->encoders++ == 0) {
        pthread_getcpuclockid(pthread_self(), &slot->clock);
        slot->begun = nsec_of(slot->clock);
    }
    *waiters = (el_waiters_t){.encodes = true, .slot = (unsigned)(slot - table.slot)};
}

/* Waits until somebody has left the `round`, or for `usec` µs; false after these. */
static bool wait_in(slot_t *slot, unsigned round, uint64_t usec)
{
    uint64_t until = el_clock_nsec() + usec * 1000;
    struct timespec end = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC)};
    int error = 0;

    while (slot->round == round && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&slot->left, &table.lock, &end);
    }
    return slot->round != round;
}

/* The same, of the one that is to encode it too: the CPU time of who is at it counts. */
static bool wait_as_next(slot_t *slot, unsigned round, uint64_t usec)
{
    uint64_t used = 0;

    while (used < usec) {
        if (wait_in(slot, round, usec - used < NAP ? NAP : usec - used)) {
            return true;
        }
        used = (nsec_of(slot->clock) - slot->begun) / 1000;
    }
    return false;
}

static el_waiters_answer_t wait_for(el_waiters_t *waiters, slot_t *slot, uint64_t usec)
{
    unsigned round = slot->round;
    bool is_next = !slot->succeeded;

    if (usec == 0) {
        return EL_WAITERS_BUSY;
    }
    slot->succeeded = true;
    slot->waiting++;
    if (is_next ? wait_as_next(slot, round, usec) : wait_in(slot, round, usec + PATIENCE)) {
        return EL_WAITERS_PASSED;
    }
    slot->waiting--;
    if (is_next) {
        take_place(waiters, slot);
    }
    return EL_WAITERS_ENCODE;
}

el_waiters_answer_t el_waiters_enter(el_waiters_t *waiters, const el_name_t *name, uint64_t usec)
{
    el_waiters_answer_t answer = EL_WAITERS_ENCODE;
    slot_t *slot;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&table.lock);
    slot = find(name);
    if (slot && slot->encoders > 0 && !slot->vain) {
        answer = wait_for(waiters, slot, usec);
        if (answer == EL_WAITERS_PASSED && slot->vain && is_of(slot, name)) {
            answer = EL_WAITERS_ENCODE;
        }
    } else if (slot && !(slot->vain && is_of(slot, name))) {
        slot->name = *name;
        slot->succeeded = slot->vain = false;
        take_place(waiters, slot);
    }
    pthread_mutex_unlock(&table.lock);
    return answer;
}

static void leave(el_waiters_t *waiters)
{
    slot_t *slot = &table.slot[waiters->slot];

    slot->encoders--;
    slot->vain = slot->vain || waiters->vain;
    slot->round++;
    slot->waiting = 0;
    waiters->encodes = false;
    pthread_cond_broadcast(&slot->left);
}

unsigned el_waiters_count(const el_waiters_t *waiters)
{
    unsigned waiting = 0;

    if (waiters->encodes) {
        pthread_mutex_lock(&table.lock);
        waiting = table.slot[waiters->slot].waiting;
        pthread_mutex_unlock(&table.lock);
    }
    return waiting;
}

bool el_waiters_leave_unless_awaited(el_waiters_t *waiters)
{
    bool is_awaited = false;

    if (waiters->encodes) {
        pthread_mutex_lock(&table.lock);
        is_awaited = table.slot[waiters->slot].waiting > 0;
        if (!is_awaited) {
            leave(waiters);
        }
        pthread_mutex_unlock(&table.lock);
    }
    return is_awaited;
}

void el_waiters_leave(el_waiters_t *waiters)
{
    if (waiters->encodes) {
        pthread_mutex_lock(&table.lock);
        leave(waiters);
        pthread_mutex_unlock(&table.lock);
    }
}
