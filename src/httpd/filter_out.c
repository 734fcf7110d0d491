#include "filter_out.h"

#include "body.h"
#include "chain.h"
#include "conditional.h"
#include "encoder.h"
#include "request.h"
#include "response.h"
#include "settings.h"
#include "shared.h"

#include "http_log.h"
#include "http_protocol.h"

APLOG_USE_MODULE(elastic);

/*
 * A body that is complete in the first brigade and not larger than this is encoded before the
 * header goes, so that its length is known. Larger ones are streamed, which keeps the memory of a
 * response bounded.
 */
#define WHOLE_BODY_MAX (1024 * 1024)

/*
 * Output is passed on in pieces of this size: below the 64 KB from which httpd blocks on a slow
 * client.
 */
#define PASS_SIZE (32 * 1024)

/*
 * How long a body that has not shown its size yet is waited for when its producer, a CGI script,
 * has nothing at hand: a tenth of a second, once per response, goes unnoticed; a script that has
 * written all it has needs a part of it to exit.
 */
#define PATIENCE apr_time_from_msec(100)

typedef enum {
    HOLDING,    /* the decision waits for more of the body */
    ENCODING,   /* each brigade is encoded as it comes */
    DISCARDING, /* HEAD: the body is dropped before its length becomes the header's */
    BROKEN      /* the response ended in error; whatever still comes is dropped */
} phase_t;

typedef struct {
    phase_t phase;
    bool passed; /* something went down the chain: the header is out, or soon will be */
    bool failed; /* an ERROR bucket came by: the body must not look whole */
    bool length_known;
    uint64_t length; /* of the identity body */
    apr_interval_time_t patience;
    apr_bucket_brigade *held;
    el_facts_t facts;
    el_encoder_t encoder;
} out_t;

static apr_status_t pass_on(ap_filter_t *f, out_t *out)
{
    apr_bucket_brigade *bb = out->encoder.brigade;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    out->passed = true;
    rv = ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv;
}

/*
 * Ends the response so that the client sees it is broken: before the header with a 500, after it
 * with the error that makes httpd leave out the last chunk and close.
 */
static apr_status_t break_off(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_status_t rv,
                              const char *what)
{
    request_rec *r = f->r;
    int status = out->passed ? HTTP_BAD_GATEWAY : HTTP_INTERNAL_SERVER_ERROR;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "elastic: %s: the response to %s ends in error",
                  what, r->uri);
    el_account_skipped(r, EL_REASON_ERROR);
    el_encoder_close(&out->encoder, r->pool);
    out->phase = BROKEN;
    /* mod_cache would keep what it has as the whole. */
    r->no_cache = 1;
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv != APR_SUCCESS ? rv : APR_EGENERAL;
}

/* The response depended, or could have depended, on what the request accepts. */
static void negotiated(request_rec *r)
{
    el_response_vary(r);
    if (el_request_void_range(r)) {
        el_request_drop_range(r);
    }
}

