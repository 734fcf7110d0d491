/*
 * A body's encoder, which writes buckets and measures its time; and the stream, which takes a body
 * through an output filter that changes it. Each belongs to one response and its thread.
 */
#ifndef ELASTIC_BODY_ENCODER_H
#define ELASTIC_BODY_ENCODER_H

#include "httpd/cache/local.h"
#include "httpd/shared/stats.h"

#include "elastic/decide.h"
#include "elastic/engine.h"

#include "apr_buckets.h"
#include "util_filter.h"

/* The clocks around the calls of an encoder. */
typedef struct {
    el_usage_t used;
    uint64_t began_elapsed;
    uint64_t began_cpu;
} el_meter_t;

/* A fresh one; takes the CPU time of one response in sixteen, a process's first among them. */
el_meter_t el_meter_create(void);

/* Around each call of the encoder. */
void el_meter_start(el_meter_t *meter);
void el_meter_stop(el_meter_t *meter);

/*
 * Its memory is the owner's, who sets the plan, the level, the meter, the pool and an empty brigade
 * after el_budget_take_refusal(): for el_encoder_whole() by a plan for a whole body, or for
 * el_encoder_open().
 */
typedef struct {
    el_plan_t plan;
    int level;                   /* as the user counts it */
    el_context_t *context;       /* of a stream that is open, or NULL; borrowed from the pool */
    el_meter_t meter;
    apr_pool_t *pool;
    apr_bucket_brigade *brigade; /* output that was not taken yet */
    uint8_t *block;              /* the bucket being filled, or NULL */
    size_t used;
} el_encoder_t;

/*
 * Encodes a whole body of `len` bytes; all output is in the brigade afterwards. False if memory is
 * short or the engine failed: then there is none.
 */
bool el_encoder_whole(el_encoder_t *encoder, const char *data, size_t len);

/*
 * Makes `encoder` that of a whole body whose encoding was found: all output is in the brigade.
 * `meter` has the time of finding it. found->buffer is given away.
 */
void el_encoder_found(el_encoder_t *encoder, el_found_t *found, const el_meter_t *meter,
                      const request_rec *r);

/*
 * Measures encoding the `len` bytes at `data`, a body of their own, and throws the output away. No
 * bytes came out if memory is short or the engine failed.
 */
el_measured_t el_encoder_try(const el_plan_t *plan, const char *data, size_t len);

/*
 * Opens a stream. False if memory is short. The context goes back to the pool with the request's at
 * the latest, so an aborted request leaks nothing.
 */
bool el_encoder_open(el_encoder_t *encoder);

/*
 * Encodes `len` bytes; with EL_FLUSH and EL_FINISH all output is in the brigade afterwards. False
 * if the engine failed: the stream is lost.
 */
bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len);

/* Why one of these functions failed last, in this thread and since the plan. */
el_reason_t el_encoder_failure(void);

/* Gives the context back before the request's end; nothing happens if the stream is not open. */
void el_encoder_close(el_encoder_t *encoder);

/*
 * The functions of a filter for its body. Each appends its output to stream->out, and may pass that
 * on with el_stream_pass(). If the body cannot go on, it sets stream->error and returns an error.
 */
typedef struct {
    apr_status_t (*data)(ap_filter_t *f, void *owner, const char *data, apr_size_t len);

    /* Puts out all that was taken so far. NULL if nothing is held back. */
    apr_status_t (*flush)(ap_filter_t *f, void *owner);

    /* The body is complete, or stream->failed is set. */
    apr_status_t (*end)(ap_filter_t *f, void *owner);

    /* The response ends in error: frees what the stream holds. */
    void (*abandon)(ap_filter_t *f, void *owner);
} el_stream_ops_t;

/*
 * Bytes of the body that are kept in memory until the first output is passed on: as many as were
 * gathered before (hold.c). gzip and zstd have put out a block by then.
 */
#define EL_STREAM_COPIED (128 * 1024)

/* For a filter that can take back its decision while nothing was passed on. */
typedef struct {
    /* The first bytes are about to be passed on: sets the header. */
    void (*begin)(ap_filter_t *f, void *owner);

    /* Takes `bb`, the body from its beginning, all that still comes, and stream->out. */
    apr_status_t (*fall_back)(ap_filter_t *f, void *owner, apr_bucket_brigade *bb);
} el_stream_fallback_t;

typedef struct {
    const el_stream_ops_t *ops;
    void *owner;             /* passed to the functions */
    apr_bucket_brigade *out; /* made and not passed on yet */
    const el_stream_fallback_t *fallback; /* NULL: there is none, or none any more */
    apr_bucket_brigade *kept; /* while there is one, the data that was taken; or NULL */
    apr_size_t kept_nbytes;   /* of those in memory */
    const uint64_t *made;    /* bytes that were made so far */
    uint64_t passed_at;      /* `made` at the last el_stream_pass() */
    int error_status;        /* of a response that fails before its header went out */
    const char *error;       /* why the body cannot go on, for the log; or NULL */
    bool eager;  /* the first bytes are passed on at once: a client has something to render */
    bool passed; /* something went down the chain: the header is out, or soon will be */
    bool dirty;  /* data was taken since the last flush */
    bool failed; /* an ERROR bucket came by: the body must not look whole */
    bool unchanged; /* beside `error`: the body is well, but the filter cannot change it */
    bool broken; /* the response ended in error; all that still comes is dropped */
} el_stream_t;

/*
 * Takes a brigade: hands its data to the filter's functions, passes their output on, and keeps
 * FLUSH and other metadata buckets in their places. EOS ends the body, and removes the filter.
 */
apr_status_t el_stream_run(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb);

/* Passes on what is in stream->out. */
apr_status_t el_stream_pass(ap_filter_t *f, el_stream_t *stream);

/*
 * Ends the response so that the client sees it is broken: with error_status before the header went
 * out, then without the last chunk. `what` is for the log. Returns `rv`, or an error if it is none.
 */
apr_status_t el_stream_break_off(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                 apr_status_t rv, const char *what);

#endif
