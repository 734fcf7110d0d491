#include "httpd/filters/encode.h"

#include "httpd/body/body.h"
#include "httpd/response/choice.h"
#include "httpd/response/connection.h"
#include "httpd/response/difference.h"
#include "httpd/response/explanation.h"
#include "httpd/response/fields.h"
#include "httpd/state/costs.h"
#include "httpd/state/shared.h"
#include "httpd/state/stats.h"

#include "engines/dictionary.h"
#include "engines/engines.h"

#include "http_log.h"

EL_USE_LOG;

/*
 * What a trial encodes at most: 16 KB take igzip 1 or br 0 some 30 µs, and are enough for a
 * coding's tables to have paid.
 */
#define PIECE (16 * 1024)

/* And at least: the ratio of less depends on the coding's framing more than on the content. */
#define PIECE_LEAST 1024

/*
 * The part of a piece that must be saved. At the price that the ladder pays for a byte where a server
 * starts, some 200 ns (src/core/ladder.c), a twentieth is worth 11 µs for each KB: what gzip takes at
 * level 6, with libdeflate, for pages of 32 to 128 KB (src/engines/costs.c).
 */
#define SAVED(nbytes) ((nbytes) / 20)

static void set_header(request_rec *r, const el_outgoing_t *out, el_coding_t coding)
{
    el_outgoing_set_negotiated(r);
    el_fields_set_coding(r, coding, out->policy.etag);
    el_explanation_facts(r, &out->send.facts);
}

/* An encoder was planned, but the identity goes: nothing was sent yet. */
static apr_status_t fall_back(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &out->send.encoder;
    el_decision_t decision = el_decide(&out->send.facts);

    if (decision.reason == EL_REASON_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, f->r,
                      "elastic: the encoder %s failed, or memory is short; %s goes out as it is",
                      encoder->plan.engine->name, f->r->uri);
    } else if (decision.reason == EL_REASON_NOT_SMALLER) {
        el_shares_update(&encoder->plan, encoder->level, encoder->meter.used.in,
                         encoder->meter.used.out);
    }
    el_encoder_close(encoder);
    apr_brigade_cleanup(encoder->brigade);
    return el_outgoing_step_aside(f, out, bb, decision);
}

/* The header is GET's, with the length where one was set. */
static apr_status_t answer_head(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    el_stats_skipped(f->r, EL_REASON_HEAD);
    out->phase = EL_OUTGOING_DISCARDED;
    return el_outgoing_discard(f, bb);
}

/* What is there in place of a complete body goes out. */
static apr_status_t send_made(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    set_header(f->r, out, out->send.encoder.plan.engine->coding);
    if (!out->send.facts.demand.head) {
        return el_send_whole(f, &out->send, bb);
    }
    el_send_whole_head(f, &out->send);
    return answer_head(f, out, bb);
}

static apr_status_t send_whole(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    /* The stock modules send what they encoded, whatever its size. */
    bool must_encode = out->policy.is_stock
                       || !el_accept_takes(&out->send.facts.demand.accept, EL_IDENTITY);
    apr_status_t rv = el_send_encode_whole(&out->send, &out->policy, bb, must_encode);

    if (rv != APR_SUCCESS) {
        return el_stream_break_off(f, &out->send.stream, bb, rv,
                                   "the body cannot be read to its end");
    }
    if (out->send.facts.moment.outcome != EL_OUTCOME_NONE) {
        return fall_back(f, out, bb);
    }
    return send_made(f, out, bb);
}

static void begin_stream(ap_filter_t *f, el_stream_t *stream)
{
    el_outgoing_t *out = (el_outgoing_t *)stream;

    el_encoder_commit(&out->send.encoder);
    set_header(f->r, out, out->send.encoder.plan.engine->coding);
}

static apr_status_t stream_identity(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb)
{
    el_outgoing_t *out = (el_outgoing_t *)stream;

    out->send.facts.moment.outcome = el_encoder_failure();
    return fall_back(f, out, bb);
}

static apr_status_t send_stream(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb)
{
    static const el_stream_way_back_t way_back = {begin_stream, stream_identity};

    if (!el_encoder_open(&out->send.encoder)) {
        return stream_identity(f, &out->send.stream, bb);
    }
    out->send.stream.way_back = &way_back;
    out->phase = EL_OUTGOING_ENCODED;
    return el_stream_run(f, &out->send.stream, bb);
}

/*
 * Looks for what the complete body was encoded to before. True where that ends the response, as
 * `*rv` says: the encoding was found, the body cannot be read, or a bypass speaks against encoding
 * it anew.
 */
static bool end_with_kept(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                          const el_choice_t *choice, apr_status_t *rv)
{
    el_send_t *send = &out->send;
    el_decision_t decision;
    bool found;

    out->send.facts.moment.may_be_kept = false;
    decision = el_decide(&out->send.facts);
    send->kept.bypassed = decision.coding == EL_IDENTITY;
    found = el_kept_find_file(&send->kept, f->r, &out->policy, choice, bb);
    if (!send->kept.is_file && el_kept_asks(f->r)) {
        *rv = el_body_is_private(bb) ? APR_SUCCESS : el_send_gather(send, bb);
        if (*rv != APR_SUCCESS) {
            *rv = el_stream_break_off(f, &send->stream, bb, *rv,
                                      "the body cannot be read to its end");
            return true;
        }
        found = out->send.facts.moment.outcome == EL_OUTCOME_NONE
                && el_kept_find(&send->kept, f->r, &out->policy, choice,
                                &(el_kept_body_t){bb, send->gathered ? &send->whole : NULL,
                                                  (size_t)out->send.facts.moment.size});
    }
    if (found) {
        el_send_take_kept(send, f->r);
        *rv = send_made(f, out, bb);
        return true;
    }
    if (send->kept.bypassed) {
        el_send_release(send);
        *rv = el_outgoing_step_aside(f, out, bb, decision);
    }
    return send->kept.bypassed;
}

