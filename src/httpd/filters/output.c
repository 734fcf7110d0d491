#include "httpd/filters/output.h"

#include "httpd/body/body.h"
#include "httpd/response/chain.h"
#include "httpd/response/choice.h"
#include "httpd/response/conditional.h"
#include "httpd/config/policy.h"
#include "httpd/response/probe.h"
#include "httpd/response/request.h"
#include "httpd/response/response.h"
#include "httpd/filters/send.h"
#include "httpd/state/shared.h"

#include "engines/pool.h"

#include "http_log.h"
#include "http_protocol.h"

EL_USE_LOG;

/*
 * How long the end of a body is waited for: a tenth of a second, once per response, goes unnoticed.
 * A CGI script that has written all it has needs a part of it to exit.
 */
#define PATIENCE 100000 /* µs */

/* And how long of that when such a script has nothing at hand, but has written enough to encode. */
#define PAUSE 10000 /* µs */

/*
 * A body that comes piece by piece, as from php-fpm or a script, is gathered up to this size,
 * to be encoded in one call: gzip then takes half of the time. Most pages are smaller, and a stream
 * would show little of them before: zlib keeps some 64 KB to itself until it writes a block.
 */
#define GATHERED (128 * 1024)

typedef enum {
    HOLDING,    /* the decision waits for more of the body */
    ENCODING,   /* each brigade is encoded as it comes */
    DISCARDING  /* HEAD: the body is dropped before its length becomes the header's */
} phase_t;

typedef struct {
    el_record_t record;
    phase_t phase;
    el_wait_t wait;
    bool waits; /* the body's end is waited for, as `wait` says */
    apr_bucket_brigade *held;
    el_facts_t facts;
    el_send_t send;
} out_t;

/* The response depended, or could have depended, on what the request accepts. */
static void negotiated(request_rec *r)
{
    el_response_vary(r);
    if (el_request_void_range(r)) {
        el_request_drop_range(r);
    }
}

/*
 * Whether the identity was meant to go out, so that no compressor behind is to touch it. What is
 * too small, or of no use to the client, in the one coding of a drop-in filter may have another.
 */
static bool is_final(el_record_t record, el_reason_t reason)
{
    switch (reason) {
    case EL_REASON_SMALL:
    case EL_REASON_NOT_ACCEPTABLE:
        return !el_policy_is_stock(record);
    case EL_REASON_RANGE:
    case EL_REASON_NO_TRANSFORM:
    case EL_REASON_BYPASS:
    case EL_REASON_NOT_SMALLER:
    case EL_REASON_ERROR:
        return true;
    default:
        return false;
    }
}

