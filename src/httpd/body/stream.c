#include "httpd/body/stream.h"

#include "httpd/body/body.h"

#include "http_log.h"
#include "http_protocol.h"

EL_USE_LOG;

/*
 * Output is passed on in pieces of this size: below the 64 KB from which httpd blocks on a slow
 * client.
 */
#define PASS_SIZE (32 * 1024)

static void forget_kept(el_stream_t *stream)
{
    stream->fallback = NULL;
    if (stream->kept) {
        apr_brigade_cleanup(stream->kept);
    }
}

/* From now on the body goes out as it was decided, or ends in error. */
static void commit(ap_filter_t *f, el_stream_t *stream)
{
    if (stream->fallback) {
        stream->fallback->begin(f, stream->owner);
        forget_kept(stream);
    }
}

apr_status_t el_stream_pass(ap_filter_t *f, el_stream_t *stream)
{
    apr_status_t rv;

    stream->passed_at = *stream->made;
    if (APR_BRIGADE_EMPTY(stream->out)) {
        return APR_SUCCESS;
    }
    stream->passed = true;
    commit(f, stream);
    rv = ap_pass_brigade(f->next, stream->out);
    apr_brigade_cleanup(stream->out);
    return rv;
}

apr_status_t el_stream_break_off(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                 apr_status_t rv, const char *what)
{
    request_rec *r = f->r;
    int status = stream->passed ? HTTP_BAD_GATEWAY : stream->error_status;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "elastic: the response to %s ends in error: %s",
                  r->uri, what);
    stream->ops->abandon(f, stream->owner);
    stream->broken = true;
    forget_kept(stream);
    /* mod_cache would keep what it has as the whole. */
    r->no_cache = 1;
    if (stream->out) {
        apr_brigade_cleanup(stream->out);
    }
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv != APR_SUCCESS ? rv : APR_EGENERAL;
}

/* Puts out all that was taken so far and passes it on, with `bucket`, which is a FLUSH. */
static apr_status_t flush(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket)
{
    apr_status_t rv = APR_SUCCESS;

    if (stream->dirty && stream->ops->flush) {
        rv = stream->ops->flush(f, stream->owner);
    }
    stream->dirty = false;
    APR_BRIGADE_INSERT_TAIL(stream->out, bucket);
    return rv == APR_SUCCESS ? el_stream_pass(f, stream) : rv;
}

/* Moves a metadata bucket on; EOS is not among them. */
static apr_status_t forward(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket)
{
    APR_BUCKET_REMOVE(bucket);
    if (APR_BUCKET_IS_FLUSH(bucket)) {
        return flush(f, stream, bucket);
    }
    stream->failed = stream->failed || AP_BUCKET_IS_ERROR(bucket);
    APR_BRIGADE_INSERT_TAIL(stream->out, bucket);
    return APR_SUCCESS;
}

/* Reads `bucket`; before a wait for more, the client gets what there is. */
static apr_status_t read_bucket(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket,
                                const char **data, apr_size_t *len)
{
    apr_status_t rv = el_body_read(bucket, data, len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        if (stream->dirty || !stream->passed || !APR_BRIGADE_EMPTY(stream->out)) {
            rv = flush(f, stream, apr_bucket_flush_create(f->r->connection->bucket_alloc));
            if (rv != APR_SUCCESS) {
                return rv;
            }
        }
        rv = el_body_read(bucket, data, len, APR_BLOCK_READ);
    }
    if (rv != APR_SUCCESS) {
        stream->error = "the body cannot be read";
    }
    return rv;
}

/*
 * What is kept of `bucket`, before reading it makes memory of its first piece: of a file, a
 * reference to all that is left of it; NULL where that is the bucket itself.
 */
static apr_bucket *refer(const el_stream_t *stream, apr_bucket *bucket)
{
    apr_bucket *reference = NULL;

    if (stream->fallback && APR_BUCKET_IS_FILE(bucket)) {
        apr_bucket_copy(bucket, &reference);
    }
    return reference;
}

/* `bucket` was taken; the reference to it may be NULL. */
static void keep_bucket(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket,
                        apr_bucket *reference)
{
    apr_bucket *kept = reference ? reference : bucket;

    if (!stream->fallback) {
        apr_bucket_delete(bucket);
        return;
    }
    if (!stream->kept) {
        stream->kept = apr_brigade_create(f->r->pool, f->r->connection->bucket_alloc);
    }
    if (reference) {
        reference->length = bucket->length;
        apr_bucket_delete(bucket);
    } else {
        stream->kept_nbytes += bucket->length;
        APR_BUCKET_REMOVE(bucket);
    }
    APR_BRIGADE_INSERT_TAIL(stream->kept, kept);
}

/*
 * The body cannot go on. Where all of it is at hand, and nothing was passed on, it goes another
 * way; other buckets than data, of which `out` has some, hold wherever they stand before EOS.
 */
static apr_status_t stop(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                         apr_status_t rv)
{
    if (!stream->unchanged || !stream->fallback) {
        return el_stream_break_off(f, stream, bb, rv, stream->error);
    }
    el_body_drop(stream->out);
    APR_BRIGADE_PREPEND(bb, stream->out);
    if (stream->kept) {
        APR_BRIGADE_PREPEND(bb, stream->kept);
    }
    return stream->fallback->fall_back(f, stream->owner, bb);
}

/* Takes the data of `bucket`, and the bucket. */
static apr_status_t take_bucket(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket)
{
    apr_bucket *reference = refer(stream, bucket);
    const char *data;
    apr_size_t len;
    apr_status_t rv = read_bucket(f, stream, bucket, &data, &len);

    if (rv == APR_SUCCESS) {
        stream->dirty = stream->dirty || len > 0;
        rv = stream->ops->data(f, stream->owner, data, len);
    }
    if (rv == APR_SUCCESS) {
        keep_bucket(f, stream, bucket, reference);
    } else if (reference) {
        apr_bucket_destroy(reference);
    }
    return rv;
}

/* `bb` begins with EOS. */
static apr_status_t end(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb)
{
    apr_status_t rv = stream->ops->end(f, stream->owner);

    if (rv != APR_SUCCESS) {
        return stop(f, stream, bb, rv);
    }
    APR_BRIGADE_CONCAT(stream->out, bb);
    ap_remove_output_filter(f);
    return el_stream_pass(f, stream);
}

static bool is_pass_due(const el_stream_t *stream)
{
    return (stream->eager && !stream->passed && *stream->made > 0)
           || *stream->made - stream->passed_at >= PASS_SIZE;
}

apr_status_t el_stream_run(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(bucket)) {
            return end(f, stream, bb);
        }
        rv = APR_BUCKET_IS_METADATA(bucket) ? forward(f, stream, bucket)
                                            : take_bucket(f, stream, bucket);
        if (rv == APR_SUCCESS && is_pass_due(stream)) {
            rv = el_stream_pass(f, stream);
        }
        if (stream->kept_nbytes > EL_STREAM_COPIED) {
            commit(f, stream);
        }
    }
    if (stream->error) {
        return stop(f, stream, bb, rv);
    }
    if (rv == APR_SUCCESS) {
        rv = el_stream_pass(f, stream);
    }
    /* What is kept outlasts this call of the filter, but a file need not. */
    if (stream->kept && el_body_set_aside(stream->kept, f->r->pool, 0) != APR_SUCCESS) {
        commit(f, stream);
    }
    apr_brigade_cleanup(bb);
    return rv;
}