/*
 * The setup for the body; EL_IDENTITY where there is none any more, because a dictionary cannot be
 * prepared.
 */
static el_choice_t choose(ap_filter_t *f, el_outgoing_t *out, el_coding_t coding, bool whole)
{
    el_facts_t *facts = &out->send.facts;
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

/*
 * Whether a body that is streamed may go out as it is after a trial. Never where the client, a drop-in
 * filter or ElasticLevel's `stock` insists on a coding, and never of levels that do not move: those
 * are asked for as they are. A body that is no longer than a trial would be encoded twice.
 */
static bool may_try(const el_outgoing_t *out, const el_choice_t *choice)
{
    const el_policy_t *policy = &out->policy;
    const el_facts_t *facts = &out->send.facts;

    return !policy->is_stock && !choice->bounded && !el_coding_is_difference(choice->coding)
           && el_accept_takes(&facts->demand.accept, EL_IDENTITY)
           && el_shared_moves(policy->range[choice->coding])
           && (!facts->moment.size_known || facts->moment.size > PIECE);
}

/*
 * The trial: whether the piece that the body begins with hardly becomes smaller at the minimum level.
 * So a large archive is not encoded to its end. Nothing is taken out of `bb`. Where the encoder
 * fails, the body's own shall say so.
 */
static bool saves_nothing(const el_outgoing_t *out, const el_choice_t *choice,
                          apr_bucket_brigade *bb)
{
    el_whole_t piece = el_body_peek(bb, PIECE);
    el_setup_t setup = choice->setup;
    el_measured_t measured = {.out = 0};
    el_plan_t plan;

    setup.level = out->policy.range[choice->coding].min;
    setup.size_hint = piece.nbytes;
    if (piece.nbytes >= PIECE_LEAST) {
        plan = el_engine_plan(choice->coding, &setup, true);
        measured = el_encoder_try(&plan, piece.data, piece.nbytes);
        el_shared_count(EL_COUNT_PROBES, 1);
    }
    el_body_release(&piece);
    return measured.out > 0 && measured.out >= measured.in - SAVED(measured.in);
}

/* With `auto` a system call: once for a response. */
static void read_rate(ap_filter_t *f, el_outgoing_t *out)
{
    out->send.facts.moment.rate = el_connection_rate(f->r, &el_shared.config.control.goal);
}

/*
 * Whether HEAD is answered without encoding: where GET is streamed, and where its level moves, so that
 * a GET a moment later may have another length. The stock modules give the length of a whole body.
 */
static bool is_head_alone(const el_outgoing_t *out, const el_choice_t *choice, bool whole)
{
    el_coding_t plain = el_coding_info(choice->coding)->plain;

    return out->send.facts.demand.head
           && (!whole || (!out->policy.is_stock && el_shared_moves(out->policy.range[plain])));
}

static apr_status_t send_head_alone(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                                    const el_choice_t *choice, bool whole)
{
    el_plan_t plan = el_engine_plan(choice->coding, &choice->setup, whole);

    el_send_release(&out->send);
    el_explanation_plan(f->r, choice, plan.engine->name, whole);
    set_header(f->r, out, choice->coding);
    return answer_head(f, out, bb);
}

apr_status_t el_encode(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                       el_coding_t coding, bool whole)
{
    el_choice_t choice;
    apr_status_t rv;

    read_rate(f, out);
    choice = choose(f, out, coding, whole);
    if (choice.coding == EL_IDENTITY) {
        return el_outgoing_step_aside(f, out, bb, el_decide(&out->send.facts));
    }
    if (out->send.facts.moment.may_be_kept && end_with_kept(f, out, bb, &choice, &rv)) {
        return rv;
    }
    if (is_head_alone(out, &choice, whole)) {
        return send_head_alone(f, out, bb, &choice, whole);
    }
    if (!whole && may_try(out, &choice) && saves_nothing(out, &choice, bb)) {
        out->send.facts.moment.outcome = EL_OUTCOME_NOT_SMALLER;
        return el_outgoing_step_aside(f, out, bb, el_decide(&out->send.facts));
    }
    el_encoder_plan(&out->send.encoder, choice.coding, &choice.setup, whole, f->r);
    el_kept_charge(&out->send.kept, &out->send.encoder.meter);
    el_explanation_plan(f->r, &choice, out->send.encoder.plan.engine->name, whole);
    el_send_begin(&out->send);
    if (whole) {
        out->send.exploration =
            el_exploration_plan(&out->policy, &choice, out->send.facts.moment.size);
    }
    return whole ? send_whole(f, out, bb) : send_stream(f, out, bb);
}
