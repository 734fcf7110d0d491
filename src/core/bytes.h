/*
 * Bytes that are kept or hashed: numbers in little-endian order, FNV-1a with 64 bits, and a
 * sequence that spreads evenly. Private to the core.
 */
#ifndef ELASTIC_CORE_BYTES_H
#define ELASTIC_CORE_BYTES_H

#include <stdint.h>

/* Writes the lowest `nbytes` bytes of `number`, the lowest first. */
static inline void el_bytes_put(uint8_t *to, unsigned nbytes, uint64_t number)
{
    for (unsigned i = 0; i < nbytes; i++) {
        to[i] = (uint8_t)(number >> 8 * i);
    }
}

static inline uint64_t el_bytes_get(const uint8_t *from, unsigned nbytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < nbytes; i++) {
        number |= (uint64_t)from[i] << 8 * i;
    }
    return number;
}

/* The hash of nothing. */
#define EL_HASH_START UINT64_C(14695981039346656037)

/* The hash after one more value: a byte, as FNV-1a has it, or a whole word. */
static inline uint64_t el_hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(1099511628211);
}

/*
 * The same for words where all bits count: the shift brings the high bits, which multiplication
 * alone never moves down, into the low ones.
 */
static inline uint64_t el_hash_mix(uint64_t hash, uint64_t word)
{
    hash = el_hash_add(hash, word);
    return hash ^ hash >> 32;
}

/*
 * A multiple of 2^32 divided by the golden ratio, modulo 2^32. Those of successive numbers leave
 * the smallest gaps that a sequence can, and so do those of every other one, or of every third.
 */
static inline uint32_t el_spread(uint32_t number)
{
    return number * UINT32_C(2654435769);
}

#endif
