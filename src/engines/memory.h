/*
 * Large pieces of memory for encoders, which the system has back as soon as they are given up.
 *
 * malloc() keeps what was freed once: after the first large block it takes the next ones from its
 * heap, and holds on to twice as much as the largest. In each of some hundred processes that is
 * more than their encoders need.
 */
#ifndef ELASTIC_ENGINES_MEMORY_H
#define ELASTIC_ENGINES_MEMORY_H

#include <stddef.h>

/* Memory of at least `nbytes`, aligned as malloc() does, of any content; NULL where it is short. */
void *el_memory_acquire(size_t nbytes);

/* Gives up what el_memory_acquire() returned; NULL is allowed. */
void el_memory_release(void *memory);

/* Has the system take back what malloc() holds of freed blocks. */
void el_memory_trim(void);

#endif
