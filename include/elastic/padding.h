/*
 * Padding against attacks that learn a secret from the length of an encoding (BREACH): random bytes
 * -> the value of a header field.
 *
 * The length is the sum of two draws. After one draw, no padding would be as likely as any other, and
 * the shortest of some hundred responses would show the encoding's own length.
 *
 * The characters are those of a token (RFC 9110 §5.6.2) for which the code of HPACK and QPACK has 8
 * bits (RFC 7541 appendix B): the padding is as long over HTTP/2 and HTTP/3 as over HTTP/1.1, whether
 * that code is used or not. They are random too, so that a table of earlier fields does not have it.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_PADDING_H
#define ELASTIC_PADDING_H

#include <stddef.h>
#include <stdint.h>

/* Proxies and clients take header fields of 8 KB in all; half of that is left to the others. */
#define EL_PADDING_MAX 4096

#define EL_PADDING_FIELD "Elastic-Padding"

/* The bytes of a header that the field takes at most, with its name and the end of its line. */
static inline size_t el_padding_room(size_t most)
{
    return most > 0 ? sizeof(EL_PADDING_FIELD ": \r\n") - 1 + most : 0;
}

/* How many random bytes a padding of up to `most` bytes is made of. */
#define EL_PADDING_RANDOM(most) (8 + ((most) + 3) / 4)

/*
 * Makes 0 … `most` characters of the EL_PADDING_RANDOM(most) bytes at `random`, which nobody must be
 * able to predict. `text` has room for `most` + 1; it ends with 0. Returns the length.
 */
size_t el_padding_make(const uint8_t *random, size_t most, char *text);

#endif
