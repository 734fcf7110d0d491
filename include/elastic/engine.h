/*
 * Engines and decoders: a table of functions for each compression library.
 *
 * An engine encodes with contexts, which own the library's memory. The pool (engines/memory.h)
 * keeps contexts from one body to the next, because at 1 KB creating one costs five times the
 * encoding. One thread at a time uses a context; engines have no other state.
 */
#ifndef ELASTIC_ENGINE_H
#define ELASTIC_ENGINE_H

#include "elastic/http.h"
#include "elastic/cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Operations of the encoder. */
typedef enum {
    EL_RUN,   /* take input; output may come later */
    EL_FLUSH, /* take input and write everything a decoder needs to decode it */
    EL_FINISH /* take input and end the body */
} el_op_t;

typedef enum {
    EL_STEP_OK,   /* all input taken and, for FLUSH and FINISH, all output written */
    EL_STEP_MORE, /* the output is full: call again with the same op and the remaining input */
    EL_STEP_ERROR /* the body is lost; only reset or free the context */
} el_step_t;

/* Input and output of a call. The call advances both. */
typedef struct {
    const uint8_t *in;
    size_t in_nbytes;
    uint8_t *out;
    size_t out_nbytes_avail;
} el_span_t;

typedef struct el_engine el_engine_t;
typedef struct el_context el_context_t;
typedef struct el_dictionary el_dictionary_t;

/*
 * Indexes of the keys of three running size ratios (el_ratio_key()), by which a dictionary is
 * judged: the page with a dictionary, all pages that the dictionary's pattern matches, and the page
 * without a dictionary. Key 0: no ratio.
 */
enum { EL_SHARE_PAGE, EL_SHARE_RULE, EL_SHARE_PLAIN, EL_SHARES };

/* How to encode a body. 0 lets the engine choose. */
typedef struct {
    int level;          /* level_min … level_max of the engine; 0 is a level here */
    int window_bits;    /* log2 of the window's bytes: gzip 9 … 15, br 10 … 24 */
    int mem_level;      /* gzip: zlib's memLevel, 1 … 9 */
    int block_bits;     /* br: log2 of the largest input block's bytes, 16 … 24 */
    uint64_t size_hint; /* the body's exact length in bytes, if known */
    const el_dictionary_t *dictionary; /* prepared by the engine; outlives the body; NULL: none */
    uint32_t shares[EL_SHARES];        /* keys of the page's size ratios; engines ignore them */
} el_setup_t;

/* The memory of a context, a decoding or a buffer (engines/memory.h). Zeroed: no memory. */
typedef struct {
    size_t nbytes;
    bool idle;      /* kept by the pool; not in flight */
    bool committed; /* its body has begun and must go on: never refuse memory */
    bool of_request; /* for a request body, whose client decides how much it takes */
} el_account_t;

/*
 * A dictionary that an engine has prepared (engines/engines.h). Any number of contexts may encode
 * against it at once.
 */
struct el_dictionary {
    const el_engine_t *engine;
    uint8_t hash[EL_DICTIONARY_HASH];
    size_t nbytes;        /* length of the dictionary itself */
    int level;            /* prepared for this level; 0: for all levels */
    void *prepared;       /* the engine's data */
    el_account_t account; /* memory of all of it */

    /* Used by the table of dictionaries. */
    el_dictionary_t *next;
    _Atomic unsigned users;  /* bodies that use it */
    _Atomic unsigned stands; /* times it served in place of one for another level */
};

/* The beginning of every context; the engine's data follows. */
struct el_context {
    const el_engine_t *engine;
    uint32_t key; /* see el_engine_t.key */
    el_account_t account;

    /* Used by the pool. */
    el_context_t *next;
    bool kept;    /* came from the pool: its memory has been used before */
    unsigned age; /* the pool's age when it was released */
};

