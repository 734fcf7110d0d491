/*
 * After a failure of what others serve, a growing time in which nobody calls it; then one caller
 * tries it.
 *
 * One word in shared memory, with the clock passed in: µs of a clock that all processes share.
 * Lock-free; any process, any thread.
 */
#ifndef ELASTIC_PAUSE_H
#define ELASTIC_PAUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The first pause, µs: a server that was late once, because one of the two machines was busy, is
 * missed for no longer than a page takes to load.
 */
#define EL_PAUSE_FIRST UINT64_C(100000)

/* The longest, µs: one call a minute is no load, and a minute no long time without a cache. */
#define EL_PAUSE_MOST UINT64_C(60000000)

/* Zeroed, there is none. */
typedef struct {
    _Atomic uint64_t word;
} el_pause_t;

typedef enum {
    EL_PAUSE_NONE, /* call it */
    EL_PAUSE_ON,   /* do not call it */
    EL_PAUSE_TRIAL /* the pause is over: this caller tries it, and says how that ended */
} el_pause_state_t;

/* What a call was made under: for the two functions below. */
typedef uint64_t el_pause_ticket_t;

/*
 * What to do at `now`. After a pause, one caller gets EL_PAUSE_TRIAL. While nothing is heard of its
 * trial, the next pause lasts, as if it had failed.
 */
el_pause_state_t el_pause_at(el_pause_t *pause, uint64_t now, el_pause_ticket_t *ticket);

/*
 * What was called with `ticket` failed by `now`: a pause, twice as long as the last one, of the µs
 * returned. 0 where another call's end was heard of since.
 */
uint64_t el_pause_failed(el_pause_t *pause, el_pause_ticket_t ticket, uint64_t now);

/* The trial with `ticket` worked: the pause is over. */
void el_pause_worked(el_pause_t *pause, el_pause_ticket_t ticket);

#endif
