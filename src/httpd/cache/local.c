#define _XOPEN_SOURCE 700 /* pthread_condattr_setclock() */

#include "httpd/cache/local.h"

#include "host/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- local copies */

/* Slots for copies, in sets by name: one for each 4 KB of 4 MB. */
#define SETS 256
#define WAYS 4

/* One copy may take this part of the memory, so that a large one does not evict all others. */
#define PART 4

/* A copy; its bytes follow in memory. */
typedef struct {
    _Atomic uint32_t users; /* its slot is one of them */
    uint32_t stamp;
    bool asked; /* since the hand passed it */
    el_name_t name;
    el_entry_t entry; /* entry.data: the bytes that follow */
} copy_t;

static struct {
    pthread_mutex_t lock; /* not taken for releases, which signal handlers' cleanups may do */
    size_t most;
    _Atomic size_t nbytes; /* of all copies that are still in use */
    unsigned hand;         /* the next slot to consider for eviction */
    copy_t *slot[SETS * WAYS];
} copies = {.lock = PTHREAD_MUTEX_INITIALIZER};

void el_found_release(el_found_t *found)
{
    if (found->buffer) {
        found->release(found->buffer);
        found->buffer = NULL;
    }
}

static void local_release(void *buffer)
{
    copy_t *copy = buffer;

    if (copy && atomic_fetch_sub_explicit(&copy->users, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&copies.nbytes, sizeof(*copy) + copy->entry.nbytes,
                                  memory_order_relaxed);
        free(copy);
    }
}

/* The caller has counted itself in copy->users. */
static void local_find(copy_t *copy, el_found_t *found)
{
    found->entry = copy->entry;
    found->buffer = copy;
    found->release = local_release;
}

/* Returns the name's set; `*own` is the slot that has the name, or NULL. */
static copy_t **local_set(const el_name_t *name, copy_t ***own)
{
    uint32_t hash;
    copy_t **set;

    memcpy(&hash, name->hash, sizeof(hash));
    set = &copies.slot[(hash ^ name->coding) % SETS * WAYS];
    *own = NULL;
    for (int way = 0; way < WAYS; way++) {
        if (set[way] && memcmp(&set[way]->name, name, sizeof(*name)) == 0) {
            *own = &set[way];
        }
    }
    return set;
}

void el_local_open(size_t most)
{
    copies.most = most;
}

bool el_local_get(const el_name_t *name, el_local_stamp_t stamp, el_found_t *found)
{
    copy_t **slot, *copy = NULL;

    pthread_mutex_lock(&copies.lock);
    local_set(name, &slot);
    if (slot && stamp.now - (*slot)->stamp <= stamp.age) {
        copy = *slot;
        copy->asked = true;
        atomic_fetch_add_explicit(&copy->users, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&copies.lock);
    if (copy) {
        local_find(copy, found);
    }
    return copy != NULL;
}

/* Chooses a slot for the name: its own, a free one, or one that was not asked for. */
static copy_t **local_choose(const el_name_t *name)
{
    copy_t **chosen, **set = local_set(name, &chosen);

    for (int way = 0; !chosen && way < WAYS; way++) {
        if (!set[way]) {
            chosen = &set[way];
        }
    }
    for (int way = 0; !chosen && way < WAYS; way++) {
        chosen = set[way]->asked ? NULL : &set[way];
        set[way]->asked = false;
    }
    return chosen ? chosen : set;
}

/*
 * Evicts copies that were not asked for, in turn, until `nbytes` more fit. Returns false if copies
 * in use leave no room. The caller has the lock.
 */
static bool local_make_room(size_t nbytes)
{
    unsigned tries = 2 * SETS * WAYS;

    while (atomic_load_explicit(&copies.nbytes, memory_order_relaxed) + nbytes > copies.most) {
        copy_t **slot = &copies.slot[copies.hand++ % (SETS * WAYS)];

        if (tries-- == 0) {
            return false;
        }
        /* Evicting a copy that is being sent would free no memory yet. */
        if (!*slot || atomic_load_explicit(&(*slot)->users, memory_order_relaxed) > 1) {
            continue;
        }
        if ((*slot)->asked) {
            (*slot)->asked = false;
        } else {
            local_release(*slot);
            *slot = NULL;
        }
    }
    return true;
}

bool el_local_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found)
{
    size_t nbytes = sizeof(copy_t) + entry->nbytes;
    copy_t *copy = nbytes <= copies.most / PART ? malloc(nbytes) : NULL, *before = NULL;
    bool fits;

    if (!copy) {
        return false;
    }
    memcpy(copy + 1, entry->data, entry->nbytes);
    atomic_init(&copy->users, found ? 2 : 1);
    copy->stamp = now;
    copy->asked = false;
    copy->name = *name;
    copy->entry = *entry;
    copy->entry.data = (const uint8_t *)(copy + 1);

    pthread_mutex_lock(&copies.lock);
    fits = local_make_room(nbytes);
    if (fits) {
        copy_t **slot = local_choose(name);

        atomic_fetch_add_explicit(&copies.nbytes, nbytes, memory_order_relaxed);
        before = *slot;
        *slot = copy;
    }
    pthread_mutex_unlock(&copies.lock);
    local_release(before);
    if (!fits) {
        free(copy);
    } else if (found) {
        local_find(copy, found);
    }
    return fits;
}

