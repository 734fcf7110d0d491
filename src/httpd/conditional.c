#include "conditional.h"

#include "request.h"
#include "response.h"
#include "settings.h"

#include "apr_strings.h"

/* Whether a filter of ours may encode the response: with INFLATE alone, none does. */
static bool is_encoder_possible(request_rec *r)
{
    return el_request_stands(r) || el_request_of(r)->may_stand;
}

int el_conditional_prepare(request_rec *r)
{
    el_request_t *request;
    const char *list;
    el_accept_t accept;
    size_t size, len;
    char *bases;

    if (r->main || r->method_number != M_GET
        || (!is_encoder_possible(r) && !el_request_of(r)->decodes)) {
        return DECLINED;
    }
    list = apr_table_get(r->headers_in, "If-None-Match");
    if (!list) {
        return DECLINED;
    }
    request = el_request_of(r);
    accept = el_request_enabled(r);
    /* Of "x-gunzip-gzip" both "x-gunzip" and "x" are bases. */
    size = strlen(list) * 3 + 1;
    bases = apr_palloc(r->pool, size);
    len = el_etag_bases(list, &accept, bases, size);
    if (request->decodes) {
        len += el_etag_decoded_bases(list, &accept, bases + len, size - len);
    }
    if (len > 0) {
        request->if_none_match = list;
        /* A copy, because mod_cache keeps a pointer to the table as the client sent it. */
        r->headers_in = apr_table_copy(r->pool, r->headers_in);
        apr_table_setn(r->headers_in, "If-None-Match", apr_pstrcat(r->pool, list, bases, NULL));
    }
    return DECLINED;
}

void el_conditional_not_modified(request_rec *r)
{
    const char *list = el_request_of(r)->if_none_match;
    const char *current = el_response_header(r, "ETag");
    el_accept_t accept;
    el_etag_t named;
    size_t base;

    if (!list || !current) {
        return;
    }
    accept = el_request_enabled(r);
    if (!el_etag_named(list, current, &accept, &named)
        && !(el_request_of(r)->decodes && el_etag_named_decoded(list, current, &accept, &named))) {
        return;
    }
    el_response_set_etag(r, apr_pstrmemdup(r->pool, named.text, named.len));
    if (el_etag_coding(&named, &base) != EL_IDENTITY) {
        /* A cache would take the identity's for its encoded body's, and throw that away. */
        el_response_unset(r, "Content-Length");
        el_response_unset(r, "Accept-Ranges");
    }
}

/* Whether a filter of ours would have given the response of this 304 to another client encoded. */
static bool is_negotiable(request_rec *r)
{
    const el_request_t *request = el_request_of(r);

    for (int record = 0; record < EL_RECORDS; record++) {
        el_facts_t facts;

        if (request->stands[record]) {
            facts = el_request_facts(r, (el_record_t)record, false);
            if (el_decide(&facts).vary) {
                return true;
            }
        }
    }
    return false;
}

void el_conditional_returned(request_rec *r)
{
    if (!r->main && r->status == HTTP_NOT_MODIFIED
        && (el_request_of(r)->if_none_match || is_negotiable(r))) {
        if (is_encoder_possible(r)) {
            el_response_vary(r);
        }
        el_conditional_not_modified(r);
    }
}

apr_status_t el_conditional_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_conditional_returned(f->r);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}
