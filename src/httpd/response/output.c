/*
 * The road of a response, in the order of its steps:
 *
 *     begin    claims the response; the settings and the facts that the header gives
 *     hold     waits for the body's size, its end, a flush, or as much as may be waited for
 *     decide   a coding, or why none
 *     choose   a dictionary, an encoding that is there, or a fresh one; with which engine and level
 *     encode   whole in one call, or as a stream
 *     send     the header, the body, notes and counters
 *
 * There are three ends: el_send_identity(), for whatever reason; el_send_whole() or a stream's end;
 * and el_stream_break_off(), where the response cannot be ended well.
 */
#include "httpd/response/steps.h"

#include "httpd/response/available.h"
#include "httpd/response/cached.h"
#include "httpd/response/chain.h"
#include "httpd/response/choose.h"
#include "httpd/response/facts.h"
#include "httpd/response/not_modified.h"

#include "engines/dictionary.h"

#include "http_log.h"

EL_USE_LOG;

/* ---- begin ----------------------------------------------------------------------------------- */

/* The best weight of a coding that a filter behind has, of those in the set `ours`. */
static uint16_t best_weight(request_rec *r, unsigned ours, const el_accept_t *accept)
{
    uint16_t best = 0;

    for (int record = 0; ours && record < EL_RECORDS; record++) {
        el_coding_t order[EL_CODINGS];
        size_t count = ours & EL_ROLE_BIT(record)
                           ? el_response_codings(r, (el_record_t)record, order) : 0;

        for (size_t i = 0; i < count; i++) {
            best = accept->q[order[i]] > best ? accept->q[order[i]] : best;
        }
    }
    return best;
}

/*
 * The filter `f` takes the response: false where that ends its work, because another has taken it,
 * or because the decision does not depend on the body. `*rv` is the brigade's then.
 */
static bool begin(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb, apr_status_t *rv)
{
    el_response_t *response = el_response_of(f->r);
    el_facts_t *facts = &response->facts;
    el_decision_t decision;

    if (response->claimed || el_body_is_error(bb)) {
        ap_remove_output_filter(f);
        *rv = ap_pass_brigade(f->next, bb);
        return false;
    }
    el_response_read_accept(f->r);
    if (response->names_tags) {
        el_not_modified_now(f->r, NULL);
    }
    response->filter = f;
    response->phase = EL_PHASE_HELD;
    /*
     * Another filter of ours may have held the body, and left it to this one. The record's fields
     * below these are set only once the response is claimed.
     */
    response->min_size_read = response->waits = false;
    response->held = NULL;
    response->policy = el_policy_of(f->r, record);
    response->behind = el_chain_roles(f->next);
    *facts = el_facts_of(f->r, &response->policy, el_chain_by_type(f), false);
    facts->demand.q_behind =
        best_weight(f->r, response->behind & el_chain_ours(), &facts->demand.accept);
    facts->moment.may_be_cached = el_cached_possible(&response->policy);
    decision = el_decide(facts);
    if (decision.coding == EL_IDENTITY) {
        *rv = el_send_identity(f, response, bb, decision);
        return false;
    }
    el_encode_prepare(response);
    return true;
}

/* ---- decide ---------------------------------------------------------------------------------- */

/* Everything that will be known is known: `bb` holds the body from its beginning. */
static el_decision_t decide(request_rec *r, el_response_t *response, apr_bucket_brigade *bb)
{
    if (!response->policy.is_stock && el_body_begins_encoded(bb)) {
        response->facts.resource.has_encoding = true;
    }
    el_hold_read_min_size(r, response);
    return el_decide(&response->facts);
}

/* ---- choose ---------------------------------------------------------------------------------- */

/* What the choice leads to. */
typedef enum {
    ANSWER_IDENTITY, /* the decision says why */
    ANSWER_CACHED,
    ANSWER_HEAD,     /* without encoding */
    ANSWER_WHOLE,
    ANSWER_STREAM,
    ANSWER_BROKEN    /* the body cannot be read */
} answer_t;

static answer_t refuse(el_decision_t *decision, el_reason_t reason)
{
    *decision = (el_decision_t){.coding = EL_IDENTITY, .reason = reason, .vary = true};
    return ANSWER_IDENTITY;
}

static void choose_setup(request_rec *r, el_response_t *response, el_coding_t coding)
{
    el_choose_for_t body = {&response->policy, &response->facts, response->whole,
                            el_response_effort(r)};

    response->choice = el_choose(&body, coding);
}

/*
 * Prepares the dictionary of the choice. Where it is not there any more, the decision is made anew
 * without it: false where that has no coding.
 */
