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
void *el_spares_take(el_spares_t *spares);

/* Keeps `spare`; false where there is no room: it stays the caller's. */
bool el_spares_keep(el_spares_t *spares, void *spare);

#endif
