#ifndef ELASTIC_ENGINES_MEMORY_H
#define ELASTIC_ENGINES_MEMORY_H

#include "elastic/engine.h"
#include "elastic/lockfree.h"

/*
 * The memory of encoders and decoders: a budget for bodies in flight, and the pool of contexts and
 * buffers.
 *
 * Each context, decoding and buffer has an account. The budget counts them over all processes,
 * except for those that the pool keeps idle. Any thread; one thread at a time uses an account.
 */

/*
 * Starts counting in `held`, up to `most` bytes; with `only_requests`, only memory for request
 * bodies. Call it before this process starts threads. Before, and with NULL, nothing is counted or
 * refused. A forked child counts nothing: it may run cleanups of bodies that this process still
 * has.
 */
void el_budget_open(el_in_flight_t *held, uint64_t most, bool only_requests);

/* Charges `nbytes` to an account. False, and no change, if the budget refuses it. */
bool el_budget_take(el_account_t *account, size_t nbytes);

/* Takes `nbytes` off the account. */
void el_budget_give(el_account_t *account, size_t nbytes);

/* Marks an idle account as in use. False, and no change, if the budget refuses it. */
bool el_budget_wake(el_account_t *account);

/* Marks an account as idle. */
void el_budget_rest(el_account_t *account);

/* True if the budget refused something in this thread since the last call. */
bool el_budget_take_refusal(void);

/*
 * Large blocks for encoders are mapped, so that freeing returns them to the system. malloc() raises
 * its threshold for mapping when a large block is freed: later ones come from its heap, which keeps
 * up to twice the largest. In each of some hundred processes that is more than their encoders need.
 */

/*
 * Allocates `nbytes`, uninitialized, aligned like malloc()'s memory, charged to the el_account_t
 * `account`. NULL if memory is short. Signatures as libraries want them of an allocator.
 */
void *el_memory_acquire(void *account, size_t nbytes);

/* Frees memory of the same account; NULL is allowed. */
void el_memory_release(void *account, void *memory);

/*
 * Allocates a zeroed structure of `nbytes` that begins with an el_context_t, charged to its
 * account. NULL if memory is short.
 */
void *el_context_allocate(size_t nbytes);

/* Frees it, with everything still charged to its account. */
void el_context_deallocate(el_context_t *context);

/* Returns freed memory that malloc() keeps to the system. */
void el_memory_trim(void);

/*
 * The pool of this process: contexts and buffers kept from one body to the next, up to a limit, and
 * freed when they have not been used for a while. The last one released is reused first, because
 * its pages are still in the CPU's caches. All functions: any thread, and signal handlers as far as
 * malloc() allows it. None waits for more than some microseconds: if the pool is busy, contexts and
 * buffers are created, and freed on release.
 */

/*
 * A context of the plan's engine, reset to the plan's setup. NULL if memory is short, or the budget
 * refuses it. The caller owns it and may release it in any state.
 */
el_context_t *el_pool_acquire(const el_plan_t *plan);

/* Takes over a context; NULL is allowed. */
void el_pool_release(el_context_t *context);

/* An uninitialized buffer of at least `nbytes`; `*room` is its size. NULL, owner: as above. */
void *el_pool_buffer_acquire(size_t nbytes, size_t *room);

/* Takes over a buffer; NULL is allowed. */
void el_pool_buffer_release(void *buffer);

/*
 * Sets the bytes that may be kept, from the next release on; 0 keeps nothing. Memory kept already
 * stays until it is used, or has not been used for a while.
 */
void el_pool_limit(size_t nbytes);

/*
 * Sets the limit, at least 640 KB, and the largest whole body of a process whose share of its
 * server's memory is `nbytes`. `threads`: several of its threads encode.
 */
void el_pool_share(size_t nbytes, bool threads);

/*
 * Bytes of the largest body to encode whole in this process. A whole body needs buffers for input
 * and output, unlike a stream; with a small share they would take most of it.
 */
size_t el_pool_whole(void);

/* Ages for which unused memory is kept. */
#define EL_POOL_AGES 6

/*
 * Ends an age, and frees everything that was not used in the last EL_POOL_AGES. Called every ten
 * seconds, it frees memory after a minute of idleness.
 */
void el_pool_age(void);

/* Bytes kept by the pool, without contexts and buffers in use. */
size_t el_pool_nbytes(void);

/* Frees everything kept, as at the end of a test. */
void el_pool_drain(void);

#endif
