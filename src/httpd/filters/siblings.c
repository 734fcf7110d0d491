#include "httpd/filters/siblings.h"

#include "httpd/body/body.h"
#include "httpd/config/policy.h"
#include "httpd/response/chain.h"
#include "httpd/response/choice.h"
#include "httpd/response/difference.h"
#include "httpd/response/facts.h"
#include "httpd/response/fields.h"
#include "httpd/response/request.h"
#include "httpd/response/sibling.h"
#include "httpd/shared/stats.h"

#include "elastic/decide.h"
#include "elastic/etag.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"

EL_USE_LOG;

/*
 * A sibling is read in pieces of this size, and most are sent in one call then, as those files are
 * that httpd maps. In smaller pieces it takes more CPU than such a file: the figures are in
 * docs/internals/engines.md.
 */
#define PIECE (128 * 1024)

/* Whether the request is for a static file whose bytes go out as they lie there. */
static bool is_plain_file(request_rec *r)
{
    return !r->main && r->method_number == M_GET && r->finfo.filetype == APR_REG
           && !(r->path_info && *r->path_info) && !el_fields_encoded(r)
           && !el_chain_changes_body(r);
}

/* The best by q, then by size; NULL where none may be served. */
static el_sibling_t *best_sibling(request_rec *r, el_siblings_t *all)
{
    el_sibling_t *left[EL_CODINGS];
    size_t count;

    for (count = 0; count < all->count; count++) {
        left[count] = &all->sibling[count];
    }
    while (count > 0) {
        el_coding_t order[EL_CODINGS], best;
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
            order[i] = left[i]->coding;
        }
        best = el_accept_choose(el_request_accept(r), order, count);
        while (left[at]->coding != best) {
            at++;
        }
        if (el_sibling_allowed(r, left[at])) {
            return left[at];
        }
        count--;
        memmove(&left[at], &left[at + 1], (count - at) * sizeof(left[0]));
    }
    return NULL;
}

/* The sibling, if any, that If-Range names by its strong tag (RFC 9110 §13.1.5). */
static el_sibling_t *ranged_sibling(request_rec *r, el_siblings_t *all)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");

    for (size_t i = 0; if_range && i < all->count; i++) {
        const char *tag = el_sibling_tag(r, &all->sibling[i]);

        if (tag && strcmp(if_range, tag) == 0 && el_sibling_allowed(r, &all->sibling[i])) {
            return &all->sibling[i];
        }
    }
    return NULL;
}

/*
 * The tag in If-None-Match of any representation that is current: an eligible sibling, the
 * identity, or one of its dynamic codings. NULL where there is none.
 */
static const char *current_tag(request_rec *r, el_siblings_t *all)
{
    const char *sent = el_request_of(r)->if_none_match;
    const char *list = sent ? sent : apr_table_get(r->headers_in, "If-None-Match");
    el_accept_t accept = el_request_enabled(r);
    el_etag_t named;

    if (!list) {
        return NULL;
    }
    for (size_t i = 0; i < all->count; i++) {
        const char *cursor = list;
        const char *tag = el_sibling_tag(r, &all->sibling[i]);

        while (tag && el_etag_next(&cursor, &named)) {
            if (el_etag_same(&named, tag) && el_sibling_allowed(r, &all->sibling[i])) {
                return tag;
            }
        }
    }
    if (!el_etag_named(list, ap_make_etag(r, 0), &accept, &named)) {
        return NULL;
    }
    return apr_pstrmemdup(r->pool, named.text, named.len);
}

static int send_brigade(request_rec *r, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    rv = ap_pass_brigade(r->output_filters, bb);
    if (rv == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted) {
        return OK;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, rv, r, "elastic: a sibling of %s was not sent whole",
                  r->filename);
    return AP_FILTER_ERROR;
}

/* A 304 passes the filters as a lone EOS, as httpd's own for static files does. */
static int send_not_modified(request_rec *r, const char *tag)
{
    el_request_of(r)->claimed = true;
    if (tag) {
        apr_table_setn(r->headers_out, "ETag", tag);
    }
    el_fields_unset_coding(r);
    r->status = HTTP_NOT_MODIFIED;
    el_stats_skipped(r, el_decide_resource(&(el_resource_t){.status = r->status,
                                                            .enabled = true}));
    return send_brigade(r, apr_brigade_create(r->pool, r->connection->bucket_alloc));
}

/*
 * Whether the file that was opened is the one that was judged: a rename may have come in between.
 */
static bool is_same_file(apr_file_t *file, const el_sibling_t *sibling)
{
    apr_finfo_t opened;

    return apr_file_info_get(&opened, APR_FINFO_NORM, file) == APR_SUCCESS
           && opened.device == sibling->finfo.device && opened.inode == sibling->finfo.inode
           && opened.user == sibling->finfo.user && opened.size == sibling->finfo.size
           && opened.mtime == sibling->finfo.mtime;
}

/* NULL where it cannot be opened, or is another file by now. */
static apr_file_t *open_sibling(request_rec *r, const el_sibling_t *sibling)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags = APR_READ | APR_BINARY;
    apr_file_t *file;

