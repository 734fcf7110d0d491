#include "elastic/lockfree.h"

#include "bytes.h"

#include <stddef.h>
#include <string.h>

/* 0 marks zeroed memory, so no structure may have the checksum 0. */
static uint64_t lockfree_finished(uint64_t sum)
{
    return sum ? sum : 1;
}

/* Bytes in the next word. */
static size_t lockfree_part(size_t left)
{
    return left < sizeof(uint64_t) ? left : sizeof(uint64_t);
}

/*
 * The words need no order among them: the checksum detects every mixture. The last store releases
 * and the first load acquires, so that a reader that comes after a writer reads all of its words.
 */
void el_snapshot_write(_Atomic uint64_t *words, _Atomic uint64_t *checksum, const void *data,
                       size_t nbytes)
{
    uint64_t sum = EL_HASH_START;

    for (size_t at = 0; at < nbytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, (const char *)data + at, lockfree_part(nbytes - at));
        atomic_store_explicit(words++, word, memory_order_relaxed);
        sum = el_hash_mix(sum, word);
    }
    atomic_store_explicit(checksum, lockfree_finished(sum), memory_order_release);
}

bool el_snapshot_read(const _Atomic uint64_t *words, const _Atomic uint64_t *checksum, void *data,
                      size_t nbytes)
{
    uint64_t expected = atomic_load_explicit(checksum, memory_order_acquire);
    uint64_t sum = EL_HASH_START;

    for (size_t at = 0; at < nbytes; at += sizeof(uint64_t)) {
        uint64_t word = atomic_load_explicit(words++, memory_order_relaxed);

        memcpy((char *)data + at, &word, lockfree_part(nbytes - at));
        sum = el_hash_mix(sum, word);
    }
    if (lockfree_finished(sum) != expected) {
        memset(data, 0, nbytes);
        return false;
    }
    return true;
}

#define BEING_CLEARED UINT32_MAX

/* Only one of several callers that find the holder with `pid` clears it. */
static void lockfree_clear_holder(el_in_flight_t *held, el_holder_t *holder, uint32_t pid)
{
    if (atomic_compare_exchange_strong(&holder->pid, &pid, BEING_CLEARED)) {
        atomic_fetch_sub(&held->nbytes, atomic_exchange(&holder->nbytes, 0));
        atomic_store(&holder->pid, 0);
    }
}

el_holder_t *el_in_flight_enter(el_in_flight_t *held, uint32_t pid)
{
    for (size_t i = 0; i < EL_IN_FLIGHT_PROCESSES; i++) {
        lockfree_clear_holder(held, &held->holder[i], pid);
    }
    for (size_t i = 0; i < EL_IN_FLIGHT_PROCESSES; i++) {
        uint32_t nobody = 0;

        if (atomic_compare_exchange_strong(&held->holder[i].pid, &nobody, pid)) {
            return &held->holder[i];
        }
    }
    return NULL;
}

bool el_in_flight_take(el_in_flight_t *held, el_holder_t *holder, uint64_t nbytes, uint64_t most)
{
    int64_t now = atomic_load(&held->nbytes);

    do {
        uint64_t others = now > 0 ? (uint64_t)now : 0;

        if (others > most || nbytes > most - others) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&held->nbytes, &now, now + (int64_t)nbytes));
    if (holder) {
        atomic_fetch_add(&holder->nbytes, (int64_t)nbytes);
    }
    return true;
}

void el_in_flight_add(el_in_flight_t *held, el_holder_t *holder, int64_t nbytes)
{
    atomic_fetch_add(&held->nbytes, nbytes);
    if (holder) {
        atomic_fetch_add(&holder->nbytes, nbytes);
    }
}

void el_in_flight_forget(el_in_flight_t *held, bool (*is_alive)(uint32_t pid))
{
    for (size_t i = 0; i < EL_IN_FLIGHT_PROCESSES; i++) {
        uint32_t pid = atomic_load(&held->holder[i].pid);

        if (pid != 0 && pid != BEING_CLEARED && !is_alive(pid)) {
            lockfree_clear_holder(held, &held->holder[i], pid);
        }
    }
}

uint64_t el_in_flight_nbytes(const el_in_flight_t *held)
{
    int64_t now = atomic_load(&held->nbytes);

    return now > 0 ? (uint64_t)now : 0;
}

/* The word: the number of pauses in a row, and above it the end of the last one. */
#define COUNT_BITS 8
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

/* The longest pause is reached before this count. */
#define COUNT_MOST 16

static uint64_t lockfree_length_of(uint64_t count)
{
    uint64_t length = EL_PAUSE_FIRST << (count - 1);

    return length < EL_PAUSE_MOST ? length : EL_PAUSE_MOST;
}

el_pause_state_t el_pause_at(el_pause_t *pause, uint64_t now, el_pause_ticket_t *ticket)
{
    uint64_t word = atomic_load_explicit(&pause->word, memory_order_relaxed);
    uint64_t count, trial;

    *ticket = word;
    if (word == 0) {
        return EL_PAUSE_NONE;
    }
    if (now < word >> COUNT_BITS) {
        return EL_PAUSE_ON;
    }
    count = word & COUNT_MASK;
    count += count < COUNT_MOST;
    trial = (now + lockfree_length_of(count)) << COUNT_BITS | count;
    if (!atomic_compare_exchange_strong(&pause->word, &word, trial)) {
        return EL_PAUSE_ON;
    }
    *ticket = trial;
    return EL_PAUSE_TRIAL;
}

uint64_t el_pause_failed(el_pause_t *pause, el_pause_ticket_t ticket, uint64_t now)
{
    /* el_pause_at() has counted a trial already, in case it is never reported. */
    uint64_t count = ticket ? ticket & COUNT_MASK : 1;
    uint64_t length = lockfree_length_of(count);

    return atomic_compare_exchange_strong(&pause->word, &ticket,
                                          (now + length) << COUNT_BITS | count)
               ? length
               : 0;
}

void el_pause_worked(el_pause_t *pause, el_pause_ticket_t ticket)
{
    atomic_compare_exchange_strong(&pause->word, &ticket, 0);
}
