/*
 * Content-Encoding (RFC 9110 §8.4): a list of codings in the order in which they were applied, so
 * that the last one is the outermost.
 *
 * Pure; any thread; views into the list's text.
 */
#ifndef ELASTIC_ENCODING_H
#define ELASTIC_ENCODING_H

#include "elastic/coding.h"

/*
 * Takes the outermost coding off the first `*len` bytes of `list`: `name` and `name_len` are its
 * token, and `*len` the length of what is before it, without the comma. Empty members and `identity`, which
 * is no coding, are passed over. False, and `*len` 0, where none is left.
 */
bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len);

/*
 * Whether a body whose first `len` bytes are at `data` is encoded, whatever its header says: they are
 * the magic number of gzip (RFC 1952 §2.3.1) or of a zstd frame (RFC 8878 §3.1.1). No text begins so.
 */
bool el_encoding_is_magic(const char *data, size_t len);

#endif
