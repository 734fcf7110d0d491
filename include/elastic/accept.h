/*
 * Accept-Encoding (RFC 9110 §12.5.3): a field value -> the weight of every coding.
 *
 * One pass over the text, whatever it holds: time grows linearly with its length and no memory is
 * allocated, so that a hostile line of 64 KB costs no more than its bytes.
 */
#ifndef ELASTIC_ACCEPT_H
#define ELASTIC_ACCEPT_H

#include "elastic/coding.h"

#include <stdint.h>

/*
 * Weights are twice the thousandths that a qvalue can express (q=1 is 2000, q=0.001 is 2), which
 * leaves room for one value between a refusal and the least weight that a request can write.
 */
#define EL_Q_ONE 2000

/*
 * Identity's weight where the request names neither `identity` nor `*`: acceptable, but below every
 * coding that the request lists (RFC 9110 §12.5.3 gives it no weight; a listed coding is asked
 * for).
 */
#define EL_Q_UNLISTED_IDENTITY 1

typedef struct {
    uint16_t q[EL_ALL_CODINGS]; /* 0 (refused) … EL_Q_ONE */
} el_accept_t;

/*
 * Reads the `len` bytes at `line` (several fields joined by commas; NULL where the request has
 * none) into `accept`.
 *
 * - No field, or an empty one: identity only.
 * - A coding's first mention counts, under its token or its alias; later ones are ignored.
 * - `*` is for every coding, and identity, that is not mentioned anywhere in the line; but not for
 *   one that needs a dictionary: a client that does not name it has none (RFC 9842 §6).
 * - A weight that the grammar does not allow (`q=`, `q=2`, `q=0.0000`) is ignored, as though
 *   absent: httpd's own test suite expects such members to be accepted.
 * - Members that are not `token [;parameters]` are skipped.
 */
void el_accept_parse(const char *line, size_t len, el_accept_t *accept);

/*
 * The best coding for `accept` among the `count` codings at `order`, which is the server's order of
 * preference among equal weights. A coding that weighs less than identity is never chosen; at equal
 * weight the coding wins. EL_IDENTITY where none is acceptable or identity is preferred.
 */
el_coding_t el_accept_choose(const el_accept_t *accept, const el_coding_t *order, size_t count);

/* Whether the request takes `coding` at all (identity included). */
bool el_accept_takes(const el_accept_t *accept, el_coding_t coding);

#endif
