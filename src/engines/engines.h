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
 * `text` of `size` bytes, cut where it is too small. Returns `text`.
 */
const char *el_engine_list(char *text, size_t size);

/* The decoder of `coding`, or NULL if this build has none. */
const el_decoder_t *el_decoder_for(el_coding_t coding);

/*
 * The engine that takes the least CPU for `wanted`, whose level is the user's; `whole` where the
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

#endif