/* The body goes on as it is. */
static apr_status_t step_aside(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                               el_decision_t decision)
{
    static const bool deliberate[EL_REASON_COUNT] = {
        [EL_REASON_SMALL] = true,       [EL_REASON_NOT_ACCEPTABLE] = true,
        [EL_REASON_RANGE] = true,       [EL_REASON_NO_TRANSFORM] = true,
        [EL_REASON_BYPASS] = true,      [EL_REASON_NOT_SMALLER] = true,
        [EL_REASON_ERROR] = true,
    };

    if (decision.vary) {
        negotiated(f->r);
    }
    if (out->facts.status == HTTP_NOT_MODIFIED && decision.reason == EL_REASON_STATUS) {
        el_conditional_not_modified(f->r);
    }
    if (deliberate[decision.reason] && el_chain_has_stock(f->next)) {
        el_response_keep_identity(f->r);
    }
    el_account_skipped(f->r, decision.reason);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static int level_for(request_rec *r, el_coding_t coding)
{
    el_range_t range = el_dir_range(el_dir_of(r), coding);
    el_control_state_t control = el_state_control(el_shared.state);

    if (el_shared.control.mode == EL_CONTROL_OFF) {
        return range.max;
    }
    return el_ladder_level(range, control.position, control.top);
}

static void set_header(request_rec *r, el_coding_t coding)
{
    negotiated(r);
    el_response_set_coding(r, coding, el_dir_etag(el_dir_of(r)));
}

static bool ended_early(const out_t *out)
{
    return out->length_known && out->encoder.usage.in < out->length;
}

/* Ends the encoded body; `bb` begins with EOS. */
static apr_status_t finish(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &out->encoder;

    if (out->failed) {
        el_account_skipped(f->r, EL_REASON_ERROR);
    } else if (ended_early(out)) {
        return break_off(f, out, bb, APR_EOF, "the body is shorter than was announced");
    } else if (!el_encoder_put(encoder, EL_FINISH, NULL, 0)) {
        return break_off(f, out, bb, APR_EGENERAL, "the encoder failed at the body's end");
    } else {
        el_account_encoded(f->r, encoder->engine, encoder->level, &encoder->usage);
    }
    el_encoder_close(encoder, f->r->pool);
    APR_BRIGADE_CONCAT(encoder->brigade, bb);
    ap_remove_output_filter(f);
    return pass_on(f, out);
}

/* Puts out all input so far, and `bucket`, which is a FLUSH. */
static apr_status_t flush(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_bucket *bucket)
{
    el_encoder_t *encoder = &out->encoder;

    if (encoder->dirty && !el_encoder_put(encoder, EL_FLUSH, NULL, 0)) {
        apr_bucket_destroy(bucket);
        return break_off(f, out, bb, APR_EGENERAL, "the encoder failed at a flush");
    }
    APR_BRIGADE_INSERT_TAIL(encoder->brigade, bucket);
    return pass_on(f, out);
}

/* Moves a bucket without data on; EOS is not among them. */
static apr_status_t forward(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_bucket *bucket)
{
    APR_BUCKET_REMOVE(bucket);
    if (APR_BUCKET_IS_FLUSH(bucket)) {
        return flush(f, out, bb, bucket);
    }
    out->failed = out->failed || AP_BUCKET_IS_ERROR(bucket);
    APR_BRIGADE_INSERT_TAIL(out->encoder.brigade, bucket);
    return APR_SUCCESS;
}

/* Encodes the bucket that `bb` begins with. */
static apr_status_t encode_bucket(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &out->encoder;
    apr_bucket *bucket = APR_BRIGADE_FIRST(bb);
    const char *data;
    apr_size_t len;
    apr_status_t rv = el_body_read(bucket, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        /* The producer pauses: the client gets what there is before anybody waits. */
        rv = encoder->dirty || !out->passed
                 ? flush(f, out, bb, apr_bucket_flush_create(bb->bucket_alloc))
                 : APR_SUCCESS;
        if (rv != APR_SUCCESS) {
            return rv;
        }
        rv = el_body_read(bucket, &data, &len, APR_BLOCK_READ);
    }
    if (rv != APR_SUCCESS) {
        return break_off(f, out, bb, rv, "the body cannot be read");
    }
    if (!el_encoder_put(encoder, EL_RUN, data, len)) {
        return break_off(f, out, bb, APR_EGENERAL, "the encoder failed");
    }
    apr_bucket_delete(bucket);
    return APR_SUCCESS;
}

static apr_status_t encode_stream(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;
    uint64_t passed_at = out->encoder.usage.out;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(bucket)) {
            return finish(f, out, bb);
        }
        rv = APR_BUCKET_IS_METADATA(bucket) ? forward(f, out, bb, bucket)
                                            : encode_bucket(f, out, bb);
        if (rv == APR_SUCCESS && out->encoder.usage.out - passed_at >= PASS_SIZE) {
            passed_at = out->encoder.usage.out;
            rv = pass_on(f, out);
        }
    }
    if (rv == APR_SUCCESS) {
        rv = pass_on(f, out);
    }
    apr_brigade_cleanup(bb);
    return rv;
}

