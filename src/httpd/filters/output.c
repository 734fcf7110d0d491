#include "httpd/filters/output.h"

#include "httpd/body/body.h"
#include "httpd/config/policy.h"
#include "httpd/filters/send.h"
#include "httpd/response/chain.h"
#include "httpd/response/choice.h"
#include "httpd/response/connection.h"
#include "httpd/response/difference.h"
#include "httpd/response/explanation.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/not_modified.h"
#include "httpd/response/request.h"
#include "httpd/response/segment.h"
#include "httpd/response/trial.h"
#include "httpd/state/shared.h"
#include "httpd/state/stats.h"

#include "engines/dictionary.h"
#include "host/clock.h"

#include "http_log.h"

EL_USE_LOG;

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

typedef enum {
    HOLDING,   /* the decision waits for more of the body */
    ENCODING,  /* each brigade is encoded as it comes */
    DISCARDING /* HEAD: what is left of the body is dropped */
} phase_t;

/* A response, from the first call of the filter to its end. */
typedef struct {
    el_send_t send; /* first: a function that gets its stream has all of it */
    el_policy_t policy;
    phase_t phase;
    unsigned behind;    /* the roles of the filters behind */
    bool at_once;       /* the first brigade had the body's end */
    bool min_size_read; /* facts.moment.min_size is computed: once, when it is needed */
    bool waits;         /* the body's end is waited for, as `wait` says */
    el_wait_t wait;
    apr_bucket_brigade *held;
} out_t;

static el_facts_t *facts_of(out_t *out)
{
    return &out->send.facts;
}

static void read_min_size(ap_filter_t *f, out_t *out)
{
    el_moment_t *moment = &facts_of(out)->moment;

    if (!out->min_size_read) {
        moment->min_size = out->policy.min_of_one_brigade && !out->at_once
                               ? 0
                               : el_segment_min_size(f->r, &out->policy, moment->size);
        out->min_size_read = true;
    }
}

/* With `auto` a system call: once for a response. */
static void read_rate(ap_filter_t *f, out_t *out)
{
    facts_of(out)->moment.rate = el_connection_rate(f->r, &el_shared.config.control.goal);
}

/* The response depended, or could have depended, on what the request accepts. */
static void set_negotiated(request_rec *r)
{
    el_difference_add_vary(r);
    if (el_request_void_range(r)) {
        el_request_drop_range(r);
    }
}

/*
 * Whether the identity was meant to go out, so that no compressor behind is to touch it. What is
 * too small, or of no use to the client, in the one coding of a drop-in filter may have another.
 */
