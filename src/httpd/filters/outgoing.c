#include "httpd/filters/outgoing.h"

#include "httpd/response/chain.h"
#include "httpd/response/difference.h"
#include "httpd/response/explanation.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/not_modified.h"
#include "httpd/response/request.h"
#include "httpd/shared/stats.h"

void el_outgoing_set_negotiated(request_rec *r)
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

static void set_tag_of_304(ap_filter_t *f, el_outgoing_t *out)
{
    el_facts_t facts = el_facts_of_200(f->r, &out->policy, el_chain_by_type(f));

    facts.demand.q_behind = out->send.facts.demand.q_behind;
    el_not_modified_tag(f->r, &out->policy, &facts);
}

apr_status_t el_outgoing_step_aside(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                                    el_decision_t decision)
{
    el_request_t *request = el_request_of(f->r);

    if (f->r->status == HTTP_NOT_MODIFIED) {
        set_tag_of_304(f, out);
    }
    if (decision.vary) {
        el_outgoing_set_negotiated(f->r);
    }
    if (is_final(&out->policy, decision.reason)) {
        request->claimed = true;
        if (el_chain_stock(out->behind)) {
            el_fields_keep_identity(f->r);
        }
    }
    el_explanation_facts(f->r, &out->send.facts);
    if (request->claimed || !(out->behind & el_chain_ours())) {
        el_stats_skipped(f->r, decision.reason);
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

apr_status_t el_outgoing_discard(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_body_drop(bb);
    return ap_pass_brigade(f->next, bb);
}
