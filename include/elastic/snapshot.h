/*
 * A structure in memory that several processes share, written and read without a lock.
 *
 * It is stored as words, and a checksum of them beside. A reader gets a copy that some writer has
 * written whole, or none: where two wrote at the same time, or one died or was interrupted in its
 * middle, the checksum does not match. Nobody waits. Any process, any thread.
 *
 * The structure has no pointers. It is for what may be lost at times, since it begins anew.
 */
#ifndef ELASTIC_SNAPSHOT_H
#define ELASTIC_SNAPSHOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many words `type` takes. */
#define EL_SNAPSHOT_WORDS(type) ((sizeof(type) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/* Stores the `nbytes` at `data` in `words`, and their checksum in `checksum`. */
void el_snapshot_write(_Atomic uint64_t *words, _Atomic uint64_t *checksum, const void *data,
                       size_t nbytes);

/*
 * Copies `nbytes` to `data`. False where they are not what one writer wrote, or where nothing was
 * written since the memory was zeroed or cleared; `data` is then zeros.
 */
bool el_snapshot_read(const _Atomic uint64_t *words, const _Atomic uint64_t *checksum, void *data,
                      size_t nbytes);

/* Leaves nothing to be read. */
void el_snapshot_clear(_Atomic uint64_t *checksum);

#endif
