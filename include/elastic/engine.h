/*
 * Engines and decoders: the tables of functions of each compression library.
 *
 * An engine encodes by contexts. A context has the library's memory; the pool (engines/memory.h)
 * keeps it from one body to the next, because at 1 KB creating it costs five times the encoding. It
 * is used by one thread at a time; engines keep no other state.
 */
#ifndef ELASTIC_ENGINE_H
#define ELASTIC_ENGINE_H

#include "elastic/http.h"
#include "elastic/cost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An operation of the encoder, which… */
typedef enum {
    EL_RUN,   /* takes it; output may come later */
    EL_FLUSH, /* and writes all that a decoder needs to decode the input so far */
    EL_FINISH /* and ends the body */
} el_op_t;

typedef enum {
    EL_STEP_OK,   /* all input taken and, for FLUSH and FINISH, all output written */
    EL_STEP_MORE, /* the output is full: call again with the same op and the rest of the input */
    EL_STEP_ERROR /* the body is lost; the context may only be reset or freed */
} el_step_t;

/* Input and output of a call, which moves both on by what it took and wrote. */
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
 * Keys of three running size ratios, by which dictionaries are judged: of the page with a
 * dictionary, of all pages that the dictionary is for, and of the page without one. 0: none is
 * kept.
 */
enum { EL_SHARE_PAGE, EL_SHARE_RULE, EL_SHARE_PLAIN, EL_SHARES };

/* How to encode a body. The engine chooses what is 0. */
typedef struct {
    int level;          /* level_min … level_max of the engine; never left to it */
    int window_bits;    /* log2 of the window's bytes: gzip 9 … 15, br 10 … 24 */
    int mem_level;      /* gzip: zlib's memLevel, 1 … 9 */
    int block_bits;     /* br: log2 of the largest input block's bytes, 16 … 24 */
    uint64_t size_hint; /* the body's length in bytes, if it is known: then it is the length */
    const el_dictionary_t *dictionary; /* the engine's, which outlives the body; NULL: none */
    uint32_t shares[EL_SHARES];        /* of the page; no engine reads them */
} el_setup_t;

/*
 * The memory of a context, a decoding or a buffer: whatever it is made of is charged to its account
 * (engines/memory.h). Zeroed, an account of nothing.
 */
typedef struct {
    size_t nbytes;
    bool idle;      /* the pool keeps it; otherwise it is in flight */
    bool committed; /* what it is for has begun and must go on: nothing more is refused */
    bool of_request; /* it is for a request body, whose client chooses how much it takes */
} el_account_t;

/*
 * A dictionary that an engine has prepared (engines/dictionary.h). Any number of contexts may
 * encode against it at once.
 */
struct el_dictionary {
    const el_engine_t *engine;
    uint8_t hash[EL_DICTIONARY_HASH];
    size_t nbytes;        /* of the dictionary itself */
    int level;            /* that it is prepared for; 0: for all */
    void *prepared;       /* what the engine makes of it */
    el_account_t account; /* of all its memory */

    /* The table's. */
    el_dictionary_t *next;
    _Atomic unsigned users;  /* bodies */
    _Atomic unsigned stands; /* how often it has served in place of one for another level */
};

/* The beginning of every context; what its engine keeps follows. */
struct el_context {
    const el_engine_t *engine;
    uint32_t key; /* see el_engine_t.key */
    el_account_t account;

    /* The pool's, while it keeps the context. */
    el_context_t *next;
    bool kept;    /* it was: its memory has been in use before */
    unsigned age; /* of the pool, when it was released */
};

struct el_engine {
    const char *name; /* the library, as in the note elastic-engine */
    el_coding_t coding;
    int level_min;    /* inclusive, as the library counts them */
    int level_max;
    const el_cost_t (*costs)[EL_SIZE_CLASSES]; /* of each level, from level_min */
    const char *(*version)(void); /* of the library that runs, not of the header; static storage */

    /*
     * The pool's key: a number for all of the setup that a context's memory depends on. A context
     * can be reset to any setup of its own key, and to no other.
     */
    uint32_t (*key)(const el_setup_t *setup);

    /*
     * A new context of the setup's key, to be reset before use, with an account of all that it has
     * and will have. NULL if memory is short.
     */
    el_context_t *(*create)(const el_setup_t *setup);

    /*
     * Starts a body, in whatever state the last one was left. False if memory is short or the
     * library refuses the setup: the context may only be freed.
     */
    bool (*reset)(el_context_t *context, const el_setup_t *setup);

    /*
     * Encodes a piece of the body. With an empty input it still flushes or finishes. A flush ends
     * only where more than six bytes of output are free: its mark is repeated until it fits. NULL
     * in an engine that encodes whole bodies only.
     */
    el_step_t (*step)(el_context_t *context, el_op_t op, el_span_t *span);

    /*
     * Encodes a whole body in one call, right after reset(). EL_STEP_MORE: the output is too small
     * and the body is lost. NULL if it would be no different from step() with EL_FINISH.
     */
    el_step_t (*encode)(el_context_t *context, el_span_t *span);

    /* Frees the context, in whatever state. */
    void (*free)(el_context_t *context);

    /*
     * If the coding needs a dictionary, otherwise NULL: fills in `prepared` from the
     * dictionary's `bytes`, which it copies, for its level, with memory of its account. False if
     * that is short; then there is none.
     */
    bool (*prepare)(el_dictionary_t *dictionary, const uint8_t *bytes);
    bool by_level; /* each level needs a dictionary that was prepared for it */

    /* Bytes of memory that this takes at most for a dictionary of `nbytes` at `level`. */
    size_t (*prepared_nbytes)(size_t nbytes, int level);

    /* Frees it. */
    void (*discard)(el_dictionary_t *dictionary);
};

/* An engine and a setup for a body. */
typedef struct {
    const el_engine_t *engine; /* NULL if this build has none for the coding */
    el_setup_t setup;          /* its level is the engine's own */
} el_plan_t;

/*
 * A decoder is the counterpart of an engine, one for each coding that this build can decode. A
 * decoding is used by one thread at a time. Decoders keep no state outside of their decodings.
 */

/* Why a step ended. */
typedef enum {
    EL_DECODE_NEED_INPUT, /* all input taken, and all that was decoded of it written */
    EL_DECODE_FULL,       /* the output is full: call again with room, and the rest of the input */
    /*
     * The input that was taken is a whole body, its checksums hold. Bytes that are left of the
     * input do not belong to it. If none are, a step with more input may find that the body goes
     * on: gzip has members (RFC 1952 §2.2), zstd frames (RFC 8878 §3).
     */
    EL_DECODE_ENDED,
    /* From here on only close() may follow. */
    EL_DECODE_DAMAGED,     /* not a body of this coding */
    EL_DECODE_UNSUPPORTED, /* needs more than a decoder of this coding has to offer (RFC 9659) */
    EL_DECODE_NO_MEMORY
} el_decode_t;

typedef struct el_decoding el_decoding_t;

typedef struct {
    const char *name; /* the library */
    el_coding_t coding;

    /*
     * A new decoding, whose memory is charged to `account`, which outlives it. NULL if memory is
     * short. The caller owns it and calls close().
     */
    el_decoding_t *(*open)(el_account_t *account);

    /*
     * Decodes, and moves `span` on. Never writes beyond the span, whatever the input. With an empty
     * input it writes what it has not yet had room for.
     */
    el_decode_t (*step)(el_decoding_t *decoding, el_span_t *span);

    /* Frees the decoding, in whatever state; NULL is allowed. */
    void (*close)(el_decoding_t *decoding);
} el_decoder_t;

#endif