static bool prepare_dictionary(request_rec *r, el_response_t *response, el_decision_t *decision)
{
    el_setup_t *setup = &response->choice.setup;

    setup->dictionary = el_available_prepare(r, setup->level);
    if (setup->dictionary) {
        setup->level = el_dictionary_level(setup->dictionary, setup->level);
        return true;
    }
    response->facts.demand.available = EL_IDENTITY;
    response->facts.moment.may_be_cached = false;
    *decision = el_decide(&response->facts);
    if (decision->coding == EL_IDENTITY) {
        return false;
    }
    choose_setup(r, response, decision->coding);
    return true;
}

/*
 * Looks for what the complete body was encoded to before; `any` will do where the load forbids
 * more.
 */
static bool find_cached(request_rec *r, el_response_t *response, apr_bucket_brigade *bb, bool any,
                        apr_status_t *rv)
{
    bool found = el_cached_find_file(r, bb, any);

    *rv = APR_SUCCESS;
    if (response->cached.is_file || !el_cached_asks(r)) {
        return found;
    }
    if (!el_body_is_private(bb)) {
        *rv = el_encode_gather(response, bb);
    }
    if (*rv == APR_ENOMEM) {
        /* Encoding needs that memory, too, and says so. */
        *rv = APR_SUCCESS;
        return false;
    }
    return *rv == APR_SUCCESS && el_cached_find_body(r, bb, any);
}

/*
 * Whether HEAD is answered without encoding: where GET is streamed, and where its level is
 * adaptive, so that a GET a moment later may have another length. The stock modules give the length
 * of a whole body.
 */
static bool is_head_alone(const el_response_t *response)
{
    const el_policy_t *policy = &response->policy;
    el_coding_t plain = el_coding_info(response->choice.coding)->base;

    return response->facts.demand.head
           && (!response->whole
               || (!policy->is_stock && el_shared_is_adaptive(policy->range[plain])));
}

/*
 * Whether a body that is streamed may go out as it is after a trial. Never where the client, a
 * drop-in filter or ElasticLevel's `stock` insists on a coding, and never of pinned levels: those
 * are asked for as they are.
 */
static bool may_try(const el_response_t *response)
{
    const el_policy_t *policy = &response->policy;
    const el_choice_t *choice = &response->choice;

    return !response->whole && !policy->is_stock && !choice->bounded
           && !el_coding_needs_dictionary(choice->coding)
           && el_accept_takes(&response->facts.demand.accept, EL_IDENTITY)
           && el_shared_is_adaptive(policy->range[choice->coding]);
}

/*
 * A dictionary, a cached encoding or a fresh one. `*decision` has the coding to begin with, and the
 * reason where none of these is the answer.
 */
static answer_t choose(request_rec *r, el_response_t *response, apr_bucket_brigade *bb,
                       el_decision_t *decision, apr_status_t *rv)
{
    el_facts_t *facts = &response->facts;
    bool with_dictionary, bypassed;

    choose_setup(r, response, decision->coding);
    if (el_coding_needs_dictionary(decision->coding)
        && !el_coding_needs_dictionary(response->choice.coding)) {
        el_available_outdone(r);
        facts->demand.available = EL_IDENTITY;
    }
    with_dictionary = el_coding_needs_dictionary(response->choice.coding);
    bypassed = el_decide_is_bypassed(facts);
    if (with_dictionary && !bypassed && !prepare_dictionary(r, response, decision)) {
        return ANSWER_IDENTITY;
    }
    /* Only what needs no dictionary is cached. */
    if (!with_dictionary && facts->moment.may_be_cached
        && find_cached(r, response, bb, bypassed, rv)) {
        return ANSWER_CACHED;
    }
    if (*rv != APR_SUCCESS) {
        return ANSWER_BROKEN;
    }
    if (bypassed) {
        return refuse(decision, EL_REASON_BYPASS);
    }
    if (is_head_alone(response)) {
        return ANSWER_HEAD;
    }
    if (may_try(response) && el_encode_saves_nothing(response, bb)) {
        return refuse(decision, EL_REASON_NOT_SMALLER);
    }
    /* What is kept is to be found again by the setup in use. */
    if (!with_dictionary && !facts->moment.may_be_cached) {
        el_choose_for_t body = {&response->policy, facts, response->whole, el_response_effort(r)};

        el_choose_trial(&body, &response->choice);
    }
    return response->whole ? ANSWER_WHOLE : ANSWER_STREAM;
}

/* ---- encode ---------------------------------------------------------------------------------- */

