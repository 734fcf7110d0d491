/*
 * What this process's bodies in flight may hold: accounts of contexts, decodings and buffers, which
 * are counted together with those of all other processes, and memory that is charged to them. What
 * the pool keeps idle is not in flight. Any thread; an account is used by one thread at a time.
 */
#ifndef ELASTIC_ENGINES_BUDGET_H
#define ELASTIC_ENGINES_BUDGET_H

#include "elastic/engine.h"
#include "elastic/lockfree.h"

/*
 * In this process, before its threads start: counts in `held`, up to `most` bytes; with
 * `only_requests` of request bodies alone. Until then, and with NULL, nothing is counted and
 * nothing refused. A copy that the process forks counts nothing: it may run the cleanups of what is
 * still in use here.
 */
void el_budget_open(el_in_flight_t *held, uint64_t most, bool only_requests);

/* Charges `nbytes` to an account. False, where it may not: then nothing has changed. */
bool el_budget_take(el_account_t *account, size_t nbytes);

/* Takes `nbytes` off the account. */
void el_budget_give(el_account_t *account, size_t nbytes);

/* What was idle is in use again. False, where it may not: then it stays idle. */
bool el_budget_wake(el_account_t *account);

/* What was in use is idle. */
void el_budget_rest(el_account_t *account);

/* Whether something was refused in this thread since the last call. */
bool el_budget_take_refusal(void);

/*
 * Large pieces of memory for encoders go back to the system as soon as they are freed. malloc()
 * keeps what was freed once: after the first large block it takes the next ones from its heap, and
 * keeps up to twice as much as the largest. In each of some hundred processes that is more than
 * their encoders need.
 */

/*
 * Memory of at least `nbytes`, aligned as malloc() does, of any content, charged to the
 * el_account_t `account`; NULL where it is short. This and the next function are what libraries
 * call that are handed an allocator.
 */
void *el_memory_acquire(void *account, size_t nbytes);

/* Frees what el_memory_acquire() returned for the same account; NULL is allowed. */
void el_memory_release(void *account, void *memory);

/*
 * Zeroed memory of `nbytes` for a structure that begins with an el_context_t, charged to its
 * account; NULL where it is short.
 */
void *el_context_allocate(size_t nbytes);

/* Frees it, and takes all that is left off its account. */
void el_context_deallocate(el_context_t *context);

/* Returns to the system what malloc() keeps of freed blocks. */
void el_memory_trim(void);

#endif