static bool is_final(const el_policy_t *policy, el_reason_t reason)
{
    switch (reason) {
    case EL_REASON_SMALL:
    case EL_REASON_NOT_ACCEPTABLE:
        return !policy->is_stock;
    case EL_REASON_RANGE:
    case EL_REASON_NO_TRANSFORM:
    case EL_REASON_BYPASS:
    case EL_REASON_NOT_SMALLER:
    case EL_REASON_MEMORY:
    case EL_REASON_ERROR:
        return true;
    default:
        return false;
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

static void set_tag_of_304(ap_filter_t *f, out_t *out)
{
    el_facts_t facts = el_facts_of_200(f->r, &out->policy, el_chain_by_type(f));

    facts.demand.q_behind = facts_of(out)->demand.q_behind;
    el_not_modified_tag(f->r, &out->policy, &facts);
}

/* The body goes on as it is. */
static apr_status_t step_aside(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                               el_decision_t decision)
{
    el_request_t *request = el_request_of(f->r);

    if (f->r->status == HTTP_NOT_MODIFIED) {
        set_tag_of_304(f, out);
    }
    if (decision.vary) {
        set_negotiated(f->r);
    }
    if (is_final(&out->policy, decision.reason)) {
        request->claimed = true;
        if (el_chain_stock(out->behind)) {
            el_fields_keep_identity(f->r);
        }
    }
    el_explanation_facts(f->r, facts_of(out));
    if (request->claimed || !(out->behind & el_chain_ours())) {
        el_stats_skipped(f->r, decision.reason);
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static void set_header(request_rec *r, const out_t *out, el_coding_t coding)
{
    set_negotiated(r);
    el_fields_set_coding(r, coding, out->policy.etag);
    el_explanation_facts(r, &out->send.facts);
    el_explanation_coding(r, coding);
}

/* An encoder was planned, but the identity goes: nothing was sent yet. */
static apr_status_t fall_back(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &out->send.encoder;
    el_decision_t decision = el_decide(facts_of(out));

    if (decision.reason == EL_REASON_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r,
                      "elastic: the encoder %s failed, or memory is short; %s goes out as it is",
                      encoder->plan.engine->name, f->r->uri);
    } else if (decision.reason == EL_REASON_NOT_SMALLER) {
        el_ratios_update(f->r->content_type, encoder->plan.engine->coding,
                         encoder->meter.used.in, encoder->meter.used.out);
        el_shares_update(&encoder->plan, encoder->level, encoder->meter.used.in,
                         encoder->meter.used.out);
    }
    el_encoder_close(encoder);
    apr_brigade_cleanup(encoder->brigade);
    return step_aside(f, out, bb, decision);
}

/* The body of a HEAD response is dropped: its length would become the header's. */
static apr_status_t discard(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_body_drop(bb);
    return ap_pass_brigade(f->next, bb);
}

/* The header is GET's; where GET would send an encoded body whole, it was made for its length. */
static apr_status_t answer_head(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, bool whole)
{
    if (whole) {
        el_send_whole_head(f, &out->send);
    }
    el_stats_skipped(f->r, EL_REASON_HEAD);
    out->phase = DISCARDING;
    return discard(f, bb);
}

/* What is there in place of a complete body goes out. */
static apr_status_t send_made(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    set_header(f->r, out, out->send.encoder.plan.engine->coding);
    return facts_of(out)->demand.head ? answer_head(f, out, bb, true)
                                      : el_send_whole(f, &out->send, bb);
}

static apr_status_t send_whole(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    /* The stock modules send what they encoded, whatever its size. */
    bool must_encode = out->policy.is_stock
                       || !el_accept_takes(&facts_of(out)->demand.accept, EL_IDENTITY);
    apr_status_t rv = el_send_encode_whole(&out->send, &out->policy, bb, must_encode);

    if (rv != APR_SUCCESS) {
        return el_stream_break_off(f, &out->send.stream, bb, rv,
                                   "the body cannot be read to its end");
    }
    if (facts_of(out)->moment.outcome != EL_OUTCOME_NONE) {
        return fall_back(f, out, bb);
    }
    return send_made(f, out, bb);
}

static void begin_stream(ap_filter_t *f, el_stream_t *stream)
{
    out_t *out = (out_t *)stream;

    el_encoder_commit(&out->send.encoder);
    set_header(f->r, out, out->send.encoder.plan.engine->coding);
}

static apr_status_t stream_identity(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb)
{
    out_t *out = (out_t *)stream;

    facts_of(out)->moment.outcome = el_encoder_failure();
    return fall_back(f, out, bb);
}

static apr_status_t send_stream(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    static const el_stream_way_back_t way_back = {begin_stream, stream_identity};

    if (facts_of(out)->demand.head) {
        begin_stream(f, &out->send.stream);
        return answer_head(f, out, bb, false);
    }
    if (!el_encoder_open(&out->send.encoder)) {
        return stream_identity(f, &out->send.stream, bb);
    }
    out->send.stream.way_back = &way_back;
    out->phase = ENCODING;
    return el_stream_run(f, &out->send.stream, bb);
}

/*
 * Looks for what the complete body was encoded to before. True where that ends the response, as
 * `*rv` says: the encoding was found, the body cannot be read, or a bypass speaks against encoding
 * it anew.
 */
static bool end_with_kept(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb,
                          const el_choice_t *choice, apr_status_t *rv)
{
    el_send_t *send = &out->send;
    el_decision_t decision;
    bool found;

    facts_of(out)->moment.may_be_kept = false;
    decision = el_decide(facts_of(out));
    send->kept.bypassed = decision.coding == EL_IDENTITY;
    found = el_kept_find_file(&send->kept, f->r, &out->policy, choice, bb);
    if (!send->kept.is_file && el_kept_asks(f->r)) {
        *rv = el_body_in_memory(bb) ? APR_SUCCESS : el_send_gather(send, bb);
        if (*rv != APR_SUCCESS) {
            *rv = el_stream_break_off(f, &send->stream, bb, *rv,
                                      "the body cannot be read to its end");
            return true;
        }
        found = facts_of(out)->moment.outcome == EL_OUTCOME_NONE
                && el_kept_find(&send->kept, f->r, &out->policy, choice,
                                &(el_kept_body_t){bb, send->gathered ? &send->whole : NULL,
                                                  (size_t)facts_of(out)->moment.size});
    }
    if (found) {
        el_send_take_kept(send, f->r);
        *rv = send_made(f, out, bb);
        return true;
    }
    if (send->kept.bypassed) {
        el_send_release(send);
        *rv = step_aside(f, out, bb, decision);
    }
    return send->kept.bypassed;
}

/*
 * The setup for the body; EL_IDENTITY where there is none any more, because a dictionary cannot be
 * prepared.
 */
static el_choice_t choose(ap_filter_t *f, out_t *out, el_coding_t coding, bool whole)
{
    el_facts_t *facts = facts_of(out);
    el_choice_t choice = el_choice_make(&out->policy, facts, coding, whole);

    if (el_coding_is_difference(choice.coding)) {
        /* Only what needs no dictionary is kept. */
        facts->moment.may_be_kept = false;
        if (el_decide(facts).coding == EL_IDENTITY) {
            return (el_choice_t){.coding = EL_IDENTITY};
        }
        choice.setup.dictionary = el_difference_prepare(f->r, choice.setup.level);
        if (choice.setup.dictionary) {
            choice.setup.level = el_dictionary_level(choice.setup.dictionary, choice.setup.level);
            return choice;
        }
        facts->demand.difference = EL_IDENTITY;
        coding = el_decide(facts).coding;
        return coding == EL_IDENTITY ? (el_choice_t){.coding = EL_IDENTITY}
                                     : el_choice_make(&out->policy, facts, coding, whole);
    }
    if (el_coding_is_difference(coding)) {
        el_difference_outdone(f->r);
        facts->demand.difference = EL_IDENTITY;
    }
    return choice;
}

static apr_status_t encode(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, el_coding_t coding,
                           bool whole)
{
    el_choice_t choice;
    apr_status_t rv;

    read_rate(f, out);
    choice = choose(f, out, coding, whole);
    if (choice.coding == EL_IDENTITY) {
        return step_aside(f, out, bb, el_decide(facts_of(out)));
    }
    if (facts_of(out)->moment.may_be_kept && end_with_kept(f, out, bb, &choice, &rv)) {
        return rv;
    }
    switch (el_trial_run(f->r, &out->policy, facts_of(out), &choice, bb)) {
    case EL_TRIAL_BAD:
        el_send_release(&out->send);
        facts_of(out)->moment.outcome = EL_OUTCOME_NOT_SMALLER;
        return step_aside(f, out, bb, el_decide(facts_of(out)));
    case EL_TRIAL_FLOOR:
        choice.setup.level = out->policy.range[choice.coding].min;
        break;
    default:
        break;
    }
    el_encoder_plan(&out->send.encoder, choice.coding, &choice.setup, whole, f->r);
    el_kept_charge(&out->send.kept, &out->send.encoder.meter);
    el_explanation_plan(f->r, &choice, out->send.encoder.plan.engine->name, whole);
    el_send_begin(&out->send);
    if (whole) {
        out->send.exploration =
            el_exploration_plan(&out->policy, &choice, facts_of(out)->moment.size);
    }
    return whole ? send_whole(f, out, bb) : send_stream(f, out, bb);
}

/*
 * What is known of the body's length; returns whether all of the body is there, to be encoded in
 * one call. A HEAD that came without GET's body, or with a part of it, says nothing about its size.
 */
static bool read_length(const ap_filter_t *f, out_t *out, const el_measure_t *measure)
{
    el_moment_t *moment = &facts_of(out)->moment;
    uint64_t length = 0;
    bool announced = el_fields_length(f->r, &length);
    bool there = measure->complete;

    if (facts_of(out)->demand.head) {
        there = there && (announced ? measure->size >= length : measure->size > 0);
    }
    moment->size = there || !announced ? measure->size : length;
    moment->size_known = there || announced;
    return there && measure->plain && moment->size <= out->policy.whole_most;
}

/* Whether a body that was waited for has ended before the length that was announced. */
static bool came_short(const ap_filter_t *f, out_t *out, const el_measure_t *measure)
{
    uint64_t announced;

    return out->waits && !facts_of(out)->demand.head && measure->complete && measure->plain
           && el_fields_length(f->r, &announced) && measure->size < announced;
}

/* Everything that will be known is known: `bb` holds the body from its beginning. */
static apr_status_t decide(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    el_decision_t decision;
    bool whole;

    if (came_short(f, out, &measure)) {
        return el_stream_break_off(f, &out->send.stream, bb, APR_EOF,
                                   "the body is shorter than was announced");
    }
    whole = read_length(f, out, &measure);
    facts_of(out)->moment.may_be_kept &= whole;
    read_min_size(f, out);
    decision = el_decide(facts_of(out));
    if (decision.coding == EL_IDENTITY) {
        return step_aside(f, out, bb, decision);
    }
    el_request_of(f->r)->claimed = true;
    return encode(f, out, bb, decision.coding, whole);
}

/*
 * Whether the body's first brigade must be followed by more, and how long that is waited for. A
 * body that is too large is streamed from its beginning, and one that is too small goes as it comes.
 */
static bool must_wait(ap_filter_t *f, out_t *out, const apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    uint64_t length, most = out->policy.whole_most;
    bool known = el_fields_length(f->r, &length);

    out->at_once = measure.ended;
    if (measure.complete || (known && length > most)) {
        return false;
    }
    read_min_size(f, out);
    if (known && length < facts_of(out)->moment.min_size) {
        return false;
    }
    out->waits = true;
    out->wait = (el_wait_t){.least = facts_of(out)->moment.min_size,
                            .until = el_clock_usec() + PATIENCE,
                            .pause = PAUSE};
    out->wait.most = known || most < GATHERED ? most + 1 : GATHERED;
    if (out->wait.most < out->wait.least) {
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
    uint64_t *seen = &facts_of(out)->moment.size;
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
        *rv = ap_save_brigade(f, &out->held, &bb, f->r->pool);
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
    out->policy = el_policy_of(f->r, record);
    out->send.stock = out->policy.is_stock ? out->policy.stock : NULL;
    out->send.facts = el_facts_of(f->r, &out->policy, el_chain_by_type(f));
    out->behind = el_chain_roles(f->next);
    facts_of(out)->demand.q_behind =
        best_weight(f->r, out->behind & el_chain_ours(), &facts_of(out)->demand.accept);
    el_send_init(&out->send);
    facts_of(out)->moment.may_be_kept = el_kept_possible(&out->policy);
    decision = el_decide(facts_of(out));
    if (decision.coding == EL_IDENTITY) {
        *rv = step_aside(f, out, bb, decision);
        return NULL;
    }
    el_policy_read_encoding(&out->policy);
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
    if (f->r->connection->aborted || out->send.stream.broken) {
        drop_held(out);
        apr_brigade_cleanup(bb);
        return out->send.stream.broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    switch (out->phase) {
    case HOLDING:
        return can_decide(f, out, bb, &rv) ? decide(f, out, bb) : rv;
    case ENCODING:
        return el_stream_run(f, &out->send.stream, bb);
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
