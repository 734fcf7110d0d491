/*
 * Numbers in little-endian order, FNV-1a with 64 bits, an evenly spread sequence, and characters.
 * Private to the core.
 */
#ifndef ELASTIC_CORE_BYTES_H
#define ELASTIC_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The hash of no bytes. */
#define EL_HASH_START UINT64_C(14695981039346656037)

/* Adds a byte, as FNV-1a does, or a whole word. */
static inline uint64_t el_hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(1099511628211);
}

/* Adds a word whose high bits matter: multiplication never moves them down, the shift does. */
static inline uint64_t el_hash_mix(uint64_t hash, uint64_t word)
{
    hash = el_hash_add(hash, word);
    return hash ^ hash >> 32;
}

/*
 * Multiplies by 2^32 divided by the golden ratio, modulo 2^32. For successive numbers, and for
 * every second or third one, the results leave the smallest gaps that a sequence can.
 */
static inline uint32_t el_spread(uint32_t number)
{
    return number * UINT32_C(2654435769);
}

/* Characters of HTTP fields (RFC 9110 §5.6) and of the kernel's files, in any locale. */

static inline bool el_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Space or tab (OWS). */
static inline bool el_text_is_space(char c)
{
    return c == ' ' || c == '\t';
}

static inline char el_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Reads digits at `*at` and advances it, up to `end`. False if there are none, or too many. */
static inline bool el_text_number(const char **at, const char *end, uint64_t *number)
{
    const char *start = *at;
    uint64_t value = 0;

    for (; *at < end && el_text_is_digit(**at); (*at)++) {
        unsigned digit = (unsigned)(**at - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return *at > start;
}

/* Advances `*at` over spaces and tabs, up to `end`. */
static inline void el_text_skip_space(const char **at, const char *end)
{
    while (*at < end && el_text_is_space(**at)) {
        ++*at;
    }
}

/* The number of leading bytes of `text` that can be part of a token (RFC 9110 §5.6.2). */
static inline size_t el_text_token(const char *text, size_t len)
{
    static const uint64_t tokens[2] = {
        UINT64_C(0x03ff6cfa00000000), /* 0-9 and ! # $ % & ' * + - . */
        UINT64_C(0x57ffffffc7fffffe), /* A-Z ^ _ ` a-z | ~ */
    };

    for (size_t n = 0; n < len; n++) {
        unsigned char code = (unsigned char)text[n];

        /* Most characters are small letters: test them first. */
        if ((code < 'a' || code > 'z') && (code >= 128 || !(tokens[code / 64] >> code % 64 & 1))) {
            return n;
        }
    }
    return len;
}

/* True if `len` bytes at `a` and `b` are equal, ignoring case. */
static inline bool el_text_same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (el_text_lower(a[i]) != el_text_lower(b[i])) {
            return false;
        }
    }
    return true;
}

/* True if the `len` bytes at `text` are `word`, ignoring case. */
static inline bool el_text_is(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && el_text_same(text, word, len);
}

#endif
