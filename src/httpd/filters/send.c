#include "httpd/filters/send.h"

#include "httpd/body/body.h"

#include "http_log.h"
#include "http_protocol.h"

EL_USE_LOG;

/*
 * Output is passed on in pieces of this size: below the 64 KB from which httpd blocks on a slow
 * client.
 */
#define PASS_SIZE (32 * 1024)

static apr_status_t pass_on(ap_filter_t *f, el_send_t *send)
{
    apr_bucket_brigade *bb = send->encoder.brigade;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    send->passed = true;
    rv = ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv;
}

apr_status_t el_send_break_off(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb,
                               apr_status_t rv, const char *what)
{
    request_rec *r = f->r;
    int status = send->passed ? HTTP_BAD_GATEWAY : HTTP_INTERNAL_SERVER_ERROR;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "elastic: %s: the response to %s ends in error",
                  what, r->uri);
    el_account_skipped(r, EL_REASON_ERROR);
    el_encoder_close(&send->encoder);
    send->broken = true;
    /* mod_cache would keep what it has as the whole. */
    r->no_cache = 1;
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv != APR_SUCCESS ? rv : APR_EGENERAL;
}

static void account(request_rec *r, const el_send_t *send)
{
    const el_encoder_t *encoder = &send->encoder;

    el_account_encoded(r, &encoder->plan, encoder->level, &encoder->usage);
    if (send->stock) {
        el_account_stock(r, send->stock, encoder->plan.engine->coding, &encoder->usage);
    }
}

static bool ended_early(const el_send_t *send)
{
    return send->length_known && send->encoder.usage.in < send->length;
}

/* Ends the encoded body; `bb` begins with EOS. */
static apr_status_t finish(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &send->encoder;

    if (send->failed) {
        el_account_skipped(f->r, EL_REASON_ERROR);
    } else if (ended_early(send)) {
        return el_send_break_off(f, send, bb, APR_EOF, "the body is shorter than was announced");
    } else if (!el_encoder_put(encoder, EL_FINISH, NULL, 0)) {
        return el_send_break_off(f, send, bb, APR_EGENERAL, "the encoder failed at the body's end");
    } else {
        account(f->r, send);
    }
    el_encoder_close(encoder);
    APR_BRIGADE_CONCAT(encoder->brigade, bb);
    ap_remove_output_filter(f);
    return pass_on(f, send);
}

/* Puts out all input so far, and `bucket`, which is a FLUSH. */
static apr_status_t flush(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb,
                          apr_bucket *bucket)
{
    el_encoder_t *encoder = &send->encoder;

    if (encoder->dirty && !el_encoder_put(encoder, EL_FLUSH, NULL, 0)) {
        apr_bucket_destroy(bucket);
        return el_send_break_off(f, send, bb, APR_EGENERAL, "the encoder failed at a flush");
    }
    APR_BRIGADE_INSERT_TAIL(encoder->brigade, bucket);
    return pass_on(f, send);
}

/* Moves a bucket without data on; EOS is not among them. */
static apr_status_t forward(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb,
                            apr_bucket *bucket)
{
    APR_BUCKET_REMOVE(bucket);
    if (APR_BUCKET_IS_FLUSH(bucket)) {
        return flush(f, send, bb, bucket);
    }
    send->failed = send->failed || AP_BUCKET_IS_ERROR(bucket);
    APR_BRIGADE_INSERT_TAIL(send->encoder.brigade, bucket);
    return APR_SUCCESS;
}

/* Encodes the bucket that `bb` begins with. */
static apr_status_t encode_bucket(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &send->encoder;
    apr_bucket *bucket = APR_BRIGADE_FIRST(bb);
    const char *data;
    apr_size_t len;
    apr_status_t rv = el_body_read(bucket, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        /* The producer pauses: the client gets what there is before anybody waits. */
        rv = encoder->dirty || !send->passed
                 ? flush(f, send, bb, apr_bucket_flush_create(bb->bucket_alloc))
                 : APR_SUCCESS;
        if (rv != APR_SUCCESS) {
            return rv;
        }
        rv = el_body_read(bucket, &data, &len, APR_BLOCK_READ);
    }
    if (rv != APR_SUCCESS) {
        return el_send_break_off(f, send, bb, rv, "the body cannot be read");
    }
    if (!el_encoder_put(encoder, EL_RUN, data, len)) {
        return el_send_break_off(f, send, bb, APR_EGENERAL, "the encoder failed");
    }
    apr_bucket_delete(bucket);
    return APR_SUCCESS;
}

apr_status_t el_send_stream(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;
    uint64_t passed_at = send->encoder.usage.out;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(bucket)) {
            return finish(f, send, bb);
        }
        rv = APR_BUCKET_IS_METADATA(bucket) ? forward(f, send, bb, bucket)
                                            : encode_bucket(f, send, bb);
        /* The client has something to read, and to render, as soon as there is something. */
        if (rv == APR_SUCCESS && ((!send->passed && send->encoder.usage.out > 0)
                                  || send->encoder.usage.out - passed_at >= PASS_SIZE)) {
            passed_at = send->encoder.usage.out;
            rv = pass_on(f, send);
        }
    }
    if (rv == APR_SUCCESS) {
        rv = pass_on(f, send);
    }
    apr_brigade_cleanup(bb);
    return rv;
}

bool el_send_first(el_send_t *send, apr_bucket_brigade *bb)
{
    apr_bucket *bucket = APR_BRIGADE_FIRST(bb);
    const char *data;
    apr_size_t len;

    if (!el_encoder_open(&send->encoder)) {
        return false;
    }
    if (APR_BUCKET_IS_METADATA(bucket)
        || el_body_read(bucket, &data, &len, APR_NONBLOCK_READ) != APR_SUCCESS) {
        return true;
    }
    if (!el_encoder_put(&send->encoder, EL_RUN, data, len)) {
        return false;
    }
    apr_bucket_delete(bucket);
    return true;
}

apr_status_t el_send_encode_whole(el_send_t *send, apr_bucket_brigade *bb, bool must_encode,
                                  el_reason_t *reason)
{
    el_usage_t *usage = &send->encoder.usage;
    el_whole_t whole;
    apr_status_t rv = el_body_gather(bb, (size_t)send->length, &whole);

    if (rv == APR_ENOMEM) {
        *reason = EL_REASON_ERROR;
        return APR_SUCCESS;
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!el_encoder_whole(&send->encoder, whole.data, whole.nbytes)) {
        *reason = EL_REASON_ERROR;
    } else if (usage->out >= usage->in && !must_encode) {
        *reason = EL_REASON_NOT_SMALLER;
    }
    el_body_release(&whole);
    return APR_SUCCESS;
}

apr_status_t el_send_whole(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &send->encoder;

    ap_set_content_length(f->r, (apr_off_t)encoder->usage.out);
    account(f->r, send);
    el_encoder_close(encoder);
    APR_BRIGADE_INSERT_TAIL(encoder->brigade, apr_bucket_eos_create(bb->bucket_alloc));
    apr_brigade_cleanup(bb);
    ap_remove_output_filter(f);
    return pass_on(f, send);
}
