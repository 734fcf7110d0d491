/*
 * Large pieces of memory for encoders, which go back to the system as soon as they are freed.
 *
 * malloc() keeps what was freed once: after the first large block it takes the next ones from its
 * heap, and keeps up to twice as much as the largest. In each of some hundred processes that is
 * more than their encoders need.
 */
#ifndef ELASTIC_ENGINES_MEMORY_H
#define ELASTIC_ENGINES_MEMORY_H

#include <stddef.h>

/* Memory of at least `nbytes`, aligned as malloc() does, of any content; NULL where it is short. */
void *el_memory_acquire(size_t nbytes);

/*
 * Frees what el_memory_acquire() returned; NULL is allowed. The first argument is not used: with it
 * the function is what libraries call that are handed an allocator.
 */
void el_memory_release(void *opaque, void *memory);

/* Returns to the system what malloc() keeps of freed blocks. */
void el_memory_trim(void);

#endif
