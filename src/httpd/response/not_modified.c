#include "httpd/response/not_modified.h"

#include "httpd/body/body.h"
#include "httpd/config/glue.h"
#include "httpd/response/available.h"
#include "httpd/response/chain.h"
#include "httpd/response/choose.h"
#include "httpd/response/conditional.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/response.h"

#include "elastic/etag.h"

#include "apr_strings.h"

/* Makes mod_filter's harnesses run their filters for other statuses than 200. */
#define RUN_HARNESSES "filter-errordocs"

static ap_filter_rec_t *not_modified, *no_body;

/* A cache would take the identity's for its encoded body's, and throw that away. */
static void unset_identity(request_rec *r)
{
    el_field_unset(r, "Content-Length");
    el_field_unset(r, "Accept-Ranges");
}

bool el_not_modified_named(request_rec *r)
{
    el_response_t *request = el_response_of(r);
    const char *list = request->if_none_match ? request->if_none_match
                                              : apr_table_get(r->headers_in, "If-None-Match");
    const char *current = el_field(r, "ETag");
    el_accept_t accept;
    el_etag_rule_t rule;
    el_etag_t named;
    size_t base;
    bool found;

    if (!list || !current) {
        return false;
    }
    accept = el_response_enabled(r);
    rule = (el_etag_rule_t){.accept = &accept};
    found = el_etag_named(list, current, &rule, &named);
    if (!found && request->inflates) {
        rule.decoded = true;
        found = el_etag_named(list, current, &rule, &named);
    }
    if (!found) {
        return false;
    }
    request->tagged = true;
    if (!el_etag_same(&named, current)) {
        el_fields_set_etag(r, apr_pstrmemdup(r->pool, named.text, named.len));
    }
    if (el_etag_coding(&named, &base) != EL_IDENTITY) {
        unset_identity(r);
    }
    return true;
}

/* Whether what httpd and the backend have left undecided can still become a 304. */
static bool is_undecided(request_rec *r)
{
    return el_response_of(r)->names_tags && !r->no_local_copy
           && (r->status == HTTP_OK || r->status == HTTP_PARTIAL_CONTENT);
}

/* Makes a 304 of the response to a request that named `tag`. */
static void become_not_modified(request_rec *r, const el_etag_t *tag)
{
    el_fields_set_etag(r, apr_pstrmemdup(r->pool, tag->text, tag->len));
    unset_identity(r);
    el_field_unset(r, "Content-Range");
    el_response_of(r)->tagged = true;
    r->status = HTTP_NOT_MODIFIED;
    r->status_line = NULL;
    ap_add_output_filter_handle(no_body, NULL, r, r->connection);
}

bool el_not_modified_now(request_rec *r, const char *decoded)
{
    const char *list = is_undecided(r) ? apr_table_get(r->headers_in, "If-None-Match") : NULL;
    const char *current = list ? el_field(r, "ETag") : NULL;
    el_etag_rule_t rule;
    el_accept_t given;
    el_etag_t tag;

    if (!current) {
        return false;
    }
    given = el_conditional_given(r);
    rule = (el_etag_rule_t){.accept = &given};
    while (el_etag_next(&list, &tag)) {
        if (decoded ? el_etag_same(&tag, decoded) : el_etag_made_from(&tag, current, &rule)) {
            become_not_modified(r, &tag);
            if (!decoded) {
                el_available_add_vary(r);
            }
            return true;
        }
    }
    return false;
}

/* Whether the tag is that of a body which is encoded already, as a cache or a backend has it. */
static bool is_encodeds_tag(const request_rec *r)
{
    const char *current = el_field(r, "ETag");
    el_etag_t tag;
    size_t base;

    return current && el_etag_next(&current, &tag) && el_etag_coding(&tag, &base) != EL_IDENTITY;
}

/* The tag of the body in the coding that the policy's filter gives a 200. */
static void set_tag_of_200(request_rec *r, el_policy_t *policy, const el_facts_t *facts,
                           el_coding_t first)
{
    el_choose_for_t body = {.policy = policy, .facts = facts, .effort = el_response_effort(r)};
    el_coding_t coding;

    el_policy_read_encoding(policy);
    body.whole = facts->moment.size_known && facts->moment.size <= policy->whole_most;
    coding = el_choose(&body, first).coding;
    el_response_of(r)->tagged = true;
    el_fields_encode_etag(r, coding, policy->etag);
    unset_identity(r);
}