/* Whether another of our filters stands behind and may take the response. */
static bool another_follows(const ap_filter_t *f)
{
    for (int record = 0; record < EL_RECORDS; record++) {
        if (el_chain_has(f->next, (el_record_t)record)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether a filter of ours behind has a coding that the client prefers (by q; between equals the
 * first in the chain wins): that one is left to it.
 */
static bool better_follows(const ap_filter_t *f, const el_facts_t *facts, el_coding_t mine)
{
    for (int record = 0; record < EL_RECORDS; record++) {
        el_coding_t order[EL_CODINGS];
        size_t count = el_chain_has(f->next, (el_record_t)record)
                           ? el_request_codings(f->r, (el_record_t)record, order, NULL)
                           : 0;

        for (size_t i = 0; i < count; i++) {
            if (facts->accept.q[order[i]] > facts->accept.q[mine]) {
                return true;
            }
        }
    }
    return false;
}

/* The body goes on as it is. */
static apr_status_t step_aside(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                               el_decision_t decision)
{
    if (decision.vary) {
        negotiated(f->r);
    }
    if (out->facts.status == HTTP_NOT_MODIFIED && decision.reason == EL_REASON_STATUS) {
        el_conditional_not_modified(f->r);
    }
    if (is_final(out->record, decision.reason)) {
        el_request_of(f->r)->claimed = true;
        if (el_chain_has_stock(f->next)) {
            el_response_keep_identity(f->r);
        }
    }
    if (el_request_of(f->r)->claimed || !another_follows(f)) {
        el_account_skipped(f->r, decision.reason);
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static void set_header(request_rec *r, const out_t *out, el_coding_t coding)
{
    negotiated(r);
    el_response_set_coding(r, coding, el_policy_etag(r, out->record));
}

/* An encoder was planned, but the identity goes: nothing was sent yet. */
static apr_status_t fall_back(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                              el_decision_t decision)
{
    el_encoder_t *encoder = &out->send.encoder;

    if (decision.reason == EL_REASON_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r,
                      "elastic: the encoder %s failed, or memory is short; %s goes out as it is",
                      encoder->plan.engine->name, f->r->uri);
    }
    if (decision.reason == EL_REASON_NOT_SMALLER) {
        el_probe_learn(f->r, encoder->usage.in, encoder->usage.out);
    }
    el_encoder_close(encoder);
    apr_brigade_cleanup(encoder->brigade);
    return step_aside(f, out, bb, decision);
}

static apr_status_t send_whole(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                               el_decision_t decision)
{
    /* The stock modules send what they encoded, whatever its size. */
    bool must_encode = el_policy_is_stock(out->record)
                       || !el_accept_takes(&out->facts.accept, EL_IDENTITY);
    apr_status_t rv = el_send_encode_whole(&out->send, bb, must_encode, &decision.reason);

    if (rv != APR_SUCCESS) {
        return el_send_break_off(f, &out->send, bb, rv, "the body cannot be read to its end");
    }
    if (decision.reason != EL_REASON_NONE) {
        return fall_back(f, out, bb, decision);
    }
    set_header(f->r, out, decision.coding);
    return el_send_whole(f, &out->send, bb);
}

static apr_status_t send_stream(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                                el_decision_t decision)
{
    if (!el_send_first(&out->send, bb)) {
        decision.reason = EL_REASON_ERROR;
        return fall_back(f, out, bb, decision);
    }
    set_header(f->r, out, decision.coding);
    out->phase = ENCODING;
    return el_send_stream(f, &out->send, bb);
}

/* The body of a HEAD response is dropped: its length would become the header's. */
static apr_status_t discard(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_body_drop(bb);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t start_encoding(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                                   el_decision_t decision, const el_setup_t *setup, bool whole)
{
    el_encoder_plan(&out->send.encoder, decision.coding, setup, whole, f->r->pool,
                    bb->bucket_alloc);
    return whole ? send_whole(f, out, bb, decision) : send_stream(f, out, bb, decision);
}

/* Bytes of the largest body that is encoded in one call. */
static uint64_t whole_most(const request_rec *r)
{
    uint64_t asked = el_dir_whole_body(el_dir_of(r));

    return asked < el_pool_whole() ? asked : el_pool_whole();
}

/* Whether the body is at hand to be encoded in one call; or, for HEAD, whether GET's would be. */
static bool is_whole(const ap_filter_t *f, const out_t *out, const el_measure_t *measure)
{
    uint64_t most = whole_most(f->r);

    return out->facts.head ? out->send.length_known && out->send.length <= most
                           : measure->complete && measure->plain && measure->size <= most;
}

/* What is known of the body's length. The empty body of a HEAD says nothing about GET's. */
static void learn_length(const ap_filter_t *f, out_t *out, const el_measure_t *measure)
{
    if (measure->complete && (measure->size > 0 || !out->facts.head)) {
        out->send.length_known = true;
        out->send.length = measure->size;
    } else {
        out->send.length_known = el_response_length(f->r, &out->send.length);
    }
}

/* Whether a body that was waited for has ended before the length that was announced. */
static bool came_short(const ap_filter_t *f, const out_t *out, const el_measure_t *measure)
{
    uint64_t announced;

    return out->waits && !out->facts.head && measure->complete && measure->plain
           && el_response_length(f->r, &announced) && measure->size < announced;
}

/* Everything that will be known is known: `bb` holds the body from its beginning. */
static apr_status_t decide(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_facts_t *facts = &out->facts;
    el_measure_t measure = el_body_measure(bb);
    el_decision_t decision;
    el_setup_t setup;
    bool whole;

    if (came_short(f, out, &measure)) {
        return el_send_break_off(f, &out->send, bb, APR_EOF,
                                 "the body is shorter than was announced");
    }
    learn_length(f, out, &measure);
    facts->size_known = out->send.length_known;
    facts->size = out->send.length_known ? out->send.length : measure.size;
    el_request_min_size(f->r, out->record, facts);
    decision = el_decide(facts);
    if (decision.coding == EL_IDENTITY) {
        return step_aside(f, out, bb, decision);
    }
    el_request_of(f->r)->claimed = true;
    whole = is_whole(f, out, &measure);
    setup = el_choice_make(f->r, out->record, facts, whole, out->send.length, &decision);
    if (decision.reason == EL_REASON_HEAD) {
        set_header(f->r, out, decision.coding);
        el_account_skipped(f->r, EL_REASON_HEAD);
        out->phase = DISCARDING;
        return discard(f, bb);
    }
    if (el_probe_refuses(f->r, out->record, facts, decision.coding, bb, &setup)) {
        decision.reason = EL_REASON_NOT_SMALLER;
        return step_aside(f, out, bb, decision);
    }
    return start_encoding(f, out, bb, decision, &setup, whole);
}

/*
 * Whether the body's first brigade must be followed by more, and how long that is waited for. The
 * body of HEAD is not needed, one that is too large is streamed from its beginning, and one that is
 * too small goes as it comes.
 */
static bool must_wait(ap_filter_t *f, out_t *out, const apr_bucket_brigade *bb)
{
    uint64_t length, most = whole_most(f->r);
    bool known = el_response_length(f->r, &length);

    if (el_body_measure(bb).complete || (known && (out->facts.head || length > most))) {
        return false;
    }
    el_request_min_size(f->r, out->record, &out->facts);
    if (known && length < out->facts.min_size) {
        return false;
    }
    out->waits = true;
    out->wait = (el_wait_t){.least = out->facts.min_size, .until = el_shared_now() + PATIENCE,
                            .pause = PAUSE};
    out->wait.most = known || most < GATHERED ? most + 1 : GATHERED;
    if (out->facts.head || out->wait.most < out->wait.least) {
        out->wait.most = out->wait.least;
    }
    return true;
}

static void drop_held(out_t *out)
{
    if (out->held) {
        apr_brigade_cleanup(out->held);
    }
}

/* Whether the decision can be made with `bb`; where not, its buckets are kept for the next call. */
static bool can_decide(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_status_t *rv)
{
    el_look_t look;

    *rv = APR_SUCCESS;
    if (!out->held && !must_wait(f, out, bb)) {
        return true;
    }
    look = el_body_look(bb, &out->wait, &out->facts.size, rv);
    if (look == EL_LOOK_FAILED) {
        drop_held(out);
        *rv = el_send_break_off(f, &out->send, bb, *rv, "the body cannot be read");
        return false;
    }
    /* That a piece took too long shows when it is there: nothing wakes a filter before. */
    if (look == EL_LOOK_MORE
        && (out->facts.size < out->wait.least || el_shared_now() < out->wait.until)) {
        *rv = ap_save_brigade(f, &out->held, &bb, f->r->pool);
        return false;
    }
    if (out->held) {
        APR_BRIGADE_PREPEND(bb, out->held);
    }
    return true;
}

/*
 * The first call: takes the response, unless another instance has. Where the answer is already
 * clear without the body, the filter steps aside at once and `*rv` is the brigade's. NULL: the
 * filter is gone.
 */
static out_t *take_response(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb,
                            apr_status_t *rv)
{
    el_decision_t decision;
    out_t *out;

    if (f->r->main || el_request_of(f->r)->claimed) {
        ap_remove_output_filter(f);
        *rv = ap_pass_brigade(f->next, bb);
        return NULL;
    }
    out = f->ctx = apr_pcalloc(f->r->pool, sizeof(*out));
    out->record = record;
    out->send.stock = el_policy_is_stock(record) ? el_stock_of(f->r->server, record) : NULL;
    out->facts = el_request_facts(f->r, record, el_chain_by_type(f));
    decision = el_decide(&out->facts);
    if (decision.reason == EL_REASON_NONE && better_follows(f, &out->facts, decision.coding)) {
        decision = (el_decision_t){EL_IDENTITY, EL_REASON_NOT_ACCEPTABLE, decision.vary};
    }
    if (decision.coding == EL_IDENTITY) {
        *rv = step_aside(f, out, bb, decision);
        return NULL;
    }
    return out;
}

static apr_status_t filter_out(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb)
{
    out_t *out = f->ctx;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!out) {
        out = take_response(f, record, bb, &rv);
        if (!out) {
            return rv;
        }
    }
    if (f->r->connection->aborted) {
        drop_held(out);
        apr_brigade_cleanup(bb);
        return APR_ECONNABORTED;
    }
    if (out->send.broken) {
        apr_brigade_cleanup(bb);
        return APR_EGENERAL;
    }
    switch (out->phase) {
    case HOLDING:
        return can_decide(f, out, bb, &rv) ? decide(f, out, bb) : rv;
    case ENCODING:
        return el_send_stream(f, &out->send, bb);
    default:
        return discard(f, bb);
    }
}

static apr_status_t filter_elastic(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_out(f, EL_RECORD_ELASTIC, bb);
}

static apr_status_t filter_deflate(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_out(f, EL_RECORD_DEFLATE, bb);
}

static apr_status_t filter_brotli(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_out(f, EL_RECORD_BROTLI, bb);
}

void el_filter_out_register(el_record_t record)
{
    /* Their names do not tell them apart where mod_filter runs them under names of its own. */
    static const ap_out_filter_func functions[EL_RECORDS] = {
        [EL_RECORD_ELASTIC] = filter_elastic,
        [EL_RECORD_DEFLATE] = filter_deflate,
        [EL_RECORD_BROTLI] = filter_brotli,
    };

    ap_register_output_filter(el_record_info(record)->filter, functions[record], NULL,
                              AP_FTYPE_CONTENT_SET);
}
