#include "elastic/held.h"

#include <stddef.h>

#define BEING_CLEARED UINT32_MAX

/* Only one of those who find the holder with `pid` clears it. */
static void clear(el_held_t *held, el_holder_t *holder, uint32_t pid)
{
    if (atomic_compare_exchange_strong(&holder->pid, &pid, BEING_CLEARED)) {
        atomic_fetch_sub(&held->nbytes, atomic_exchange(&holder->nbytes, 0));
        atomic_store(&holder->pid, 0);
    }
}

el_holder_t *el_held_enter(el_held_t *held, uint32_t pid)
{
    for (size_t i = 0; i < EL_HELD_PROCESSES; i++) {
        clear(held, &held->holder[i], pid);
    }
    for (size_t i = 0; i < EL_HELD_PROCESSES; i++) {
        uint32_t nobody = 0;

        if (atomic_compare_exchange_strong(&held->holder[i].pid, &nobody, pid)) {
            return &held->holder[i];
        }
    }
    return NULL;
}

bool el_held_take(el_held_t *held, el_holder_t *holder, uint64_t nbytes, uint64_t most)
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

void el_held_add(el_held_t *held, el_holder_t *holder, int64_t nbytes)
{
    atomic_fetch_add(&held->nbytes, nbytes);
    if (holder) {
        atomic_fetch_add(&holder->nbytes, nbytes);
    }
}

void el_held_forget(el_held_t *held, bool (*is_alive)(uint32_t pid))
{
    for (size_t i = 0; i < EL_HELD_PROCESSES; i++) {
        uint32_t pid = atomic_load(&held->holder[i].pid);

        if (pid != 0 && pid != BEING_CLEARED && !is_alive(pid)) {
            clear(held, &held->holder[i], pid);
        }
    }
}

uint64_t el_held_nbytes(const el_held_t *held)
{
    int64_t now = atomic_load(&held->nbytes);

    return now > 0 ? (uint64_t)now : 0;
}
