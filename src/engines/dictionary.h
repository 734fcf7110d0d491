/*
 * Dictionaries (RFC 9842) as the libraries have prepared them, for any number of bodies at once,
 * and the table of those that this process keeps. A dictionary is prepared for one coding, and by
 * libraries that need it so for one level, and never changes.
 *
 * What is kept has a limit: of what no body uses, the longest unused goes first. Any thread;
 * el_dictionary_release() may be called from a signal handler, too.
 */
#ifndef ELASTIC_ENGINES_DICTIONARY_H
#define ELASTIC_ENGINES_DICTIONARY_H

#include "elastic/engine.h"

/*
 * A dictionary serves as often in place of one for another level before that is prepared: to
 * prepare it takes as long as some bodies, and many a last release is asked for only now and then.
 */
#define EL_DICTIONARY_STANDS 8

/*
 * The dictionary whose SHA-256 is `hash`, prepared for `coding` at `level`, or for another level,
 * where there is no reason yet to prepare it for this one, too; NULL if it is to be prepared. It
 * stays until the caller releases it.
 */
el_dictionary_t *el_dictionary_find(el_coding_t coding, int level,
                                    const uint8_t hash[EL_DICTIONARY_HASH]);

/*
 * A dictionary as it is; `hash` is the SHA-256 of the `nbytes`, one at least. The caller has
 * compared it with these very bytes: what is prepared of them is for everyone who names the hash.
 */
typedef struct {
    const uint8_t *bytes;
    size_t nbytes;
    const uint8_t *hash;
} el_dictionary_bytes_t;

/*
 * Prepares a dictionary for `coding` at `level`, and keeps the result, which stays until the caller
 * releases it. The bytes are copied. Takes up to a millisecond for 120 KB. If memory is short,
 * or the limit has no room beside what is in use, it is that for another level, if there is one, or
 * for the lowest. NULL if that has no room, either, or this build has no engine for the coding.
 */
el_dictionary_t *el_dictionary_prepare(el_coding_t coding, int level,
                                       const el_dictionary_bytes_t *bytes);

/* The level to encode at with a dictionary that was asked for `level`. */
int el_dictionary_level(const el_dictionary_t *dictionary, int level);

/* The caller uses it no longer; NULL is allowed. */
void el_dictionary_release(el_dictionary_t *dictionary);

/* How many bytes prepared dictionaries may take in this process, from the next one on. */
void el_dictionary_limit(size_t nbytes);

/* Bytes that they take now. */
size_t el_dictionary_kept(void);

/* Forgets what no body uses, as at the end of a test. */
void el_dictionary_drain(void);

#endif
