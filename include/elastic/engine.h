/*
 * Engines: one struct for each compression library, behind which nothing else knows the library.
 *
 * A stream belongs to one thread at a time. Engines keep no state outside of their streams.
 */
#ifndef ELASTIC_ENGINE_H
#define ELASTIC_ENGINE_H

#include "elastic/coding.h"

#include <stdint.h>

/* What the encoder is to do with the input it is given. */
typedef enum {
    EL_RUN,   /* take it; output may come later */
    EL_FLUSH, /* and put out all that a decoder needs to produce what was given so far */
    EL_FINISH /* and end the body */
} el_op_t;

typedef enum {
    EL_STEP_OK,   /* all input taken and, for FLUSH and FINISH, all output written */
    EL_STEP_MORE, /* the output is full: call again with the same op and the rest of the input */
    EL_STEP_ERROR /* the stream is lost; only close() may follow */
} el_step_t;

/* Input and output of a call; it advances both, as far as it went. */
typedef struct {
    const uint8_t *in;
    size_t in_nbytes;
    uint8_t *out;
    size_t out_nbytes_avail;
} el_span_t;

/* How a stream is to be made. Whatever is 0 is the engine's own choice. */
typedef struct {
    int level;          /* level_min … level_max; always given */
    int window_bits;    /* log2 of the window's bytes: gzip 9 … 15, br 10 … 24 */
    int mem_level;      /* gzip: zlib's memLevel, 1 … 9 */
    int block_bits;     /* br: log2 of the largest input block's bytes, 16 … 24 */
    uint64_t size_hint; /* the body's length in bytes, where it is known */
} el_setup_t;

typedef struct el_stream el_stream_t;

typedef struct {
    const char *name; /* the library, as in the note elastic-engine */
    el_coding_t coding;
    int level_min;    /* inclusive; levels that a user may write beyond them are clamped */
    int level_max;
    const char *(*version)(void); /* of the library that runs, not of the header; static storage */

    /* A new stream. NULL where memory is short. The caller owns it and calls close(). */
    el_stream_t *(*open)(const el_setup_t *setup);

    /* Encodes. With an empty input it still flushes or finishes. */
    el_step_t (*step)(el_stream_t *stream, el_op_t op, el_span_t *span);

    /* Frees the stream, in whatever state; NULL is allowed. */
    void (*close)(el_stream_t *stream);
} el_engine_t;

/* The engine that streams `coding`, or NULL where this build has none. */
const el_engine_t *el_engine_for(el_coding_t coding);

#endif
