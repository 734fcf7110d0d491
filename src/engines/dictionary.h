/*
 * Dictionaries (RFC 9842) as the libraries have prepared them, for any number of bodies at once, and
 * the table of those that this process keeps. A dictionary is prepared for one coding, and never
 * changes.
 *
 * What is kept has a limit: of what no body uses, the longest unused goes first. Any thread;
 * el_dictionary_release() may be called from a signal handler, too.
 */
#ifndef ELASTIC_ENGINES_DICTIONARY_H
#define ELASTIC_ENGINES_DICTIONARY_H

#include "elastic/engine.h"

/*
 * The dictionary whose SHA-256 is `hash`, prepared for `coding`; NULL where this process does not
 * keep it. It stays until the caller releases it.
 */
el_dictionary_t *el_dictionary_find(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH]);

/*
 * Prepares the `nbytes` at `bytes`, one at least, for `coding`, and keeps the result, which stays
 * until the caller releases it. `hash` is their SHA-256. The bytes are copied. Takes about a
 * millisecond for 120 KB. NULL where memory is short, the limit has no room beside what is in use, or
 * this build has no engine for the coding.
 */
el_dictionary_t *el_dictionary_prepare(el_coding_t coding, const uint8_t *bytes, size_t nbytes,
                                       const uint8_t hash[EL_DICTIONARY_HASH]);

/* The caller uses it no longer; NULL is allowed. */
void el_dictionary_release(el_dictionary_t *dictionary);

/* How many bytes prepared dictionaries may take in this process, from the next one on. */
void el_dictionary_limit(size_t nbytes);

/* Bytes that they take now. */
size_t el_dictionary_kept(void);

/* Forgets what no body uses, as at the end of a test. */
void el_dictionary_drain(void);

#endif
