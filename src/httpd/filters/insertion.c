#include "httpd/filters/filters.h"

#include "httpd/base/filter_names.h"
#include "httpd/body/body.h"
#include "httpd/config/settings.h"
#include "httpd/dictionary/filter.h"
#include "httpd/response/chain.h"
#include "httpd/response/not_modified.h"
#include "httpd/response/response.h"
#include "httpd/shared/stats.h"

#include "elastic/decide.h"

#include "util_filter.h"

static ap_filter_rec_t *skipped;

static bool is_of_application(const char *content_type)
{
    return *content_type == 'a'
           && strncmp(content_type, "application/", strlen("application/")) == 0;
}

/*
 * Whether the response is a file whose type is final, so that the decision can be made now: no
 * filter is there that could change it. Types of applications may be those of a handler, which
 * gives its output another one.
 */
static bool has_final_type(const request_rec *r, const el_dir_t *dir, unsigned roles)
{
    const unsigned changing = EL_ROLE_BIT(EL_ROLE_OTHER) | EL_ROLE_BIT(EL_ROLE_HARNESS)
                              | EL_ROLE_BIT(EL_ROLE_INFLATE);

    return !r->handler && r->finfo.filetype == APR_REG && r->content_type && !(roles & changing)
           && !el_dir_precompressed(dir) && !is_of_application(r->content_type);
}

/*
 * The response is known to go out as it is, unless a precompressed file is sent in its place. It
 * counts when it does: an internal redirect or an error page may still replace it.
 */
static void skip(request_rec *r, el_reason_t reason)
{
    ap_add_output_filter_handle(skipped, (void *)(uintptr_t)reason, r, r->connection);
}

static apr_status_t count_skipped(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const el_response_t *request = el_response_find(f->r);

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!el_body_is_error(bb) && !(request && request->claimed)) {
        el_stats_skipped(f->r, (el_reason_t)(uintptr_t)f->ctx);
    }
    /* Where that is all of the body, it is not called again. */
    if (!APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb))) {
        ap_remove_output_filter(f);
    }
    return ap_pass_brigade(f->next, bb);
}

/* Keeps what is in the chain, for conditional requests and precompressed files. */
static void remember(request_rec *r, const el_chain_t *chain)
{
    el_response_t *request = el_response_of(r);
    unsigned installed = chain->roles & el_chain_ours();

    memcpy(request->installed, chain->place, sizeof(request->installed));
    request->inflates = chain->roles & EL_ROLE_BIT(EL_ROLE_INFLATE);
    request->harness = chain->roles & EL_ROLE_BIT(EL_ROLE_HARNESS);
    request->encodable = installed || request->harness;
    if (request->encodable) {
        /* Now: mod_autoindex takes the field away while the page of HeaderName is on its way. */
        el_response_read_accept(r);
    }
    request->harnessed = request->harness || (installed && chain->harnessed);
    if (request->harnessed) {
        el_not_modified_insert(r);
    }
}

/* Puts ELASTIC in, where it is enabled, and remembers which filters may encode or decode. */
EL_RARE static void install(request_rec *r, bool enabled, el_chain_t chain)
{
    const unsigned encoders = el_chain_ours() | EL_ROLE_BIT(EL_ROLE_HARNESS);

    if (enabled) {
        el_chain_add_elastic(r);
        chain.roles |= EL_ROLE_BIT(EL_ROLE_ELASTIC);
        chain.place[EL_ROLE_ELASTIC] = 1;
    }
    /* A record of an earlier call, before an internal redirect, is brought up to date. */
    if (chain.roles & (encoders | EL_ROLE_BIT(EL_ROLE_INFLATE)) || el_response_find(r)) {
        remember(r, &chain);
    }
    if (!(chain.roles & encoders)) {
        skip(r, EL_REASON_OFF);
    }
}

void el_insertion(request_rec *r)
{
    const el_dir_t *dir = el_dir_of(r);
    bool enabled = el_dir_enabled(dir, false);
    el_chain_t chain;
    bool final;

    /* A subrequest's body becomes part of another's. */
    if (r->main) {
        return;
    }
    el_ranges_insert(r);
    chain = el_chain_look(r, enabled);
    if (el_dir_padding(dir) > 0) {
        ap_add_output_filter(EL_FILTER_PADDING, NULL, r, r->connection);
    }
    if (el_dir_dictionary(dir) || el_dir_dictionary_link(dir) || dir->dictionary_files) {
        el_dictionary_filter_insert(r);
    }
    if (el_dir_explains(dir)) {
        el_explain_insert(r);
    }
    final = enabled && has_final_type(r, dir, chain.roles);
    if (final && !el_dir_type_listed(dir, r->content_type, false)) {
        skip(r, EL_REASON_TYPE);
    } else {
        install(r, enabled, chain);
        if (final) {
            el_response_of(r)->listed_type = r->content_type;
        }
    }
}

void el_insertion_register(void)
{
    /* Before mod_cache's, as ELASTIC: a hit is no response that was skipped now. */
    skipped = ap_register_output_filter(EL_FILTER_SKIPPED, count_skipped, NULL,
                                        AP_FTYPE_CONTENT_SET);
}
