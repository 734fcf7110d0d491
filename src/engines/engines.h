/* The engines and decoders of this build, and the choice between them. Any thread. */
#ifndef ELASTIC_ENGINES_ENGINES_H
#define ELASTIC_ENGINES_ENGINES_H

#include "elastic/engine.h"

/* The engine that can stream `coding`; NULL if this build has none. */
const el_engine_t *el_engine_for(el_coding_t coding);

/* Engine number `number`, from 0, of those that need no dictionary; NULL after the last. */
const el_engine_t *el_engine_at(size_t number);

#define EL_ENGINE_NONE (-1)

/* The highest level of a coding without dictionary, in users' numbers; or EL_ENGINE_NONE. */
int el_engine_top(el_coding_t coding);

/* The expected cost of a plan for a body of its size_hint, from the built-in tables. */
el_cost_t el_engine_cost(const el_plan_t *plan);

/* Upper bound of the encoded size of `nbytes`, for all engines and levels. */
size_t el_engine_bound(size_t nbytes);

/* Encodes a whole body in one call, right after reset(); see el_engine_t.encode. */
el_step_t el_engine_encode(el_context_t *context, el_span_t *span);

/*
 * Writes the engines of this build and the versions of their libraries, "zlib 1.2.13, brotli
 * 1.0.9", to `text` of `size` bytes, cut if it does not fit. Returns `text`.
 */
const char *el_engine_list(char *text, size_t size);

/* The decoder of `coding`; NULL if this build has none. */
const el_decoder_t *el_decoder_for(el_coding_t coding);

/*
 * The engine and level that take the least CPU time for `wanted`, whose level is in users' numbers.
 * `whole`: the body will be encoded by one call of el_engine_encode(), with its length as
 * size_hint. The result has at most 1 % more bytes than the library that the level is named after,
 * as measured on documents and scripts; docs/internals/engines.md has the measurement.
 */
el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole);

/* A whole encoded body. */
typedef struct {
    el_coding_t coding;
    const uint8_t *data;
    size_t nbytes;
    size_t length; /* bytes after decoding */
} el_encoded_t;

/*
 * Decodes `body` and encodes it by `plan`, also to another coding. Returns the encoding of
 * `*nbytes` in a buffer that the caller releases with el_pool_buffer_release(). NULL if `body` is
 * damaged or has another length, the engine failed, or memory is short.
 */
uint8_t *el_recode(const el_encoded_t *body, const el_plan_t *plan, size_t *nbytes);

/*
 * Prepared dictionaries (RFC 9842) of this process. A prepared dictionary is for one coding, with
 * some libraries for one level, never changes, and serves any number of bodies at once.
 *
 * The table of them has a limit: of those that no body uses, the longest unused goes first. Any
 * thread; el_dictionary_release() also from a signal handler.
 */

/*
 * A dictionary serves this often in place of one for another level before that is prepared, too:
 * preparing takes as long as some bodies, and many a dictionary is used only now and then.
 */
#define EL_DICTIONARY_STANDS 8

/*
 * Finds the dictionary with the SHA-256 `hash` prepared for `coding` at `level`, or for another
 * level while EL_DICTIONARY_STANDS allows it. NULL: the caller should prepare it. The caller
 * releases it.
 */
el_dictionary_t *el_dictionary_find(el_coding_t coding, int level,
                                    const uint8_t hash[EL_DICTIONARY_HASH]);

/*
 * A dictionary's bytes, one at least, and their SHA-256. The caller has verified the hash of these
 * very bytes: the prepared dictionary serves every request that names the hash.
 */
typedef struct {
    const uint8_t *bytes;
    size_t nbytes;
    const uint8_t *hash;
} el_dictionary_bytes_t;

/*
 * Prepares a copy of a dictionary for `coding` at `level`, and keeps it. Takes up to a millisecond
 * for 120 KB. If memory is short or the limit leaves no room, returns the dictionary prepared for
 * another level, or prepares it for the lowest level. NULL if that fails, too, or this build has no
 * engine for the coding. The caller releases it.
 */
el_dictionary_t *el_dictionary_prepare(el_coding_t coding, int level,
                                       const el_dictionary_bytes_t *bytes);

/* The level to encode at if `level` was asked for. */
int el_dictionary_level(const el_dictionary_t *dictionary, int level);

/* Ends the caller's use; NULL is allowed. */
void el_dictionary_release(el_dictionary_t *dictionary);

/* Sets the limit in bytes for dictionaries prepared from now on in this process. */
void el_dictionary_limit(size_t nbytes);

/* Bytes of all prepared dictionaries. */
size_t el_dictionary_kept(void);

/* Frees all dictionaries that no body uses, as at the end of a test. */
void el_dictionary_drain(void);

#endif