/* An encoder was planned, but the identity goes: nothing was sent yet. */
static apr_status_t fall_back(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                              el_reason_t reason)
{
    el_encoder_t *encoder = &response->encoder;
    el_decision_t decision;

    refuse(&decision, reason);
    if (reason == EL_REASON_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r,
                      "elastic: the encoder %s failed or had no memory; the response to %s is sent "
                      "uncompressed",
                      encoder->plan.engine->name, f->r->uri);
    } else if (reason == EL_REASON_NOT_SMALLER) {
        el_shares_update(&encoder->plan, encoder->level, encoder->meter.used.in,
                         encoder->meter.used.out);
    }
    el_encoder_close(encoder);
    apr_brigade_cleanup(encoder->brigade);
    return el_send_identity(f, response, bb, decision);
}

static apr_status_t encode_whole(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    apr_status_t rv;
    el_reason_t reason;

    el_encode_plan(f->r, response);
    reason = el_encode_whole(response, bb, &rv);
    if (rv != APR_SUCCESS) {
        return el_stream_break_off(f, &response->stream, bb, rv,
                                   "the body cannot be read");
    }
    return reason == EL_REASON_NONE ? el_send_whole(f, response, bb)
                                    : fall_back(f, response, bb, reason);
}

/* The stream's first bytes are about to go out. */
static void begin_stream(ap_filter_t *f, void *owner)
{
    el_response_t *response = owner;

    el_encoder_commit(&response->encoder);
    el_send_header(f->r, response, response->encoder.plan.engine->coding);
}

static apr_status_t stream_identity(ap_filter_t *f, void *owner, apr_bucket_brigade *bb)
{
    return fall_back(f, owner, bb, el_encoder_failure());
}

static apr_status_t encode_stream(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    static const el_stream_fallback_t fallback = {begin_stream, stream_identity};

    el_encode_plan(f->r, response);
    if (!el_encoder_open(&response->encoder)) {
        return stream_identity(f, response, bb);
    }
    response->stream.fallback = &fallback;
    response->phase = EL_PHASE_STREAM;
    return el_stream_run(f, &response->stream, bb);
}

/* The header of a HEAD that is answered without encoding. */
static apr_status_t encode_head(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    el_encode_release(response);
    el_encode_plan(f->r, response);
    el_send_header(f->r, response, response->choice.coding);
    return el_send_head(f, response, bb);
}

/* ---- the road -------------------------------------------------------------------------------- */

static apr_status_t answer(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                           el_decision_t decision)
{
    apr_status_t rv = APR_SUCCESS;
    answer_t answer = choose(f->r, response, bb, &decision, &rv);

    switch (answer) {
    case ANSWER_IDENTITY:
        el_encode_release(response);
        return el_send_identity(f, response, bb, decision);
    case ANSWER_BROKEN:
        return el_stream_break_off(f, &response->stream, bb, rv,
                                   "the body cannot be read");
    case ANSWER_CACHED:
        el_encode_take_cached(f->r, response);
        return el_send_whole(f, response, bb);
    case ANSWER_HEAD:
        return encode_head(f, response, bb);
    case ANSWER_WHOLE:
        return encode_whole(f, response, bb);
    default:
        return encode_stream(f, response, bb);
    }
}

static apr_status_t walk(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    el_decision_t decision;
    apr_status_t rv;

    if (!el_hold(f, response, bb, &rv)) {
        return rv;
    }
    if (!el_hold_read_length(f->r, response, bb)) {
        return el_stream_break_off(f, &response->stream, bb, APR_EOF,
                                   "the body is shorter than was announced");
    }
    decision = decide(f->r, response, bb);
    if (decision.coding == EL_IDENTITY) {
        return el_send_identity(f, response, bb, decision);
    }
    response->claimed = true;
    el_policy_read_encoding(&response->policy);
    return answer(f, response, bb, decision);
}

static apr_status_t filter_out(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb)
{
    el_response_t *response;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (f->r->main) {
        /* A subrequest's body becomes part of another's. */
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    response = el_response_of(f->r);
    if (response->filter != f && !begin(f, record, bb, &rv)) {
        return rv;
    }
    if (f->r->connection->aborted || response->stream.broken) {
        el_hold_drop(response);
        apr_brigade_cleanup(bb);
        return response->stream.broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    switch (response->phase) {
    case EL_PHASE_STREAM:
        return el_stream_run(f, &response->stream, bb);
    case EL_PHASE_DROP:
        return el_no_body(f, bb);
    default:
        return walk(f, response, bb);
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
