#include "httpd/filters/output.h"

#include "httpd/filters/encode.h"
#include "httpd/filters/outgoing.h"
#include "httpd/response/chain.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/not_modified.h"
#include "httpd/response/request.h"
#include "httpd/response/segment.h"

#include "host/clock.h"

/*
 * How long the end of a body is waited for: a tenth of a second, once per response, goes unnoticed.
 * A CGI script that has written all it has needs a part of it to exit.
 */
#define PATIENCE 100000 /* µs */

/* And how long of that when such a script pauses, but has written enough to encode. */
#define PAUSE 10000 /* µs */

/*
 * A body that comes piece by piece, as from php-fpm or a script, is gathered up to this size,
 * to be encoded in one call: gzip then takes half of the time. Most pages are smaller, and a stream
 * would show little of them before: zlib keeps some 64 KB to itself until it writes a block.
 */
#define GATHERED (128 * 1024)

static void read_min_size(ap_filter_t *f, el_outgoing_t *out)
{
    el_moment_t *moment = &out->send.facts.moment;

    if (!out->min_size_read) {
        moment->min_size = out->policy.min_of_one_brigade && !out->at_once
                               ? 0
                               : el_segment_min_size(f->r, &out->policy, moment->size);
        out->min_size_read = true;
    }
}

/* The best weight of a coding that a filter behind has, of those in the set `ours`. */
static uint16_t best_weight(request_rec *r, unsigned ours, const el_accept_t *accept)
{
    uint16_t best = 0;

    for (int record = 0; ours && record < EL_RECORDS; record++) {
        el_coding_t order[EL_CODINGS];
        size_t count = 0;

        if (ours & EL_ROLE_BIT(record)) {
            count = el_policy_codings(el_dir_of(r), (el_record_t)record, order);
            count = el_request_env_filter(r, order, count);
        }
        for (size_t i = 0; i < count; i++) {
            best = accept->q[order[i]] > best ? accept->q[order[i]] : best;
        }
    }
    return best;
}

/*
 * What is known of the body's length; returns whether all of the body is there, to be encoded in
 * one call. A HEAD that came without GET's body, or with a part of it, says nothing about its size.
 */
static bool read_length(const ap_filter_t *f, el_outgoing_t *out, const el_measure_t *measure)
{
    el_moment_t *moment = &out->send.facts.moment;
    uint64_t length = 0;
    bool announced = el_fields_length(f->r, &length);
    bool there = measure->complete;

    if (out->send.facts.demand.head) {
        there = there && (announced ? measure->size >= length : measure->size > 0);
    }
    moment->size = there || !announced ? measure->size : length;
    moment->size_known = there || announced;
    return there && measure->plain && moment->size <= out->policy.whole_most;
}

/* Whether a body that was waited for has ended before the length that was announced. */
static bool came_short(const ap_filter_t *f, el_outgoing_t *out, const el_measure_t *measure)
{
    uint64_t announced;

    return out->waits && !out->send.facts.demand.head && measure->complete && measure->plain
           && el_fields_length(f->r, &announced) && measure->size < announced;
}

/* Everything that will be known is known: `bb` holds the body from its beginning. */
static apr_status_t decide(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    el_decision_t decision;
    bool whole;

    if (came_short(f, out, &measure)) {
        return el_stream_break_off(f, &out->send.stream, bb, APR_EOF,
                                   "the body is shorter than was announced");
    }
    if (!out->policy.is_stock && el_body_begins_encoded(bb)) {
        out->send.facts.resource.has_encoding = true;
    }
    whole = read_length(f, out, &measure);
    out->send.facts.moment.may_be_kept &= whole;
    read_min_size(f, out);
    decision = el_decide(&out->send.facts);
    if (decision.coding == EL_IDENTITY) {
        return el_outgoing_step_aside(f, out, bb, decision);
    }
    el_request_of(f->r)->claimed = true;
    return el_encode(f, out, bb, decision.coding, whole);
}

/*
 * Whether the body's first brigade must be followed by more, and how long that is waited for. A
 * body that is too large is streamed from its beginning, and one that is too small goes as it comes.
 */
static bool must_wait(ap_filter_t *f, el_outgoing_t *out, const apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    uint64_t length, most = out->policy.whole_most;
    bool known = el_fields_length(f->r, &length);

    out->at_once = measure.ended;
    if (measure.complete || (known && length > most)) {
        return false;
    }
    read_min_size(f, out);
    if (known && length < out->send.facts.moment.min_size) {
        return false;
    }
    out->waits = true;
    out->wait = (el_wait_t){.least = out->send.facts.moment.min_size,
                            .until = el_clock_usec() + PATIENCE,
                            .pause = PAUSE};
    out->wait.most = known || most < GATHERED ? most + 1 : GATHERED;
    if (out->wait.most < out->wait.least) {
        out->wait.most = out->wait.least;
    }
    return true;
}

