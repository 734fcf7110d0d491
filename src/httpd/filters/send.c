#include "httpd/filters/send.h"

#include "httpd/body/body.h"
#include "httpd/shared/stats.h"

#include "http_protocol.h"

static void count_failure(request_rec *r, el_send_t *send)
{
    send->facts.moment.outcome = EL_OUTCOME_FAILED;
    el_stats_skipped(r, el_decide(&send->facts).reason);
}

/* The notes that the stock modules set for HEAD, too. */
static void note_stock(request_rec *r, const el_send_t *send)
{
    const el_encoder_t *encoder = &send->encoder;

    if (send->stock) {
        el_stats_stock(r, send->stock, encoder->plan.engine->coding, &encoder->meter.used);
    }
}

static void count_encoded(request_rec *r, const el_send_t *send)
{
    const el_encoder_t *encoder = &send->encoder;
    const el_entry_t *kept = &send->kept.found.entry;

    if (send->is_kept) {
        el_stats_kept(r, kept->coding, kept->engine, kept->level, &encoder->meter.used);
    } else {
        el_stats_encoded(r, &encoder->plan, encoder->level, &encoder->meter.used);
    }
    note_stock(r, send);
}

static apr_status_t encode(el_send_t *send, el_op_t op, const char *data, apr_size_t len,
                           const char *error)
{
    if (el_encoder_put(&send->encoder, op, data, len)) {
        return APR_SUCCESS;
    }
    send->stream.error = error;
    send->stream.unmade = true;
    return APR_EGENERAL;
}

static apr_status_t encode_data(ap_filter_t *f, el_stream_t *stream, const char *data,
                                apr_size_t len)
{
    (void)f;
    return encode((el_send_t *)stream, EL_RUN, data, len, "the encoder failed");
}

static apr_status_t encode_flush(ap_filter_t *f, el_stream_t *stream)
{
    (void)f;
    return encode((el_send_t *)stream, EL_FLUSH, "", 0, "the encoder failed at a flush");
}

static apr_status_t encode_end(ap_filter_t *f, el_stream_t *stream)
{
    el_send_t *send = (el_send_t *)stream;
    const el_moment_t *moment = &send->facts.moment;
    apr_status_t rv;

    if (stream->failed) {
        count_failure(f->r, send);
    } else if (moment->size_known && send->encoder.meter.used.in < moment->size) {
        stream->error = "the body is shorter than was announced";
        return APR_EOF;
    } else {
        rv = encode(send, EL_FINISH, "", 0, "the encoder failed at the body's end");
        if (rv != APR_SUCCESS) {
            return rv;
        }
        count_encoded(f->r, send);
    }
    el_encoder_close(&send->encoder);
    return APR_SUCCESS;
}

static void abandon(ap_filter_t *f, el_stream_t *stream)
{
    el_send_t *send = (el_send_t *)stream;

    count_failure(f->r, send);
    el_encoder_close(&send->encoder);
}

void el_send_init(el_send_t *send)
{
    static const el_stream_ops_t ops = {encode_data, encode_flush, encode_end, abandon};

    send->stream.ops = &ops;
    send->stream.made = &send->encoder.meter.used.out;
    send->stream.error_status = HTTP_INTERNAL_SERVER_ERROR;
    send->stream.eager = true;
}

void el_send_begin(el_send_t *send)
{
    send->stream.out = send->encoder.brigade;
}

apr_status_t el_send_gather(el_send_t *send, apr_bucket_brigade *bb)
{
    el_moment_t *moment = &send->facts.moment;
    apr_status_t rv = send->gathered
                          ? APR_SUCCESS
                          : el_body_gather(bb, (size_t)moment->size, &send->whole);

    if (rv == APR_ENOMEM) {
        moment->outcome = el_encoder_failure();
        return APR_SUCCESS;
    }
    send->gathered = rv == APR_SUCCESS;
    return rv;
}

void el_send_release(el_send_t *send)
{
    el_kept_leave(&send->kept);
    if (send->gathered) {
        el_body_release(&send->whole);
        send->gathered = false;
    }
}

void el_send_take_kept(el_send_t *send, const request_rec *r)
{
    el_send_release(send);
    el_encoder_found(&send->encoder, &send->kept.found, &send->kept.meter, r);
    send->is_kept = true;
    el_send_begin(send);
}

static void encode_gathered(el_send_t *send, const el_policy_t *policy, bool must_encode)
{
    const el_usage_t *used = &send->encoder.meter.used;
    const el_whole_t *whole = &send->whole;
    el_moment_t *moment = &send->facts.moment;

    if (!el_encoder_whole(&send->encoder, whole->data, whole->nbytes)) {
        moment->outcome = el_encoder_failure();
    } else if (used->out >= used->in && !must_encode) {
        moment->outcome = EL_OUTCOME_NOT_SMALLER;
    } else {
        el_kept_store(&send->kept, policy, &send->encoder);
        if (send->exploration.coding != EL_IDENTITY) {
            el_exploration_run(&send->exploration, whole->data, whole->nbytes);
        }
    }
}

apr_status_t el_send_encode_whole(el_send_t *send, const el_policy_t *policy,
                                  apr_bucket_brigade *bb, bool must_encode)
{
    apr_status_t rv = el_send_gather(send, bb);

    if (rv == APR_SUCCESS && send->facts.moment.outcome == EL_OUTCOME_NONE) {
        encode_gathered(send, policy, must_encode);
    }
    el_send_release(send);
    return rv;
}

void el_send_whole_head(ap_filter_t *f, el_send_t *send)
{
    ap_set_content_length(f->r, (apr_off_t)send->encoder.meter.used.out);
    note_stock(f->r, send);
    el_encoder_close(&send->encoder);
    apr_brigade_cleanup(send->stream.out);
}

apr_status_t el_send_whole(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb)
{
    ap_set_content_length(f->r, (apr_off_t)send->encoder.meter.used.out);
    count_encoded(f->r, send);
    el_encoder_close(&send->encoder);
    APR_BRIGADE_INSERT_TAIL(send->stream.out, apr_bucket_eos_create(bb->bucket_alloc));
    apr_brigade_cleanup(bb);
    ap_remove_output_filter(f);
    return el_stream_pass(f, &send->stream);
}
