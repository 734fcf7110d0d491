/*
 * Characters of HTTP fields (RFC 9110 §5.6) and of the kernel's files, whatever the process's
 * locale says of them. Private to the core.
 */
#ifndef ELASTIC_CORE_TEXT_H
#define ELASTIC_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool el_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Space or tab: optional whitespace, OWS. */
static inline bool el_text_is_space(char c)
{
    return c == ' ' || c == '\t';
}

static inline char el_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* True if `c` may be part of a token (RFC 9110 §5.6.2): a bit for each of the ASCII characters. */
static inline bool el_text_is_token(char c)
{
    static const uint64_t tokens[2] = {
        UINT64_C(0x03ff6cfa00000000), /* 0-9 and ! # $ % & ' * + - . */
        UINT64_C(0x57ffffffc7fffffe), /* A-Z ^ _ ` a-z | ~ */
    };
    unsigned char code = (unsigned char)c;

    /* Most are small letters, which are found at once. */
    return (c >= 'a' && c <= 'z') || (code < 128 && (tokens[code / 64] >> code % 64 & 1));
}

/*
 * Reads the digits from `*at` on, at most up to `end`, and moves `*at` behind them. False if
 * there are none, or more than the number holds.
 */
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

/* Moves `*at` over white space, at most up to `end`. */
static inline void el_text_skip_space(const char **at, const char *end)
{
    while (*at < end && el_text_is_space(**at)) {
        ++*at;
    }
}

/* How many of the `len` bytes at `text`, from the first on, are a token's. */
static inline size_t el_text_token(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && el_text_is_token(text[n])) {
        n++;
    }
    return n;
}

/* True if `len` bytes at `a` and `b` are the same but for the case of letters. */
static inline bool el_text_same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (el_text_lower(a[i]) != el_text_lower(b[i])) {
            return false;
        }
    }
    return true;
}

/* True if the `len` bytes at `text` are `word`, in any case of letters. */
static inline bool el_text_is(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && el_text_same(text, word, len);
}

#endif
