/*
 * A body's encoder that writes buckets: bytes in, a brigade out, usage accounted. It belongs to one
 * response, and borrows its context from the pool.
 */
#ifndef ELASTIC_BODY_ENCODER_H
#define ELASTIC_BODY_ENCODER_H

#include "httpd/cache/local.h"
#include "httpd/shared/stats.h"

#include "elastic/decide.h"
#include "elastic/engine.h"

#include "apr_buckets.h"

/* The clocks around the calls of an encoder. */
typedef struct {
    el_usage_t used;
    uint64_t began_elapsed;
    uint64_t began_cpu;
} el_meter_t;

/* A fresh one; of one response in sixteen CPU time is taken, the first of a process among them. */
el_meter_t el_meter_create(void);

/* Around each call of the encoder. */
void el_meter_start(el_meter_t *meter);
void el_meter_stop(el_meter_t *meter);

/* Makes `meter`, a fresh one, go on after `before`, whose time is not that of the encoder. */
void el_meter_go_on(el_meter_t *meter, const el_meter_t *before);

typedef struct {
    el_plan_t plan;
    int level;                   /* as the user counts it */
    el_context_t *context;       /* of a stream that is open, or NULL */
    el_meter_t meter;
    apr_pool_t *pool;
    apr_bucket_brigade *brigade; /* output that was not taken yet */
    uint8_t *block;              /* the bucket being filled, or NULL */
    size_t used;
} el_encoder_t;

/*
 * Plans `encoder`, whose memory the caller owns, for a body in `coding`, which this build has; for
 * el_encoder_whole() where `whole` is true, otherwise for el_encoder_open().
 */
void el_encoder_plan(el_encoder_t *encoder, el_coding_t coding, const el_setup_t *setup, bool whole,
                     const request_rec *r);

/*
 * Encodes a whole body of `len` bytes; all output is in the brigade afterwards. False where memory
 * is short or the engine failed: then there is none.
 */
bool el_encoder_whole(el_encoder_t *encoder, const char *data, size_t len);

/*
 * Makes `encoder` that of a whole body whose encoding was found: all output is in the brigade.
 * `meter` says what finding it took. found->buffer is given away.
 */
void el_encoder_found(el_encoder_t *encoder, el_found_t *found, const el_meter_t *meter,
                      const request_rec *r);

/*
 * What it takes to encode the `len` bytes at `data`, a body of their own; no bytes came out where
 * memory is short or the engine failed. What they are encoded to is thrown away.
 */
el_measured_t el_encoder_try(const el_plan_t *plan, const char *data, size_t len);

/*
 * Opens a stream. False where memory is short. The context goes back to the pool with the request's
 * at the latest, so an aborted request leaks nothing.
 */
bool el_encoder_open(el_encoder_t *encoder);

/*
 * Encodes `len` bytes; with EL_FLUSH and EL_FINISH all output is in the brigade afterwards. False
 * where the engine failed: the stream is lost.
 */
bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len);

/*
 * The stream's first bytes are passed on: from now on it gets the memory that it needs to end well,
 * whatever bodies may hold.
 */
void el_encoder_commit(el_encoder_t *encoder);

/* Why one of these functions failed last, in this thread and since the plan. */
el_reason_t el_encoder_failure(void);

/* Gives the context back before the request's end; what is not open stays so. */
void el_encoder_close(el_encoder_t *encoder);

#endif