struct el_engine {
    const char *name; /* the library's name, as in the note elastic-engine */
    el_coding_t coding;
    int level_min;    /* inclusive, in the library's own numbers */
    int level_max;
    const el_cost_t (*costs)[EL_SIZE_CLASSES]; /* of each level, from level_min on */
    const char *(*version)(void); /* of the library that runs; static storage */

    /*
     * The pool's key: covers everything in the setup that a context's memory depends on. A context
     * can be reset only to setups with its own key.
     */
    uint32_t (*key)(const el_setup_t *setup);

    /*
     * Creates a context for the setup's key, with an account of all its memory. Reset it before
     * use. NULL if memory is short.
     */
    el_context_t *(*create)(const el_setup_t *setup);

    /*
     * Starts a body, whatever state the last body was left in. False if memory is short or the
     * library refuses the setup; then only free the context.
     */
    bool (*reset)(el_context_t *context, const el_setup_t *setup);

    /*
     * Encodes a piece of the body. An empty input still flushes or finishes. A flush is complete
     * only if more than six bytes of output remain free: its end mark is repeated until it fits.
     * NULL if the engine only encodes whole bodies.
     */
    el_step_t (*step)(el_context_t *context, el_op_t op, el_span_t *span);

    /*
     * Encodes a whole body in one call, right after reset(). EL_STEP_MORE: the output is too small
     * and the body is lost. NULL if step() with EL_FINISH does the same.
     */
    el_step_t (*encode)(el_context_t *context, el_span_t *span);

    /* Frees the context in any state. */
    void (*free)(el_context_t *context);

    /*
     * For codings that need a dictionary, otherwise NULL. Fills in `prepared` from a copy of the
     * dictionary's `bytes`, for its level, charged to its account. False, and nothing prepared, if
     * memory is short.
     */
    bool (*prepare)(el_dictionary_t *dictionary, const uint8_t *bytes);
    bool by_level; /* each level needs a dictionary prepared for it */

    /* Upper bound of the memory for a prepared dictionary of `nbytes` at `level`. */
    size_t (*prepared_nbytes)(size_t nbytes, int level);

    /* Frees the prepared data. */
    void (*discard)(el_dictionary_t *dictionary);
};

/* An engine and a setup for a body. */
typedef struct {
    const el_engine_t *engine; /* NULL if this build has none for the coding */
    el_setup_t setup;          /* with the engine's own level */
} el_plan_t;

/*
 * The counterpart of an engine, one for each coding that this build can decode. One thread at a
 * time uses a decoding; decoders have no other state.
 */

/* Results of a step. */
typedef enum {
    EL_DECODE_NEED_INPUT, /* all input taken, and all output so far written */
    EL_DECODE_FULL,       /* the output is full: call again with room, and the remaining input */
    /*
     * The input that was taken is a whole body with valid checksums. Input that is left does not
     * belong to it. If none is left, more input may still continue the body: gzip has members (RFC
     * 1952 §2.2), zstd frames (RFC 8878 §3).
     */
    EL_DECODE_ENDED,
    /* After these, only close(). */
    EL_DECODE_DAMAGED,     /* not a body of this coding */
    EL_DECODE_UNSUPPORTED, /* exceeds what decoders of this coding must support (RFC 9659) */
    EL_DECODE_NO_MEMORY
} el_decode_t;

typedef struct el_decoding el_decoding_t;

typedef struct {
    const char *name; /* the library */
    el_coding_t coding;

    /*
     * Creates a decoding whose memory is charged to `account`; the account must outlive it. NULL if
     * memory is short. The caller owns it and calls close().
     */
    el_decoding_t *(*open)(el_account_t *account);

    /*
     * Decodes and advances `span`. Never writes beyond the span, whatever the input. An empty input
     * writes pending output.
     */
    el_decode_t (*step)(el_decoding_t *decoding, el_span_t *span);

    /* Frees the decoding in any state; NULL is allowed. */
    void (*close)(el_decoding_t *decoding);
} el_decoder_t;

#endif
