/*
 * Engines: one struct for each compression library, behind which nothing else knows the library.
 *
 * An engine works through contexts: the library's memory, made once and begun anew for each body,
 * because at 1 KB the making costs five times the encoding. A context belongs to one thread at a
 * time; engines keep no state outside of their contexts. Who wants a context asks the pool
 * (engines/pool.h), which keeps them.
 */
#ifndef ELASTIC_ENGINE_H
#define ELASTIC_ENGINE_H

#include "elastic/coding.h"
#include "elastic/cost.h"

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
    EL_STEP_ERROR /* the body is lost; the context may only be begun anew, or freed */
} el_step_t;

/* Input and output of a call; it advances both, as far as it went. */
typedef struct {
    const uint8_t *in;
    size_t in_nbytes;
    uint8_t *out;
    size_t out_nbytes_avail;
} el_span_t;

/* How a body is to be encoded. Whatever is 0 is the engine's own choice. */
typedef struct {
    int level;          /* level_min … level_max of the engine; always given */
    int window_bits;    /* log2 of the window's bytes: gzip 9 … 15, br 10 … 24 */
    int mem_level;      /* gzip: zlib's memLevel, 1 … 9 */
    int block_bits;     /* br: log2 of the largest input block's bytes, 16 … 24 */
    uint64_t size_hint; /* the body's length in bytes, where it is known: then it is the length */
} el_setup_t;

typedef struct el_engine el_engine_t;
typedef struct el_context el_context_t;

/* What every context begins with, whatever its engine keeps behind it. */
struct el_context {
    const el_engine_t *engine;
    uint32_t key; /* see el_engine_t.key */

    /* The pool's, while it keeps the context. */
    el_context_t *next;
    size_t nbytes; /* by memory(), when it came back */
    unsigned age;  /* of the pool, when it came back */
};

struct el_engine {
    const char *name; /* the library, as in the note elastic-engine */
    el_coding_t coding;
    int level_min;    /* inclusive, as the library counts them */
    int level_max;
    const el_cost_t (*costs)[EL_SIZE_CLASSES]; /* of each level, from level_min */
    const char *(*version)(void); /* of the library that runs, not of the header; static storage */

    /*
     * A number for what a context's memory depends on. A context can be begun with any setup of its
     * own key, and with no other.
     */
    uint32_t (*key)(const el_setup_t *setup);

    /* A new context of the setup's key. NULL where memory is short. */
    el_context_t *(*create)(const el_setup_t *setup);

    /*
     * Begins a body, whatever became of the one before. False where memory is short or the library
     * refuses: the context is to be freed.
     */
    bool (*reset)(el_context_t *context, const el_setup_t *setup);

    /*
     * Encodes a piece of the body. With an empty input it still flushes or finishes. A flush ends
     * only where more than six bytes of output are free: its mark is repeated until it fits. NULL
     * for an engine that only takes whole bodies.
     */
    el_step_t (*step)(el_context_t *context, el_op_t op, el_span_t *span);

    /*
     * Encodes a whole body in one call, right after reset(). EL_STEP_MORE: the output is too small
     * and there is no going on. NULL where step() with EL_FINISH is all there is to it.
     */
    el_step_t (*encode)(el_context_t *context, el_span_t *span);

    /* Bytes that the context holds now. */
    size_t (*memory)(const el_context_t *context);

    /* Frees the context, in whatever state. */
    void (*free)(el_context_t *context);
};

/* Who encodes a body, and how. */
typedef struct {
    const el_engine_t *engine; /* NULL where this build has none for the coding */
    el_setup_t setup;          /* its level is the engine's own */
} el_plan_t;

/* The engine that streams `coding`, or NULL where this build has none. */
const el_engine_t *el_engine_for(el_coding_t coding);

/* The engines of this build, by their number from 0; NULL after the last. */
const el_engine_t *el_engine_at(size_t number);

#define EL_ENGINE_NONE (-1)

/* The highest level of `coding` in this build, as users count levels, or EL_ENGINE_NONE. */
int el_engine_top(el_coding_t coding);

/*
 * The engine that serves `wanted`, whose level is the user's, at the least cost; `whole` where the
 * body is at hand and goes through el_engine_encode(), with its length as size_hint. No engine
 * that is chosen gives more bytes than the library that the level is named after, give or take
 * 1 %. docs/internals/engines.md has the measurement.
 */
el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole);

/*
 * What a plan is expected to cost, by a table that was measured once, for a body of the class that
 * its size_hint falls into.
 */
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

#endif