static void drop_held(el_outgoing_t *out)
{
    if (out->held) {
        apr_brigade_cleanup(out->held);
    }
}

/*
 * Keeps the buckets of `bb` for the next call. A body of which some are lost must not look whole,
 * whatever its handler makes of the error.
 */
static apr_status_t save(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    apr_status_t rv = ap_save_brigade(f, &out->held, &bb, f->r->pool);

    /* Of a bucket that cannot be set aside httpd says so, but keeps it. */
    if (rv == APR_SUCCESS || rv == APR_ENOTIMPL) {
        return APR_SUCCESS;
    }
    drop_held(out);
    return el_stream_break_off(f, &out->send.stream, bb, rv, "the body cannot be kept");
}

/* Whether the decision can be made with `bb`; where not, its buckets are kept for the next call. */
static bool can_decide(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb, apr_status_t *rv)
{
    uint64_t *seen = &out->send.facts.moment.size;
    el_look_t look;

    *rv = APR_SUCCESS;
    if (!out->held && !must_wait(f, out, bb)) {
        return true;
    }
    look = el_body_look(bb, &out->wait, seen, rv);
    if (look == EL_LOOK_FAILED) {
        drop_held(out);
        *rv = el_stream_break_off(f, &out->send.stream, bb, *rv, "the body cannot be read");
        return false;
    }
    /* That a piece took too long shows when it has come: nothing wakes a filter before. */
    if (look == EL_LOOK_MORE
        && (*seen < out->wait.least || el_clock_usec() < out->wait.until)) {
        *rv = save(f, out, bb);
        return false;
    }
    if (out->held) {
        APR_BRIGADE_PREPEND(bb, out->held);
    }
    return true;
}

/*
 * The first call: takes the response, unless another instance has. Where the decision does not
 * depend on the body, the filter steps aside at once and `*rv` is the brigade's. NULL: the filter
 * is gone.
 */
static el_outgoing_t *take_response(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb,
                            apr_status_t *rv)
{
    el_decision_t decision;
    el_outgoing_t *out;

    if (f->r->main || el_request_of(f->r)->claimed || el_body_is_error(bb)) {
        ap_remove_output_filter(f);
        *rv = ap_pass_brigade(f->next, bb);
        return NULL;
    }
    out = f->ctx = apr_pcalloc(f->r->pool, sizeof(*out));
    el_not_modified_now(f->r, NULL);
    out->policy = el_policy_of(f->r, record);
    out->send.stock = out->policy.is_stock ? out->policy.stock : NULL;
    out->send.facts = el_facts_of(f->r, &out->policy, el_chain_by_type(f));
    out->behind = el_chain_roles(f->next);
    out->send.facts.demand.q_behind =
        best_weight(f->r, out->behind & el_chain_ours(), &out->send.facts.demand.accept);
    el_send_init(&out->send);
    out->send.facts.moment.may_be_kept = el_kept_possible(&out->policy);
    decision = el_decide(&out->send.facts);
    if (decision.coding == EL_IDENTITY) {
        *rv = el_outgoing_step_aside(f, out, bb, decision);
        return NULL;
    }
    el_policy_read_encoding(&out->policy);
    return out;
}

static apr_status_t filter_out(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb)
{
    el_outgoing_t *out = f->ctx;
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
    if (f->r->connection->aborted || out->send.stream.broken) {
        drop_held(out);
        apr_brigade_cleanup(bb);
        return out->send.stream.broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    switch (out->phase) {
    case EL_OUTGOING_HELD:
        return can_decide(f, out, bb, &rv) ? decide(f, out, bb) : rv;
    case EL_OUTGOING_ENCODED:
        return el_stream_run(f, &out->send.stream, bb);
    default:
        return el_outgoing_discard(f, bb);
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

void el_output_register(el_record_t record)
{
    /* A filter's name is no help where mod_filter runs it under a name of its own. */
    static const ap_out_filter_func functions[EL_RECORDS] = {
        [EL_RECORD_ELASTIC] = filter_elastic,
        [EL_RECORD_DEFLATE] = filter_deflate,
        [EL_RECORD_BROTLI] = filter_brotli,
    };

    ap_register_output_filter(el_record_info(record)->filter, functions[record], NULL,
                              AP_FTYPE_CONTENT_SET);
}
