/*
 * The head of a body that is encoded against a dictionary (RFC 9842 §4, §5): what kind it is, and the
 * SHA-256 of the dictionary, which the decoder compares with its own. The coding's stream follows.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_DIFFERENCE_H
#define ELASTIC_DIFFERENCE_H

#include "elastic/coding.h"

#include <stdint.h>

/* Bytes of a SHA-256. */
#define EL_DICTIONARY_HASH 32

/* Bytes of the longest head: 36 for dcb, 40 for dcz. */
#define EL_DIFFERENCE_HEAD 40

/*
 * Writes the head of `coding`, which needs a dictionary, for the one with this hash to `out`; returns
 * its bytes.
 */
size_t el_difference_head(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH],
                          uint8_t out[EL_DIFFERENCE_HEAD]);

#endif
