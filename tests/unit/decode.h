/* The libraries' own decoders, for the tests of engines. */
#ifndef ELASTIC_TESTS_DECODE_H
#define ELASTIC_TESTS_DECODE_H

#include "elastic/coding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t nbytes; /* decoded */
    bool ended;    /* the coding's own end was seen, with checks passed, and no byte after it */
    bool failed;
} decoded_t;

/* Decodes as much of `in` as there is into `out`. */
decoded_t decode(el_coding_t coding, const uint8_t *in, size_t in_nbytes, uint8_t *out,
                 size_t out_nbytes);

typedef struct {
    el_coding_t coding;
    const uint8_t *dictionary;
    size_t dictionary_nbytes;
} against_t;

/*
 * The same of a body that differs from a dictionary, with no larger window than RFC 9842 allows. Its
 * head is passed over.
 */
decoded_t decode_difference(const against_t *difference, const uint8_t *in, size_t in_nbytes,
                            uint8_t *out, size_t out_nbytes);

#endif