#if APR_HAS_SENDFILE
    if (core->enable_sendfile == ENABLE_SENDFILE_ON) {
        flags |= APR_SENDFILE_ENABLED;
    }
#endif
    if (apr_file_open(&file, sibling->path, flags, 0, r->pool) != APR_SUCCESS) {
        file = NULL;
    } else if (!is_same_file(file, sibling)) {
        apr_file_close(file);
        file = NULL;
    }
    if (!file) {
        el_stats_sibling_fault(r, EL_SIBLING_UNREADABLE, sibling->path);
    }
    return file;
}

static int send_sibling(request_rec *r, el_sibling_t *sibling)
{
    const char *tag = el_sibling_tag(r, sibling);
    apr_bucket_brigade *bb;
    apr_file_t *file;
    int status;

    status = ap_discard_request_body(r);
    if (status != OK) {
        return status;
    }
    file = open_sibling(r, sibling);
    if (!file) {
        return DECLINED;
    }
    el_fields_set_coding(r, sibling->coding, EL_ETAG_REMOVE);
    if (tag) {
        apr_table_setn(r->headers_out, "ETag", tag);
    }
    ap_update_mtime(r, sibling->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, sibling->finfo.size);
    status = ap_meets_conditions(r);
    if (status == HTTP_NOT_MODIFIED) {
        apr_file_close(file);
        return send_not_modified(r, NULL);
    }
    if (status != OK) {
        return status;
    }
    el_request_of(r)->claimed = true;
    el_stats_precompressed(r, sibling->coding, (uint64_t)r->finfo.size,
                             (uint64_t)sibling->finfo.size);
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    el_body_read_in_pieces(apr_brigade_insert_file(bb, file, 0, sibling->finfo.size, r->pool),
                           PIECE);
    return send_brigade(r, bb);
}

/* The sibling that answers the request, or NULL: identity does. */
static el_sibling_t *choose_sibling(request_rec *r, el_siblings_t *all)
{
    if (el_request_has_range(r)) {
        return ranged_sibling(r, all);
    }
    return best_sibling(r, all);
}

/*
 * Whether If-None-Match may answer for the whole request: not in an error document, and not where a
 * condition stands that comes before it (RFC 9110 §13.2.2).
 */
static bool may_be_not_modified(const request_rec *r)
{
    return r->status == HTTP_OK && !r->no_local_copy && !apr_table_get(r->headers_in, "If-Match")
           && !apr_table_get(r->headers_in, "If-Unmodified-Since");
}

/* If-Match is the identity's to judge, unless it names the sibling. */
static bool may_match(request_rec *r, el_sibling_t *sibling)
{
    const char *list = apr_table_get(r->headers_in, "If-Match");
    const char *tag = list ? el_sibling_tag(r, sibling) : NULL;
    el_etag_t named;

    while (list && *list != '*' && el_etag_next(&list, &named)) {
        if (tag && !named.weak && el_etag_same(&named, tag)) {
            return true;
        }
    }
    return !list || *list == '*';
}

/*
 * Whether the client has a dictionary, likes what differs from it as well as the sibling, and that is
 * worth more. It seldom is where the CPU is busy: a sibling takes none.
 */
static bool prefers_difference(request_rec *r, const el_sibling_t *sibling)
{
    const el_accept_t *accept = el_request_accept(r);
    const el_difference_t *difference = el_difference_ahead(r);
    el_policy_t policy;
    el_facts_t facts;

    if (difference->coding == EL_IDENTITY || el_request_has_range(r)
        || accept->q[difference->coding] < accept->q[sibling->coding]) {
        return false;
    }
    policy = el_policy_of(r, EL_RECORD_ELASTIC);
    el_policy_read_encoding(&policy);
    facts = el_facts_ahead(r, &policy);
    facts.moment.size = (uint64_t)r->finfo.size;
    facts.moment.size_known = true;
    return facts.demand.difference != EL_IDENTITY && facts.moment.size > 0
           && el_choice_beats(&policy, &facts, (uint64_t)sibling->finfo.size);
}

EL_RARE static int offer_siblings(request_rec *r)
{
    el_siblings_t all = el_siblings_find(r, true);
    el_sibling_t *sibling;
    const char *tag;

    /* One that is of no use to this client is looked for only where it makes a difference: Vary. */
    if (all.count == 0 && el_siblings_find(r, false).count == 0) {
        return DECLINED;
    }
    el_difference_add_vary(r);
    if (el_request_dated_range(r)) {
        el_request_drop_range(r);
    }
    if (all.count == 0) {
        return DECLINED;
    }
    tag = may_be_not_modified(r) ? current_tag(r, &all) : NULL;
    if (tag) {
        return send_not_modified(r, tag);
    }
    sibling = choose_sibling(r, &all);
    if (!sibling || !may_match(r, sibling) || prefers_difference(r, sibling)) {
        return DECLINED;
    }
    return send_sibling(r, sibling);
}

int el_siblings_handler(request_rec *r)
{
    bool asked = atomic_load_explicit(&el_settings_precompressed, memory_order_relaxed)
                 && el_dir_precompressed(el_dir_of(r)) && !r->main;

    return asked && is_plain_file(r) ? offer_siblings(r) : DECLINED;
}
