/*
 * The encoder of a body, which fills buckets and measures its time, and the stream, which takes a
 * body through a filter that changes it. One response and its thread use each.
 */
#ifndef ELASTIC_BODY_ENCODER_H
#define ELASTIC_BODY_ENCODER_H

#include "httpd/cache/local.h"
#include "httpd/shared/stats.h"

#include "elastic/decide.h"
#include "elastic/engine.h"

#include "apr_buckets.h"
#include "util_filter.h"

/* Measures the time of an encoder's calls. */
typedef struct {
    el_usage_t used;
    uint64_t began_elapsed;
    uint64_t began_cpu;
} el_meter_t;

/* A new meter. It takes CPU time for one response in EL_STATS_EVERY, the first included. */
el_meter_t el_meter_create(void);

/* Call these around each call of the encoder. */
void el_meter_start(el_meter_t *meter);
void el_meter_stop(el_meter_t *meter);

/*
 * The owner provides the memory. Before el_encoder_whole() or el_encoder_open(), it calls
 * el_budget_take_refusal(), and sets the plan, the level, the meter, the pool and an empty brigade.
 */
typedef struct {
    el_plan_t plan;
    int level;                   /* the chosen level; the plan's may be the engine's own */
    el_context_t *context;       /* of an open stream, borrowed from the pool; else NULL */
    el_meter_t meter;
    apr_pool_t *pool;
    apr_bucket_brigade *brigade; /* output that was not taken yet */
    uint8_t *block;              /* being filled, or NULL */
    size_t used;
} el_encoder_t;

/*
 * Encodes a whole body of `len` bytes into the brigade. Returns false, with no output, if memory is
 * short or the engine failed.
 */
bool el_encoder_whole(el_encoder_t *encoder, const char *data, size_t len);

/*
 * Makes `encoder` one that has encoded a whole body, with the cached encoding in its brigade.
 * `meter` has the time of the look-up. Takes found->buffer.
 */
void el_encoder_found(el_encoder_t *encoder, el_found_t *found, const el_meter_t *meter,
                      const request_rec *r);

/*
 * Encodes `len` bytes as a body of their own, and returns only the measurement. `out` is 0 if
 * memory is short or the engine failed.
 */
el_measured_t el_encoder_try(const el_plan_t *plan, const char *data, size_t len);

/*
 * Opens a stream. Returns false if memory is short. A cleanup of encoder->pool returns the context,
 * so an aborted request leaks nothing.
 */
bool el_encoder_open(el_encoder_t *encoder);

/*
 * Encodes `len` bytes. After EL_FLUSH and EL_FINISH, all output is in the brigade. Returns false if
 * the engine failed; the stream cannot go on then.
 */
bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len);

/* Why the last of these functions failed in this thread, since the refusal was cleared. */
el_reason_t el_encoder_failure(void);

/* Returns the context early; does nothing if the stream is not open. */
void el_encoder_close(el_encoder_t *encoder);

/*
 * A filter's functions for its body. Each appends output to stream->out, and may call
 * el_stream_pass(). If the body cannot go on, it sets stream->error and returns an error.
 */
typedef struct {
    apr_status_t (*data)(ap_filter_t *f, void *owner, const char *data, apr_size_t len);

    /* Outputs everything taken so far; NULL if the filter holds nothing back. */
    apr_status_t (*flush)(ap_filter_t *f, void *owner);

    /* At EOS: the body is complete, unless stream->failed is set. */
    apr_status_t (*end)(ap_filter_t *f, void *owner);

    /* The response ends in error: frees the filter's resources. */
    void (*abandon)(ap_filter_t *f, void *owner);
} el_stream_ops_t;

/*
 * Bytes of the body that are kept in memory until the first output is passed on: as many as hold.c
 * gathers. gzip and zstd have output a block by then.
 */
#define EL_STREAM_COPIED (128 * 1024)

/* For filters that can undo their decision until output is passed on. */
typedef struct {
    /* Sets the header: the first bytes are about to be passed on. */
    void (*begin)(ap_filter_t *f, void *owner);

    /*
     * Takes the body over: `bb` has it from its beginning. It then gets later brigades, and frees
     * stream->out.
     */
    apr_status_t (*fall_back)(ap_filter_t *f, void *owner, apr_bucket_brigade *bb);
} el_stream_fallback_t;

typedef struct {
    const el_stream_ops_t *ops;
    void *owner;             /* argument of the functions */
    apr_bucket_brigade *out; /* output that was not passed on yet */
    const el_stream_fallback_t *fallback; /* NULL: there is none (any more) */
    apr_bucket_brigade *kept; /* the data taken while `fallback` is set; or NULL */
    apr_size_t kept_nbytes;   /* bytes of `kept` in memory */
    const uint64_t *made;    /* counts the output bytes */
    uint64_t passed_at;      /* `made` at the last el_stream_pass() */
    int error_status;        /* for a failure before the header is sent */
    const char *error;       /* for the log, why the body cannot go on; or NULL */
    bool eager;  /* pass the first bytes on at once, so that a client can render them */
    bool passed; /* something was passed on: the header is sent or soon will be */
    bool dirty;  /* data was taken since the last flush */
    bool failed; /* an ERROR bucket came: the body must not look complete */
    bool unchanged; /* with `error`: the body is sound, but cannot be changed */
    bool broken; /* the response ended in error; drop the rest */
} el_stream_t;

/*
 * Takes a brigade: gives its data to the filter's functions, passes their output on, and keeps
 * FLUSH and other metadata buckets in place. EOS ends the body and removes the filter.
 */
apr_status_t el_stream_run(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb);

/* Passes stream->out on. */
apr_status_t el_stream_pass(ap_filter_t *f, el_stream_t *stream);

/*
 * Ends the response so that the client notices: with error_status if no header was sent, else
 * without the last chunk. `what` is for the log. Returns `rv`, or an error if that is APR_SUCCESS.
 */
apr_status_t el_stream_break_off(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                 apr_status_t rv, const char *what);

#endif
