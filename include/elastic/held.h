/*
 * What bodies in flight hold, of all processes of a server together: a sum, and what each process
 * has of it, so that what a killed one held does not count for ever.
 *
 * Lock-free; any process, any thread.
 */
#ifndef ELASTIC_HELD_H
#define ELASTIC_HELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * So many processes are told apart, with 16 bytes each: four times httpd's default limit of prefork,
 * because those of the generations before may still be there. Further ones only count in the sum.
 */
#define EL_HELD_PROCESSES 1024

/* A process. Zeroed, nobody's. */
typedef struct {
    _Atomic uint32_t pid; /* 0: nobody; UINT32_MAX: being cleared */
    _Atomic int64_t nbytes;
} el_holder_t;

/* Zeroed, nobody holds anything. */
typedef struct {
    _Atomic int64_t nbytes; /* of all; where a process was killed while it counted, off by that */
    el_holder_t holder[EL_HELD_PROCESSES];
} el_held_t;

/*
 * The holder of the process `pid`, above 0, for its own use. What another process of that number
 * had held counts no longer. NULL where there are too many processes.
 */
el_holder_t *el_held_enter(el_held_t *held, uint32_t pid);

/* Takes `nbytes`, if all processes then hold `most` at most; otherwise false. NULL: no holder. */
bool el_held_take(el_held_t *held, el_holder_t *holder, uint64_t nbytes, uint64_t most);

/* Adds `nbytes`, below 0 to give back, whatever is held. */
void el_held_add(el_held_t *held, el_holder_t *holder, int64_t nbytes);

/* Forgets what the processes held of which `is_alive` says that they are gone. */
void el_held_forget(el_held_t *held, bool (*is_alive)(uint32_t pid));

/* Bytes held by all. */
uint64_t el_held_nbytes(const el_held_t *held);

#endif
