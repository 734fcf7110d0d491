/*
 * The pool: contexts and buffers that are kept from one body to the next, one pool for each
 * process.
 *
 * It gives out first what came back last, whose pages are still in the CPU's caches. What is kept
 * has a limit; what nobody asked for in a while is given back to the system. All functions may be
 * called from any thread and none of them waits for another: where a part of the pool is busy, the
 * next serves, and in the end malloc().
 */
#ifndef ELASTIC_ENGINES_POOL_H
#define ELASTIC_ENGINES_POOL_H

#include "elastic/engine.h"

/*
 * A context of the plan's engine that has begun its setup's body, kept or new; NULL where memory is
 * short. It belongs to the caller, who gives it back in whatever state it is in.
 */
el_context_t *el_pool_acquire(const el_plan_t *plan);

/* Takes a context back; NULL is allowed. */
void el_pool_release(el_context_t *context);

/*
 * A buffer of at least `nbytes`, of unknown content, and what it really holds; NULL where memory is
 * short.
 */
void *el_pool_buffer_acquire(size_t nbytes, size_t *held);

/* Takes a buffer back, by the pointer that el_pool_buffer_acquire() returned; NULL is allowed. */
void el_pool_buffer_release(void *buffer);

/*
 * How many bytes may be kept, from now on. What is kept beyond it goes with the next that comes
 * back. 0 keeps nothing.
 */
void el_pool_limit(size_t nbytes);

/*
 * The limit of a process that `nbytes` are for, of what its server may keep; `threads` where more
 * than one thread of it encodes. Some hundred KB are kept in any case.
 */
void el_pool_share(size_t nbytes, bool threads);

/*
 * Bytes of the largest body that is to be encoded whole in this process. Its input and its output
 * take buffers that streams do without: where shares are small they would be most of the memory.
 */
size_t el_pool_whole(void);

/* Ages that something is kept without being asked for. */
#define EL_POOL_AGES 6

/*
 * Lets the pool grow older by one age, and frees what has not been asked for in EL_POOL_AGES of
 * them. Called every ten seconds it keeps nothing for more than a minute.
 */
void el_pool_age(void);

/* Bytes kept now, contexts and buffers, without those that are in use. */
size_t el_pool_kept(void);

/* Frees all that is kept, as at the end of a test. */
void el_pool_drain(void);

#endif
