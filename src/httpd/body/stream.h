/*
 * A body on its way through an output filter that changes it: reads the brigades, hands the data to
 * the filter's functions, passes on what they make, keeps FLUSH and other metadata buckets in their
 * places, and ends a response that cannot be ended well. It belongs to one response.
 */
#ifndef ELASTIC_BODY_STREAM_H
#define ELASTIC_BODY_STREAM_H

#include "httpd/config/glue.h"

#include "apr_buckets.h"
#include "util_filter.h"

/*
 * What a filter does with its body; `owner` is the stream's. Each appends what it makes to
 * stream->out, and may pass that on with el_stream_pass(). Where the body cannot go on, it sets
 * stream->error and returns an error.
 */
typedef struct {
    apr_status_t (*data)(ap_filter_t *f, void *owner, const char *data, apr_size_t len);

    /* Puts out all that was taken so far. NULL where nothing is held back. */
    apr_status_t (*flush)(ap_filter_t *f, void *owner);

    /* The body is complete, or stream->failed is set. */
    apr_status_t (*end)(ap_filter_t *f, void *owner);

    /* The response ends in error: frees what the stream holds. */
    void (*abandon)(ap_filter_t *f, void *owner);
} el_stream_ops_t;

/*
 * So many bytes of the body are kept in memory until the first of what is made is passed on, beside
 * what lies in a file. A body that comes piece by piece was gathered to this size before it is
 * streamed, so that it takes no more memory now; and gzip and zstd have put out a block by then.
 */
#define EL_STREAM_COPIED (128 * 1024)

/* What a filter does that can still take back its decision while nothing was passed on. */
typedef struct {
    /* The first bytes are about to be passed on: sets the header. */
    void (*begin)(ap_filter_t *f, void *owner);

    /* Takes `bb`, the body from its beginning, whatever still comes, and stream->out. */
    apr_status_t (*fall_back)(ap_filter_t *f, void *owner, apr_bucket_brigade *bb);
} el_stream_fallback_t;

typedef struct {
    const el_stream_ops_t *ops;
    void *owner; /* what the filter has of the response: its functions get it */
    apr_bucket_brigade *out; /* made and not passed on yet */
    const el_stream_fallback_t *fallback; /* NULL: there is none, or there is none any more */
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
    bool broken; /* the response ended in error; whatever still comes is dropped */
} el_stream_t;

/* Takes a brigade; with EOS the body is ended and the filter removed. */
apr_status_t el_stream_run(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb);

/* Passes on what is in stream->out. */
apr_status_t el_stream_pass(ap_filter_t *f, el_stream_t *stream);

/*
 * Ends the response so that the client sees it is broken: before the header with stream's
 * error_status, after it with the error that makes httpd leave out the last chunk and close. `what`
 * is for the log. Returns `rv`, or an error where that is none.
 */
apr_status_t el_stream_break_off(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                 apr_status_t rv, const char *what);

#endif
