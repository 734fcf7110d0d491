#include "httpd/response/conditional.h"

#include "httpd/base/filter_names.h"
#include "httpd/config/policy.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/request.h"

#include "elastic/etag.h"

#include "apr_strings.h"
#include "util_filter.h"

static ap_filter_rec_t *not_modified;

/* Whether a filter of ours may encode the response: with INFLATE alone, none does. */
static bool is_encoder_possible(request_rec *r)
{
    return el_request_installed(r) || el_request_of(r)->harness;
}

/* Whether another server, or a FastCGI process, answers. */
static bool is_proxied(const request_rec *r)
{
    return r->proxyreq != PROXYREQ_NONE || (r->handler && strncmp(r->handler, "proxy:", 6) == 0);
}

static bool takes_a_coding(const el_accept_t *accept)
{
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        if (el_accept_takes(accept, (el_coding_t)coding)) {
            return true;
        }
    }
    return false;
}

/*
 * A backend knows of its own body only: where If-Range has that body's date, it answers a slice of
 * it, and the client joins it to the part of an encoded one that it may have. Files wait with this
 * until their type is known; a backend has answered by then.
 */
static bool asks_a_backend_by_date(request_rec *r)
{
    return is_proxied(r) && el_request_dated_range(r) && el_request_has_range(r)
           && is_encoder_possible(r);
}

/* Adds the tags of the identities to If-None-Match. */
static void name_bases(request_rec *r, const char *list, const el_accept_t *accept)
{
    el_request_t *request = el_request_of(r);
    size_t size, len;
    char *bases;

    /* Of "x-gunzip-gzip" both "x-gunzip" and "x" are bases. */
    size = strlen(list) * 3 + 1;
    bases = apr_palloc(r->pool, size);
    len = el_etag_bases(list, accept, bases, size);
    if (request->inflates) {
        len += el_etag_decoded_bases(list, accept, bases + len, size - len);
    }
    if (len > 0) {
        request->if_none_match = list;
        apr_table_setn(r->headers_in, "If-None-Match", apr_pstrcat(r->pool, list, bases, NULL));
    }
}

EL_RARE static void extend(request_rec *r)
{
    const char *list = apr_table_get(r->headers_in, "If-None-Match");
    bool by_date = asks_a_backend_by_date(r);
    el_accept_t accept;

    if (!list && !by_date) {
        return;
    }
    accept = el_request_enabled(r);
    /* A copy, because mod_cache keeps a pointer to the table as the client sent it. */
    r->headers_in = apr_table_copy(r->pool, r->headers_in);
    if (by_date && takes_a_coding(&accept)) {
        el_request_drop_range(r);
    }
    if (list) {
        name_bases(r, list, &accept);
    }
}

void el_conditional_prepare(request_rec *r)
{
    const el_request_t *request = el_request_find(r);

    if (request && !r->main && r->method_number == M_GET
        && (request->inflates || is_encoder_possible(r))) {
        extend(r);
    }
}

void el_conditional_not_modified(request_rec *r)
{
    const char *list = el_request_of(r)->if_none_match;
    const char *current = el_field(r, "ETag");
    el_accept_t accept;
    el_etag_t named;
    size_t base;

    if (!list || !current) {
        return;
    }
    accept = el_request_enabled(r);
    if (!el_etag_named(list, current, &accept, &named)
        && !(el_request_of(r)->inflates && el_etag_named_decoded(list, current, &accept, &named))) {
        return;
    }
    el_fields_set_etag(r, apr_pstrmemdup(r->pool, named.text, named.len));
    if (el_etag_coding(&named, &base) != EL_IDENTITY) {
        /* A cache would take the identity's for its encoded body's, and throw that away. */
        el_field_unset(r, "Content-Length");
        el_field_unset(r, "Accept-Ranges");
    }
}

/* Whether a filter of ours would have given the response of this 304 to another client encoded. */
static bool is_negotiable(request_rec *r)
{
    const el_request_t *request = el_request_of(r);

    for (int record = 0; record < EL_RECORDS; record++) {
        el_policy_t policy;
        el_facts_t facts;

        if (request->installed[record]) {
            policy = el_policy_of(r, (el_record_t)record);
            facts = el_facts_of(r, &policy, false);
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
            el_fields_add_vary(r);
        }
        el_conditional_not_modified(r);
    }
}

/*
 * Does a 304's work where ours stands within a harness of mod_filter, which leaves its filters out
 * of whatever is no 200 (unless filter-errordocs is in the environment).
 */
static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_conditional_returned(f->r);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void el_conditional_register(void)
{
    not_modified = ap_register_output_filter(EL_FILTER_NOT_MODIFIED, filter, NULL,
                                           AP_FTYPE_CONTENT_SET);
}

void el_conditional_insert(request_rec *r)
{
    ap_add_output_filter_handle(not_modified, NULL, r, r->connection);
}
