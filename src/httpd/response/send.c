#include "httpd/response/steps.h"

#include "httpd/response/available.h"
#include "httpd/response/chain.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/not_modified.h"
#include "httpd/shared/stats.h"

#include "http_protocol.h"

/* Says in the header that the response depended, or could have, on what the request accepts. */
static void set_negotiated(request_rec *r)
{
    el_available_add_vary(r);
    if (el_response_void_range(r)) {
        el_response_drop_range(r);
    }
}

void el_send_header(request_rec *r, const el_response_t *response, el_coding_t coding)
{
    set_negotiated(r);
    el_fields_set_coding(r, coding, response->policy.etag);
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
    case EL_REASON_NONE:
    case EL_REASON_OFF:
    case EL_REASON_TYPE:
    case EL_REASON_ENCODED:
    case EL_REASON_ENV:
    case EL_REASON_STATUS:
    case EL_REASON_HEAD:
    case EL_REASON_TLS_COMPRESSION:
    case EL_REASON_COUNT:
        break; /* no default: the compiler asks about a new reason */
    }
    return false;
}

/*
 * Whether the body is sent as it is where a stock compressor would have encoded it, and taken away
 * its length, which may be false (see is_reliable() in hold.c): a client would wait for what never
 * comes.
 */
static bool is_length_doubted(const request_rec *r, const el_response_t *response,
                              apr_bucket_brigade *bb, el_reason_t reason)
{
    bool encoded_by_stock = reason == EL_REASON_BYPASS || reason == EL_REASON_NOT_SMALLER
                            || reason == EL_REASON_MEMORY || reason == EL_REASON_ERROR;
    uint64_t announced;
    apr_off_t there;

    return encoded_by_stock && !r->proxyreq && !response->facts.demand.head
           && el_fields_length(&response->fields, &announced)
           && apr_brigade_length(bb, 0, &there) == APR_SUCCESS && (uint64_t)there != announced;
}

static void set_tag_of_304(ap_filter_t *f, el_response_t *response)
{
    el_facts_t facts = el_facts_of_200(f->r, &response->policy, el_chain_by_type(f));

    facts.demand.q_behind = response->facts.demand.q_behind;
    el_not_modified_tag(f->r, &response->policy, &facts);
}

apr_status_t el_send_identity(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                              el_decision_t decision)
{
    request_rec *r = f->r;

    if (r->status == HTTP_NOT_MODIFIED) {
        set_tag_of_304(f, response);
    }
    if (decision.vary) {
        set_negotiated(r);
    }
    if (is_length_doubted(r, response, bb, decision.reason)) {
        el_field_unset(r, "Content-Length");
    }
    if (is_final(&response->policy, decision.reason)) {
        response->claimed = true;
        if (el_chain_stock(response->behind)) {
            el_fields_keep_identity(r);
        }
    }
    if (response->claimed || !(response->behind & el_chain_ours())) {
        el_stats_skipped(r, decision.reason);
    }
    response->filter = NULL;
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

apr_status_t el_send_head(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    el_stats_skipped(f->r, EL_REASON_HEAD);
    response->phase = EL_PHASE_DROP;
    return el_no_body(f, bb);
}

apr_status_t el_send_whole(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &response->encoder;
    apr_bucket_brigade *out = response->stream.out;

    el_send_header(f->r, response, encoder->plan.engine->coding);
    ap_set_content_length(f->r, (apr_off_t)encoder->meter.used.out);
    if (response->facts.demand.head) {
        el_encode_note_stock(f->r, response);
        el_encoder_close(encoder);
        apr_brigade_cleanup(out);
        return el_send_head(f, response, bb);
    }
    el_encode_count(f->r, response);
    el_encoder_close(encoder);
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(bb->bucket_alloc));
    apr_brigade_cleanup(bb);
    ap_remove_output_filter(f);
    return el_stream_pass(f, &response->stream);
}
