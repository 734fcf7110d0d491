/*
 * Large pieces of memory for encoders, which go back to the system as soon as they are freed.
 *
 * malloc() keeps what was freed once: after the first large block it takes the next ones from its
 * heap, and keeps up to twice as much as the largest. In each of some hundred processes that is
 * more than their encoders need.
 */
#ifndef ELASTIC_ENGINES_MEMORY_H
#define ELASTIC_ENGINES_MEMORY_H

#include "elastic/engine.h"

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