/* --- waiting */

/* The most bodies encoded at the same time; a process seldom has more threads. */
#define SLOTS 64

/*
 * Another thread begins the same encoding if it takes this many times the expected CPU time: on a
 * busy machine several threads share each CPU.
 */
#define TURNS 4

/* µs to wait for two other encoders at most: the highest level takes that for 50 MB. */
#define PATIENCE 60000000u

#define NSEC_PER_SEC 1000000000u

typedef struct {
    unsigned encoders; /* threads that encode this body; 0: a free slot */
    el_name_t name;
    bool vain;        /* its last encoding was not usable; remembered while free */
    unsigned round;   /* counts the threads that left */
    unsigned waiting; /* threads that wait in this round */
    bool succeeded;   /* a waiting thread is chosen to encode next, or does */
    pthread_cond_t left;
} slot_t;

/* The lock only protects look-ups in the table, never an encoding. */
static struct {
    pthread_mutex_t lock;
    slot_t slot[SLOTS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Called once. Uses the monotonic clock, because the calendar may be set during a wait. */
static void waiters_prepare(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (unsigned i = 0; i < SLOTS; i++) {
        pthread_cond_init(&table.slot[i].left, &attributes);
    }
    pthread_condattr_destroy(&attributes);
}

/* Returns the name's slot; else a free one, preferably without memory of a body; or NULL. */
static slot_t *waiters_find(const el_name_t *name, bool *own)
{
    slot_t *unused = NULL;

    *own = false;
    for (unsigned i = 0; i < SLOTS && !*own; i++) {
        slot_t *slot = &table.slot[i];

        *own = (slot->encoders > 0 || slot->vain) && memcmp(&slot->name, name, sizeof(*name)) == 0;
        if (*own || (slot->encoders == 0 && (!unused || unused->vain))) {
            unused = slot;
        }
    }
    return unused;
}

/* Waits until a thread leaves the slot. Returns false if none has after `usec` µs. */
static bool waiters_wait(slot_t *slot, uint64_t usec)
{
    uint64_t until = el_clock_nsec() + usec * 1000;
    struct timespec end = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC)};
    unsigned round = slot->round;
    int error = 0;

    slot->waiting++;
    while (slot->round == round && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&slot->left, &table.lock, &end);
    }
    if (slot->round != round) {
        return true; /* the thread that left has reset `waiting` */
    }
    slot->waiting--;
    return false;
}

el_waiters_answer_t el_waiters_enter(el_waiters_t *waiters, const el_name_t *name, uint64_t usec)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    el_waiters_answer_t answer = EL_WAITERS_ENCODE;
    bool own, takes_place = false;
    slot_t *slot;

    pthread_once(&once, waiters_prepare);
    pthread_mutex_lock(&table.lock);
    slot = waiters_find(name, &own);
    if (slot && !own) {
        slot->name = *name;
        slot->succeeded = slot->vain = false;
        takes_place = true;
    } else if (slot && !slot->vain && usec == 0) {
        answer = EL_WAITERS_BUSY;
    } else if (slot && !slot->vain) {
        bool is_next = !slot->succeeded;

        slot->succeeded = true;
        if (!waiters_wait(slot, usec * TURNS + (is_next ? 0 : PATIENCE))) {
            takes_place = is_next;
        } else if (!slot->vain || memcmp(&slot->name, name, sizeof(*name)) != 0) {
            answer = EL_WAITERS_PASSED;
        }
    }
    if (takes_place) {
        slot->encoders++;
        *waiters = (el_waiters_t){.encodes = true, .slot = (unsigned)(slot - table.slot)};
    }
    pthread_mutex_unlock(&table.lock);
    return answer;
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

bool el_waiters_leave(el_waiters_t *waiters, bool unless_awaited)
{
    slot_t *slot = &table.slot[waiters->slot];
    bool stays;

    if (!waiters->encodes) {
        return false;
    }
    pthread_mutex_lock(&table.lock);
    stays = unless_awaited && slot->waiting > 0;
    if (!stays) {
        slot->encoders--;
        slot->vain = slot->vain || waiters->vain;
        slot->round++;
        slot->waiting = 0;
        waiters->encodes = false;
        pthread_cond_broadcast(&slot->left);
    }
    pthread_mutex_unlock(&table.lock);
    return stays;
}
