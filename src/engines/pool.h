/*
 * The pool: contexts and buffers that are kept from one body to the next, one pool for each
 * process.
 *
 * What was released last is acquired first: its pages are still in the CPU's caches. What is kept
 * has a limit, and what has not been asked for in a while is freed. All functions may be called
 * from any thread, and from a signal handler as far as malloc() may; none waits for another for
 * more than some microseconds. Where the pool stays busy for longer, contexts and buffers are made
 * anew, and freed when they are released.
 */
#ifndef ELASTIC_ENGINES_POOL_H
#define ELASTIC_ENGINES_POOL_H

#include "elastic/engine.h"

/*
 * A context of the plan's engine, kept or new, that was reset to the plan's setup; NULL where
 * memory is short, or bodies in flight may hold no more (engines/budget.h). The caller owns it, and
 * releases it in whatever state it is in.
 */
el_context_t *el_pool_acquire(const el_plan_t *plan);

/* Takes over a context, to keep it or free it; NULL is allowed. */
void el_pool_release(el_context_t *context);

/*
 * A buffer of at least `nbytes`, of any content, and in `*held` the bytes that it has; NULL as
 * above. The caller releases it.
 */
void *el_pool_buffer_acquire(size_t nbytes, size_t *held);

/* Takes over what el_pool_buffer_acquire() returned, to keep it or free it; NULL is allowed. */
void el_pool_buffer_release(void *buffer);

/*
 * How many bytes may be kept, of what is released from now on; 0 keeps nothing. What is kept
 * already stays until it is asked for, or has not been for a while.
 */
void el_pool_limit(size_t nbytes);

/*
 * Sets the limit, and the largest whole body, of a process whose share of its server's memory is
 * `nbytes`; `threads` where more than one of its threads encodes. The limit is 640 KB at least.
 */
void el_pool_share(size_t nbytes, bool threads);

/*
 * Bytes of the largest body that is to be encoded whole in this process. Such a body has buffers
 * for its input and its output, which a stream has not: with a small share they would be most of
 * the memory.
 */
size_t el_pool_whole(void);

/* Ages for which something is kept without being asked for. */
#define EL_POOL_AGES 6

/*
 * Ends an age, and frees what has not been asked for in the last EL_POOL_AGES. Called every ten
 * seconds it keeps nothing that is idle for more than a minute.
 */
void el_pool_age(void);

/* Bytes kept now, contexts and buffers, without those that are in use. */
size_t el_pool_nbytes(void);

/* Frees all that is kept, as at the end of a test. */
void el_pool_drain(void);

#endif
