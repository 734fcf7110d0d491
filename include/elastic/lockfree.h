/*
 * Memory that several processes share, used without a lock: snapshots, sums of what processes hold,
 * and pauses after failures. Nobody waits. Any process, any thread; times are passed in.
 */
#ifndef ELASTIC_LOCKFREE_H
#define ELASTIC_LOCKFREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A snapshot: a structure that is stored as words, and a checksum of them beside. A reader gets a
 * copy that some writer has written whole, or none: where two wrote at the same time, or one died
 * or was interrupted in its middle, the checksum does not match.
 *
 * The structure has no pointers. It is for what may be lost at times, since it begins anew.
 */

/* How many words `type` takes. */
#define EL_SNAPSHOT_WORDS(type) ((sizeof(type) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/* Stores the `nbytes` at `data` in `words`, and their checksum in `checksum`. */
void el_snapshot_write(_Atomic uint64_t *words, _Atomic uint64_t *checksum, const void *data,
                       size_t nbytes);

/*
 * Copies `nbytes` to `data`. False if they are not what one writer wrote, or if nothing was
 * written since the memory was zeroed or cleared; `data` is then zeros.
 */
bool el_snapshot_read(const _Atomic uint64_t *words, const _Atomic uint64_t *checksum, void *data,
                      size_t nbytes);

/*
 * The memory of bodies in flight, of all processes of a server together: a sum, and the share of
 * each process, so that a killed one does not count for ever.
 */

/*
 * Processes that are told apart, with 16 bytes each: four times httpd's default limit of prefork,
 * because those of the generations before may still be there. Further ones only count in the sum.
 */
#define EL_IN_FLIGHT_PROCESSES 1024

/* A process. Zeroed, nobody's. */
typedef struct {
    _Atomic uint32_t pid; /* 0: nobody; UINT32_MAX: being cleared */
    _Atomic int64_t nbytes;
} el_holder_t;

/* Zeroed, nobody holds anything. */
typedef struct {
    _Atomic int64_t nbytes; /* of all; if a process was killed while it counted, off by that */
    el_holder_t holder[EL_IN_FLIGHT_PROCESSES];
} el_in_flight_t;

/*
 * The holder of the process `pid`, above 0, for its own use. What another process of that number
 * had held counts no longer. NULL if there are too many processes.
 */
el_holder_t *el_in_flight_enter(el_in_flight_t *held, uint32_t pid);

/* Takes `nbytes`, if all processes then hold `most` at most; otherwise false. NULL: no holder. */
bool el_in_flight_take(el_in_flight_t *held, el_holder_t *holder, uint64_t nbytes, uint64_t most);

/* Adds `nbytes`, below 0 to give back, whatever is held. */
void el_in_flight_add(el_in_flight_t *held, el_holder_t *holder, int64_t nbytes);

/* Forgets what the processes held of which `is_alive` says that they are gone. */
void el_in_flight_forget(el_in_flight_t *held, bool (*is_alive)(uint32_t pid));

/* Bytes held by all. */
uint64_t el_in_flight_nbytes(const el_in_flight_t *held);

/*
 * A pause: after a failure of what others serve, a growing time in which nobody calls it; then one
 * caller tries it. One word; times are µs of a clock that all processes share.
 */

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

/* A call, for the two functions below. */
typedef uint64_t el_pause_ticket_t;

/*
 * Says what to do at `now`. After a pause, one caller gets EL_PAUSE_TRIAL. While nothing is heard
 * of its trial, the next pause lasts, as if it had failed.
 */
el_pause_state_t el_pause_at(el_pause_t *pause, uint64_t now, el_pause_ticket_t *ticket);

/*
 * The call with `ticket` failed by `now`: begins a pause, twice as long as the last one, of the µs
 * returned. 0 if another call's end was heard of since.
 */
uint64_t el_pause_failed(el_pause_t *pause, el_pause_ticket_t ticket, uint64_t now);

/* The trial with `ticket` worked: the pause is over. */
void el_pause_worked(el_pause_t *pause, el_pause_ticket_t ticket);

#endif