void el_not_modified_tag(request_rec *r, el_policy_t *policy, const el_facts_t *facts)
{
    el_coding_t coding = el_decide(facts).coding;

    if (!el_response_of(r)->tagged && !el_not_modified_named(r) && coding != EL_IDENTITY
        && !is_encodeds_tag(r)) {
        set_tag_of_200(r, policy, facts, coding);
    }
}

/* What one of our filters would make of a 200. */
typedef struct {
    el_policy_t policy;
    el_facts_t facts;
    el_coding_t coding; /* EL_IDENTITY: none encodes it */
    bool negotiated;    /* another client might get it encoded */
} judgement_t;

static judgement_t judge(request_rec *r, el_record_t record)
{
    judgement_t judgement = {.policy = el_policy_of(r, record)};
    el_decision_t decision;

    judgement.facts = el_facts_of_200(r, &judgement.policy, false);
    decision = el_decide(&judgement.facts);
    judgement.coding = decision.coding;
    judgement.negotiated = decision.vary;
    return judgement;
}

static uint16_t weight(const judgement_t *judgement)
{
    return judgement->facts.demand.accept.q[judgement->coding];
}

/* The judgement of the filter that encodes it: of the best weight, and of equals the first. */
static judgement_t judge_by_all(request_rec *r)
{
    const el_response_t *request = el_response_of(r);
    judgement_t best = {.coding = EL_IDENTITY};

    for (unsigned place = 1; place <= EL_RECORDS; place++) {
        for (int record = 0; record < EL_RECORDS; record++) {
            judgement_t judgement;

            if (request->installed[record] != place) {
                continue;
            }
            judgement = judge(r, (el_record_t)record);
            judgement.negotiated = judgement.negotiated || best.negotiated;
            if (judgement.coding != EL_IDENTITY
                && (best.coding == EL_IDENTITY || weight(&judgement) > weight(&best))) {
                best = judgement;
            }
            best.negotiated = judgement.negotiated;
        }
    }
    return best;
}

/* Whether a type that ours would encode is known; mod_filter does not tell which it was given. */
static bool knows_types(request_rec *r)
{
    return !el_response_of(r)->harnessed || !r->content_type;
}

void el_not_modified_returned(request_rec *r)
{
    judgement_t best;

    if (r->main || r->status != HTTP_NOT_MODIFIED) {
        return;
    }
    best = judge_by_all(r);
    if (!best.negotiated && !el_response_of(r)->if_none_match) {
        return;
    }
    if (el_response_of(r)->encodable) {
        el_available_add_vary(r);
    }
    if (knows_types(r)) {
        el_not_modified_tag(r, &best.policy, &best.facts);
    } else {
        el_not_modified_named(r);
    }
}

/* Whether mod_filter knows by the type which filters are to run, and these are all compressors. */
static bool may_run_harnesses(const request_rec *r)
{
    return r->content_type && el_chain_harnesses_compress(r)
           && !apr_table_get(r->subprocess_env, RUN_HARNESSES);
}

/*
 * Does a 304's work where ours stands within a harness of mod_filter, which leaves its filters out
 * of whatever is no 200.
 */
static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    bool run = r->status == HTTP_NOT_MODIFIED && may_run_harnesses(r);
    apr_status_t rv;

    ap_remove_output_filter(f);
    if (!run) {
        el_not_modified_returned(r);
        return ap_pass_brigade(f->next, bb);
    }
    apr_table_setn(r->subprocess_env, RUN_HARNESSES, "1");
    rv = ap_pass_brigade(f->next, bb);
    apr_table_unset(r->subprocess_env, RUN_HARNESSES);
    return rv;
}

void el_not_modified_register(void)
{
    /* Before all that a harness may hold. */
    not_modified = ap_register_output_filter(EL_FILTER_NOT_MODIFIED, filter, NULL,
                                             (ap_filter_type)(AP_FTYPE_RESOURCE - 2));
    /*
     * Drops the body of what was a 200, behind all that may find out so late. It stands by itself,
     * because a harness of mod_filter does not call a filter again that has made a 304.
     */
    no_body = ap_register_output_filter(EL_FILTER_NO_BODY, el_no_body, NULL, AP_FTYPE_CONTENT_SET);
}

void el_not_modified_insert(request_rec *r)
{
    ap_add_output_filter_handle(not_modified, NULL, r, r->connection);
}
