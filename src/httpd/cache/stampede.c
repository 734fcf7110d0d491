#define _XOPEN_SOURCE 700 /* pthread_condattr_setclock() */

#include "httpd/cache/stampede.h"

#include "host/clock.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* Bodies that are encoded at the same time: a process has seldom more threads. */
#define SLOTS 64

/* µs after which those give up who wait for two that encode: the highest level takes that for 50 MB. */
#define PATIENCE 60000000u

/* µs between two looks at that CPU time, so that looking takes none. */
#define NAP 5000

#define NSEC_PER_SEC 1000000000u

typedef struct {
    unsigned encoders; /* threads that encode it; 0: the slot is free */
    el_name_t name;
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

/* The slot of that name; where there is none, one that is free, or NULL. */
static slot_t *find(const el_name_t *name)
{
    slot_t *unused = NULL;

    for (unsigned i = 0; i < SLOTS; i++) {
        slot_t *slot = &table.slot[i];

        if (slot->encoders > 0 && memcmp(&slot->name, name, sizeof(*name)) == 0) {
            return slot;
        }
        unused = unused || slot->encoders > 0 ? unused : slot;
    }
    return unused;
}

static uint64_t nsec_of(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void take_place(el_stampede_t *stampede, slot_t *slot)
{
    if (slot->encoders++ == 0) {
        pthread_getcpuclockid(pthread_self(), &slot->clock);
        slot->begun = nsec_of(slot->clock);
    }
    *stampede = (el_stampede_t){true, (unsigned)(slot - table.slot)};
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

static el_stampede_turn_t wait_for(el_stampede_t *stampede, slot_t *slot, uint64_t usec)
{
    unsigned round = slot->round;
    bool is_next = !slot->succeeded;

    if (usec == 0) {
        return EL_STAMPEDE_BUSY;
    }
    slot->succeeded = true;
    slot->waiting++;
    if (is_next ? wait_as_next(slot, round, usec) : wait_in(slot, round, usec + PATIENCE)) {
        return EL_STAMPEDE_PASSED;
    }
    slot->waiting--;
    if (is_next) {
        take_place(stampede, slot);
    }
    return EL_STAMPEDE_ENCODE;
}

el_stampede_turn_t el_stampede_enter(el_stampede_t *stampede, const el_name_t *name, uint64_t usec)
{
    el_stampede_turn_t turn = EL_STAMPEDE_ENCODE;
    slot_t *slot;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&table.lock);
    slot = find(name);
    if (slot && slot->encoders > 0) {
        turn = wait_for(stampede, slot, usec);
    } else if (slot) {
        slot->name = *name;
        slot->succeeded = false;
        take_place(stampede, slot);
    }
    pthread_mutex_unlock(&table.lock);
    return turn;
}

static void leave(el_stampede_t *stampede)
{
    slot_t *slot = &table.slot[stampede->slot];

    slot->encoders--;
    slot->round++;
    slot->waiting = 0;
    stampede->encodes = false;
    pthread_cond_broadcast(&slot->left);
}

unsigned el_stampede_waiting(const el_stampede_t *stampede)
{
    unsigned waiting = 0;

    if (stampede->encodes) {
        pthread_mutex_lock(&table.lock);
        waiting = table.slot[stampede->slot].waiting;
        pthread_mutex_unlock(&table.lock);
    }
    return waiting;
}

bool el_stampede_is_awaited(el_stampede_t *stampede)
{
    bool is_awaited = false;

    if (stampede->encodes) {
        pthread_mutex_lock(&table.lock);
        is_awaited = table.slot[stampede->slot].waiting > 0;
        if (!is_awaited) {
            leave(stampede);
        }
        pthread_mutex_unlock(&table.lock);
    }
    return is_awaited;
}

void el_stampede_leave(el_stampede_t *stampede)
{
    if (stampede->encodes) {
        pthread_mutex_lock(&table.lock);
        leave(stampede);
        pthread_mutex_unlock(&table.lock);
    }
}