/*
 * Encodes a complete body into the encoder's brigade; `bb` keeps the identity until it is clear
 * which one goes.
 */
static apr_status_t encode_whole(out_t *out, apr_bucket_brigade *bb, el_reason_t *reason)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); !APR_BUCKET_IS_EOS(e); e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;
        apr_status_t rv;

        if (APR_BUCKET_IS_METADATA(e)) {
            continue;
        }
        rv = el_body_read(e, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        if (!el_encoder_put(&out->encoder, EL_RUN, data, len)) {
            *reason = EL_REASON_ERROR;
            return APR_SUCCESS;
        }
    }
    if (ended_early(out)) {
        return APR_EOF;
    }
    if (!el_encoder_put(&out->encoder, EL_FINISH, NULL, 0)) {
        *reason = EL_REASON_ERROR;
    } else if (out->encoder.usage.out >= out->encoder.usage.in
               && el_accept_takes(&out->facts.accept, EL_IDENTITY)) {
        *reason = EL_REASON_NOT_SMALLER;
    }
    return APR_SUCCESS;
}

/* The encoder failed before anything was sent: identity is still possible. */
static apr_status_t fall_back(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                              el_decision_t decision)
{
    el_encoder_t *encoder = &out->encoder;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, encoder->stream ? APR_SUCCESS : APR_ENOMEM, f->r,
                  "elastic: the encoder %s failed; %s goes out as it is", encoder->engine->name,
                  f->r->uri);
    if (encoder->brigade) {
        el_encoder_close(encoder, f->r->pool);
        apr_brigade_cleanup(encoder->brigade);
    }
    decision.reason = EL_REASON_ERROR;
    return step_aside(f, out, bb, decision);
}

static apr_status_t send_whole(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                               el_decision_t decision)
{
    el_encoder_t *encoder = &out->encoder;
    apr_status_t rv = encode_whole(out, bb, &decision.reason);

    if (rv != APR_SUCCESS) {
        return break_off(f, out, bb, rv, "the body cannot be read to its end");
    }
    if (decision.reason == EL_REASON_ERROR) {
        return fall_back(f, out, bb, decision);
    }
    el_encoder_close(encoder, f->r->pool);
    if (decision.reason == EL_REASON_NOT_SMALLER) {
        apr_brigade_cleanup(encoder->brigade);
        return step_aside(f, out, bb, decision);
    }
    set_header(f->r, decision.coding);
    ap_set_content_length(f->r, (apr_off_t)encoder->usage.out);
    el_account_encoded(f->r, encoder->engine, encoder->level, &encoder->usage);
    APR_BRIGADE_INSERT_TAIL(encoder->brigade, apr_bucket_eos_create(bb->bucket_alloc));
    apr_brigade_cleanup(bb);
    ap_remove_output_filter(f);
    return pass_on(f, out);
}

/* The body of a HEAD response is dropped: its length would become the header's. */
static apr_status_t discard(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *next;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
        }
    }
    return ap_pass_brigade(f->next, bb);
}

/*
 * Encodes the first of a stream's data while the header can still say identity: an encoder makes its
 * large tables now. False where it fails; `bb` is whole then.
 */
static bool encode_first(out_t *out, apr_bucket_brigade *bb)
{
    apr_bucket *bucket = APR_BRIGADE_FIRST(bb);
    const char *data;
    apr_size_t len;

    if (APR_BUCKET_IS_METADATA(bucket)
        || el_body_read(bucket, &data, &len, APR_NONBLOCK_READ) != APR_SUCCESS) {
        return true;
    }
    if (!el_encoder_put(&out->encoder, EL_RUN, data, len)) {
        return false;
    }
    apr_bucket_delete(bucket);
    return true;
}

