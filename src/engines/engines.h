/* The engines and decoders of this build, and which of them serves a level. Any thread. */
#ifndef ELASTIC_ENGINES_ENGINES_H
#define ELASTIC_ENGINES_ENGINES_H

#include "elastic/engine.h"

/* The engine that streams `coding`, or NULL if this build has none. */
const el_engine_t *el_engine_for(el_coding_t coding);

/*
 * The engines of this build that encode without a dictionary, by their number from 0; NULL after
 * the last.
 */
const el_engine_t *el_engine_at(size_t number);

#define EL_ENGINE_NONE (-1)

/*
 * The highest level of `coding`, which needs no dictionary, in this build, as users count levels,
 * or EL_ENGINE_NONE.
 */
int el_engine_top(el_coding_t coding);

/* The expected cost of a plan for a body of its size_hint, by a table that was measured once. */
el_cost_t el_engine_cost(const el_plan_t *plan);

/* Bytes that no encoded body of `nbytes` exceeds, whatever the engine and the level. */
size_t el_engine_bound(size_t nbytes);

/* Encodes a whole body in one call, right after reset(); see el_engine_t.encode. */
el_step_t el_engine_encode(el_context_t *context, el_span_t *span);

/*
 * The engines of this build with the versions of their libraries, "zlib 1.2.13, brotli 1.0.9", in
 * `text` of `size` bytes, cut if it is too small. Returns `text`.
 */
const char *el_engine_list(char *text, size_t size);

/* The decoder of `coding`, or NULL if this build has none. */
const el_decoder_t *el_decoder_for(el_coding_t coding);

/*
 * The engine that takes the least CPU for `wanted`, whose level is the user's; `whole` if the
 * body will be encoded by one call of el_engine_encode(), with its length as size_hint. The engine
 * makes no more bytes than the library that the level is named after, within 1 %, as measured on
 * documents and scripts. docs/internals/engines.md has the measurement.
 */
el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole);

/* A whole body, encoded. */
typedef struct {
    el_coding_t coding;
    const uint8_t *data;
    size_t nbytes;
    size_t length; /* bytes of it decoded */
} el_encoded_t;

/*
 * Decodes `body` and encodes it by `plan`, whose engine may be of another coding: `*nbytes`, in a
 * buffer of the pool (engines/memory.h), which the caller releases. NULL if it is not what it
 * says, the engine failed, or memory is short.
 */
uint8_t *el_recode(const el_encoded_t *body, const el_plan_t *plan, size_t *nbytes);

/*
 * Dictionaries (RFC 9842) as the libraries have prepared them, for any number of bodies at once,
 * and the table of those that this process keeps. A dictionary is prepared for one coding, and by
 * libraries that need it so for one level, and never changes.
 *
 * The table has a limit: of the dictionaries that no body uses, the longest unused goes first. Any
 * thread; el_dictionary_release() may be called from a signal handler, too.
 */

/*
 * A dictionary serves as often in place of one for another level before that is prepared: to
 * prepare it takes as long as some bodies, and many a last release is asked for only now and then.
 */
#define EL_DICTIONARY_STANDS 8

/*
 * The dictionary whose SHA-256 is `hash`, prepared for `coding` at `level`, or for another level,
 * if there is no reason yet to prepare it for this one, too; NULL if it is to be prepared. It
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
