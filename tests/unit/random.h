/* Bytes that look random, the same in each run (SplitMix64). */
#ifndef ELASTIC_TESTS_RANDOM_H
#define ELASTIC_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline void random_bytes(uint64_t *state, uint8_t *bytes, size_t len)
{
    uint64_t word = 0;

    for (size_t i = 0; i < len; i++, word >>= 8) {
        if (i % 8 == 0) {
            word = *state += UINT64_C(0x9e3779b97f4a7c15);
            word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
            word ^= word >> 31;
        }
        bytes[i] = (uint8_t)word;
    }
}

#endif
