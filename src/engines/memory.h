#ifndef ELASTIC_ENGINES_MEMORY_H
#define ELASTIC_ENGINES_MEMORY_H

#include "elastic/engine.h"
#include "elastic/lockfree.h"

/*
 * The memory of encoders and decoders: a budget for bodies in flight, and the pool of contexts and
 * buffers.
 *
 * Contexts, decodings and buffers have accounts, which the budget counts together with those of all
 * other processes. Those that the pool keeps idle are not in flight. Any thread; an account is used
 * by one thread at a time.
 */

/*
 * In this process, before its threads start: counts in `held`, up to `most` bytes; with
 * `only_requests` of request bodies alone. Until then, and with NULL, nothing is counted and
 * nothing refused. A copy that the process forks counts nothing: it may run the cleanups of what is
 * still in use here.
 */
void el_budget_open(el_in_flight_t *held, uint64_t most, bool only_requests);

/* Charges `nbytes` to an account. False, if it may not: then nothing has changed. */
bool el_budget_take(el_account_t *account, size_t nbytes);

/* Takes `nbytes` off the account. */
void el_budget_give(el_account_t *account, size_t nbytes);

/* An idle account is in use again. False, if it may not: then it stays idle. */
bool el_budget_wake(el_account_t *account);

/* An account that was in use is idle. */
void el_budget_rest(el_account_t *account);

/* True if something was refused in this thread since the last call. */
bool el_budget_take_refusal(void);

/*
 * Large pieces of memory for encoders go back to the system as soon as they are freed. malloc()
 * keeps what was freed once: after the first large block it takes the next ones from its heap, and
 * keeps up to twice as much as the largest. In each of some hundred processes that is more than
 * their encoders need.
 */

/*
 * Memory of at least `nbytes`, aligned as malloc() does, of any content, charged to the
 * el_account_t `account`; NULL if it is short. This and the next function are what libraries
 * call that are handed an allocator.
 */
void *el_memory_acquire(void *account, size_t nbytes);

/* Frees what el_memory_acquire() returned for the same account; NULL is allowed. */
void el_memory_release(void *account, void *memory);

/*
 * Zeroed memory of `nbytes` for a structure that begins with an el_context_t, charged to its
 * account; NULL if it is short.
 */
void *el_context_allocate(size_t nbytes);

/* Frees it, and takes all that is left off its account. */
void el_context_deallocate(el_context_t *context);

/* Returns to the system what malloc() keeps of freed blocks. */
void el_memory_trim(void);

/*
 * The pool of this process: contexts and buffers that are kept from one body to the next, up to a
 * limit, and freed if nobody asks for them in a while. The last one released is acquired first: its
 * pages are still in the CPU's caches. All functions may be called from any thread, and from a
 * signal handler as far as malloc() may. None waits for more than some microseconds: if the pool
 * stays busy, contexts and buffers are made anew, and freed when they are released.
 */

/*
 * A context of the plan's engine, kept or new, that was reset to the plan's setup; NULL if
 * memory is short, or bodies in flight may hold no more. The caller owns it, and
 * releases it in whatever state it is in.
 */
el_context_t *el_pool_acquire(const el_plan_t *plan);

/* Takes over a context, to keep it or free it; NULL is allowed. */
void el_pool_release(el_context_t *context);

/*
 * A buffer of at least `nbytes`, of any content, and in `*room` the bytes that it has; NULL as
 * above. The caller releases it.
 */
void *el_pool_buffer_acquire(size_t nbytes, size_t *room);

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
