/*
 * An engine's stream that writes buckets: bytes in, a brigade out, usage accounted. It belongs to
 * one response.
 */
#ifndef ELASTIC_ENCODER_H
#define ELASTIC_ENCODER_H

#include "account.h"

#include "apr_buckets.h"

typedef struct {
    const el_engine_t *engine;
    el_setup_t setup;
    el_stream_t *stream;
    el_usage_t usage;
    apr_bucket_brigade *brigade; /* output that was not taken yet */
    uint8_t *block;              /* the bucket being filled, or NULL */
    size_t used;
    bool dirty; /* input was taken since the last flush */
} el_encoder_t;

/*
 * Opens `encoder`, whose memory the caller owns.
 * False where memory is short. The stream is closed with `pool` at the latest, so an aborted
 * request leaks nothing.
 */
bool el_encoder_open(el_encoder_t *encoder, const el_engine_t *engine, const el_setup_t *setup,
                     apr_pool_t *pool, apr_bucket_alloc_t *alloc);

/*
 * Encodes `len` bytes; with EL_FLUSH and EL_FINISH all output is in the brigade afterwards. False
 * where the engine failed: the stream is lost.
 */
bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len);

/* Frees the stream before its pool's end; a second call does nothing. */
void el_encoder_close(el_encoder_t *encoder, apr_pool_t *pool);

#endif
