/*
 * Memory that processes share without a lock: snapshots, sums of memory held, and pauses after
 * failures. No one waits. Any process, any thread; times are passed in.
 */
#ifndef ELASTIC_LOCKFREE_H
#define ELASTIC_LOCKFREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A snapshot: a structure stored as words beside a checksum of them. A reader gets a copy that one
 * writer wrote whole, or none: if two writers overlapped or one died midway, the checksum does not
 * match.
 *
 * The structure has no pointers. Use it only for data that may be lost at times.
 */

/* The words of a snapshot of `type`. */
#define EL_SNAPSHOT_WORDS(type) ((sizeof(type) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/* Stores the `nbytes` at `data` in `words`, and their checksum. */
void el_snapshot_write(_Atomic uint64_t *words, _Atomic uint64_t *checksum, const void *data,
                       size_t nbytes);

/*
 * Copies `nbytes` to `data`. False, and zeros in `data`, if no single writer wrote them, or nothing
 * was written since the memory was zeroed or cleared.
 */
bool el_snapshot_read(const _Atomic uint64_t *words, const _Atomic uint64_t *checksum, void *data,
                      size_t nbytes);

/*
 * The memory of bodies in flight of all processes of a server: a sum, and the share of each
 * process, so that the memory of a killed process is taken off the sum.
 */

/*
 * Processes with a share of their own, 16 bytes each: four times httpd's default limit of prefork,
 * because processes of earlier generations may still run. Further ones count only in the sum.
 */
#define EL_IN_FLIGHT_PROCESSES 1024

/* A process and its share. Zeroed: free. */
typedef struct {
    _Atomic uint32_t pid; /* 0: free; UINT32_MAX: being cleared */
    _Atomic int64_t nbytes;
} el_holder_t;

/* Zeroed: nothing is held. */
typedef struct {
    _Atomic int64_t nbytes; /* of all; off by a little if a process was killed while it counted */
    el_holder_t holder[EL_IN_FLIGHT_PROCESSES];
} el_in_flight_t;

/*
 * Registers the process `pid`, above 0, and returns its holder for its own use. Takes off what an
 * earlier process with that pid had held. NULL if there are too many processes.
 */
el_holder_t *el_in_flight_enter(el_in_flight_t *held, uint32_t pid);

/* Adds `nbytes` if the sum then is at most `most`; otherwise false. `holder` may be NULL. */
bool el_in_flight_take(el_in_flight_t *held, el_holder_t *holder, uint64_t nbytes, uint64_t most);

/* Adds `nbytes` without a limit; negative to give back. `holder` may be NULL. */
void el_in_flight_add(el_in_flight_t *held, el_holder_t *holder, int64_t nbytes);

/* Takes off what processes held for which `is_alive` returns false. */
void el_in_flight_forget(el_in_flight_t *held, bool (*is_alive)(uint32_t pid));

/* The sum. */
uint64_t el_in_flight_nbytes(const el_in_flight_t *held);

/*
 * A pause: after a failure of a remote service no one calls it for a time that doubles; then one
 * caller tries it. One word; times are µs of a clock that all processes share.
 */

/*
 * The first pause in µs. A server that was late once, because a machine was busy, is skipped for no
 * longer than a page takes to load.
 */
#define EL_PAUSE_FIRST UINT64_C(100000)

/* The longest pause in µs: one call a minute is no load, and a minute without a cache is short. */
#define EL_PAUSE_MOST UINT64_C(60000000)

/* Zeroed: no pause. */
typedef struct {
    _Atomic uint64_t word;
} el_pause_t;

typedef enum {
    EL_PAUSE_NONE, /* call the service */
    EL_PAUSE_ON,   /* do not call it */
    EL_PAUSE_TRIAL /* the pause is over: call it, and report the result */
} el_pause_state_t;

/* Identifies a call for the two functions below. */
typedef uint64_t el_pause_ticket_t;

/*
 * Tells the caller what to do at `now`. After a pause, one caller gets EL_PAUSE_TRIAL. The next
 * pause then begins at once, as if the trial had failed, until its result is reported.
 */
el_pause_state_t el_pause_at(el_pause_t *pause, uint64_t now, el_pause_ticket_t *ticket);

/*
 * Reports that the call with `ticket` failed at `now`. Begins a pause, twice as long as the last
 * one, and returns its length in µs; 0 if another call has reported since.
 */
uint64_t el_pause_failed(el_pause_t *pause, el_pause_ticket_t ticket, uint64_t now);

/* Reports that the trial with `ticket` worked: ends the pause. */
void el_pause_worked(el_pause_t *pause, el_pause_ticket_t ticket);

#endif
