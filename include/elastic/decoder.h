/*
 * Decoders: a table of functions for each coding that this build can decode, through which all
 * others use its library. The counterpart of engine.h.
 *
 * A decoding is used by one thread at a time. Decoders keep no state outside of their decodings.
 */
#ifndef ELASTIC_DECODER_H
#define ELASTIC_DECODER_H

#include "elastic/coding.h"
#include "elastic/engine.h"

/* Why a step ended. */
typedef enum {
    EL_DECODE_NEED_INPUT, /* all input taken, and all that was decoded of it written */
    EL_DECODE_FULL,       /* the output is full: call again with room, and the rest of the input */
    /*
     * What was taken is a whole body, its checksums hold. Bytes that are left of the input do not
     * belong to it. Where none are, a step with more input may find that the body goes on: gzip has
     * members (RFC 1952 §2.2), zstd frames (RFC 8878 §3).
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
     * A new decoding, whose memory is charged to `account`, which outlives it. NULL where memory is
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
