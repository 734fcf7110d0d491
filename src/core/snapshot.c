#include "elastic/snapshot.h"

#include "bytes.h"

#include <string.h>

/* A checksum of 0 is that of zeroed memory, and of no structure. */
static uint64_t finished(uint64_t sum)
{
    return sum ? sum : 1;
}

/* How many of the bytes that are left the next word has. */
static size_t part(size_t left)
{
    return left < sizeof(uint64_t) ? left : sizeof(uint64_t);
}

/*
 * The words need no order among them: the checksum finds every mixture. The last store releases and
 * the first load acquires so that a reader that comes after a writer reads all of it.
 */
void el_snapshot_write(_Atomic uint64_t *words, _Atomic uint64_t *checksum, const void *data,
                       size_t nbytes)
{
    uint64_t sum = EL_HASH_START;

    for (size_t at = 0; at < nbytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, (const char *)data + at, part(nbytes - at));
        atomic_store_explicit(words++, word, memory_order_relaxed);
        sum = el_hash_mix(sum, word);
    }
    atomic_store_explicit(checksum, finished(sum), memory_order_release);
}

bool el_snapshot_read(const _Atomic uint64_t *words, const _Atomic uint64_t *checksum, void *data,
                      size_t nbytes)
{
    uint64_t expected = atomic_load_explicit(checksum, memory_order_acquire);
    uint64_t sum = EL_HASH_START;

    for (size_t at = 0; at < nbytes; at += sizeof(uint64_t)) {
        uint64_t word = atomic_load_explicit(words++, memory_order_relaxed);

        memcpy((char *)data + at, &word, part(nbytes - at));
        sum = el_hash_mix(sum, word);
    }
    if (finished(sum) != expected) {
        memset(data, 0, nbytes);
        return false;
    }
    return true;
}

void el_snapshot_clear(_Atomic uint64_t *checksum)
{
    atomic_store(checksum, 0);
}