static apr_status_t start_encoding(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                                   el_decision_t decision, const el_measure_t *measure)
{
    const el_engine_t *engine = el_engine_for(decision.coding);

    if (!el_encoder_open(&out->encoder, engine, level_for(f->r, decision.coding), out->length,
                         f->r->pool, bb->bucket_alloc)) {
        return fall_back(f, out, bb, decision);
    }
    if (measure->complete && measure->plain && measure->size <= WHOLE_BODY_MAX) {
        return send_whole(f, out, bb, decision);
    }
    if (!encode_first(out, bb)) {
        return fall_back(f, out, bb, decision);
    }
    set_header(f->r, decision.coding);
    out->phase = ENCODING;
    return encode_stream(f, out, bb);
}

/* Everything that will be known is known: `bb` holds the body from its beginning. */
static apr_status_t decide(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_facts_t *facts = &out->facts;
    el_measure_t measure = el_body_measure(bb);
    el_decision_t decision;

    /* The empty body of a HEAD says nothing about GET's. */
    if (measure.complete && (measure.size > 0 || !facts->head)) {
        out->length_known = true;
        out->length = measure.size;
    } else {
        out->length_known = el_response_length(f->r, &out->length);
    }
    facts->size_known = out->length_known;
    facts->size = out->length_known ? out->length : measure.size;
    el_request_min_size(f->r, facts);
    decision = el_decide(facts);
    if (decision.coding == EL_IDENTITY) {
        return step_aside(f, out, bb, decision);
    }
    if (decision.reason == EL_REASON_HEAD) {
        set_header(f->r, decision.coding);
        el_account_skipped(f->r, EL_REASON_HEAD);
        out->phase = DISCARDING;
        return discard(f, bb);
    }
    return start_encoding(f, out, bb, decision, &measure);
}

/* Whether the decision can be made with `bb`; where not, its buckets are kept for the next call. */
static bool can_decide(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_status_t *rv)
{
    uint64_t length;

    *rv = APR_SUCCESS;
    if (!out->held) {
        if (el_body_measure(bb).complete || el_response_length(f->r, &length)) {
            return true;
        }
        el_request_min_size(f->r, &out->facts);
    }
    switch (el_body_look(bb, out->facts.min_size, &out->facts.size, &out->patience, rv)) {
    case EL_LOOK_MORE:
        *rv = ap_save_brigade(f, &out->held, &bb, f->r->pool);
        return false;
    case EL_LOOK_FAILED:
        *rv = break_off(f, out, bb, *rv, "the body cannot be read");
        return false;
    default:
        if (out->held) {
            APR_BRIGADE_PREPEND(bb, out->held);
        }
        return true;
    }
}

/*
 * The first call: takes the response, unless another instance has. Where the answer is already
 * clear without the body, the filter steps aside at once and `*rv` is the brigade's. NULL: the
 * filter is gone.
 */
static out_t *take_response(ap_filter_t *f, apr_bucket_brigade *bb, apr_status_t *rv)
{
    el_request_t *request = el_request_of(f->r);
    el_decision_t decision;
    out_t *out;

    if (f->r->main || request->claimed) {
        ap_remove_output_filter(f);
        *rv = ap_pass_brigade(f->next, bb);
        return NULL;
    }
    request->claimed = true;
    out = f->ctx = apr_pcalloc(f->r->pool, sizeof(*out));
    out->patience = PATIENCE;
    out->facts = el_request_facts(f->r, el_chain_by_type(f));
    decision = el_decide(&out->facts);
    if (decision.coding == EL_IDENTITY) {
        *rv = step_aside(f, out, bb, decision);
        return NULL;
    }
    return out;
}

apr_status_t el_filter_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    out_t *out = f->ctx;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!out) {
        out = take_response(f, bb, &rv);
        if (!out) {
            return rv;
        }
    }
    if (f->r->connection->aborted) {
        apr_brigade_cleanup(bb);
        return APR_ECONNABORTED;
    }
    switch (out->phase) {
    case HOLDING:
        return can_decide(f, out, bb, &rv) ? decide(f, out, bb) : rv;
    case ENCODING:
        return encode_stream(f, out, bb);
    case DISCARDING:
        return discard(f, bb);
    default:
        apr_brigade_cleanup(bb);
        return APR_EGENERAL;
    }
}
