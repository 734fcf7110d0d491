/*
 * Spares: a few pointers that a process keeps for whoever needs one next, such as buffers and
 * contexts that are costly to make. Any thread; nobody waits.
 */
#ifndef ELASTIC_STORE_SPARES_H
#define ELASTIC_STORE_SPARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* More threads than that seldom need one at the same time. */
#define EL_SPARES 8

/* Zeroed: none. */
typedef struct {
    void *_Atomic kept[EL_SPARES];
} el_spares_t;

/* One that is kept, which is the caller's from now on; NULL: there is none. */
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

/* Keeps `spare`; false where there is no room: it stays the caller's. */
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
