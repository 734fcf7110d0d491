#include "httpd/response/sibling.h"

#include "httpd/response/request.h"
#include "httpd/state/stats.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"

static void insert_by_size(el_siblings_t *all, const el_sibling_t *sibling)
{
    size_t at = all->count++;

    while (at > 0 && all->sibling[at - 1].finfo.size > sibling->finfo.size) {
        all->sibling[at] = all->sibling[at - 1];
        at--;
    }
    all->sibling[at] = *sibling;
}

/* Whether the environment allows the coding and the request accepts it. */
static bool is_acceptable(request_rec *r, el_coding_t coding)
{
    return el_request_env_allows(r, coding)
           && el_accept_choose(el_request_accept(r), &coding, 1) != EL_IDENTITY;
}

/* What keeps the file at the sibling's path from being one; EL_SIBLING_FAULTS_COUNT: nothing. */
static el_sibling_fault_t fault_of(const request_rec *r, const el_sibling_t *sibling,
                                   apr_status_t found)
{
    if (found != APR_SUCCESS) {
        return EL_SIBLING_UNREADABLE;
    }
    if (sibling->finfo.filetype != APR_REG) {
        return EL_SIBLING_IRREGULAR;
    }
    return sibling->finfo.mtime < r->finfo.mtime ? EL_SIBLING_OUTDATED : EL_SIBLING_FAULTS_COUNT;
}

/* Looks at what lies at the sibling's path; with `wanted`, a fault of it is counted. */
static bool is_usable(request_rec *r, el_sibling_t *sibling, bool wanted)
{
    apr_status_t found = apr_stat(&sibling->finfo, sibling->path, APR_FINFO_NORM, r->pool);
    el_sibling_fault_t fault = fault_of(r, sibling, found);

    if (APR_STATUS_IS_ENOENT(found) || fault == EL_SIBLING_FAULTS_COUNT) {
        return found == APR_SUCCESS;
    }
    if (wanted) {
        el_stats_sibling_fault(r, fault, sibling->path);
    }
    return false;
}

el_siblings_t el_siblings_find(request_rec *r, bool acceptable)
{
    static const el_coding_t order[] = {EL_BR, EL_ZSTD, EL_GZIP};
    el_siblings_t all = {.count = 0};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        el_sibling_t sibling = {.coding = order[i]};

        if (is_acceptable(r, order[i]) != acceptable) {
            continue;
        }
        sibling.path = apr_pstrcat(r->pool, r->filename, el_coding_info(order[i])->extension, NULL);
        if (is_usable(r, &sibling, acceptable)) {
            insert_by_size(&all, &sibling);
        }
    }
    return all;
}

/*
 * Whether the handler that the configuration names for the sibling leaves it to httpd's own, as that
 * of r's file did. Without a name, ap_invoke_handler() takes the media type for one.
 */
static bool has_plain_handler(const request_rec *lookup, const request_rec *r)
{
    return !lookup->handler || strcmp(lookup->handler, "default-handler") == 0
           || (r->handler && strcmp(lookup->handler, r->handler) == 0);
}

/* What httpd makes of a request for the sibling. */
typedef enum {
    SERVED,
    REFUSED,
    NOWHERE /* nothing is there by that name, and no rule is about it */
} verdict_t;

/* Ends the subrequest. */
static verdict_t judge(request_rec *lookup, const request_rec *r, const char *path)
{
    verdict_t verdict = REFUSED;

    if (lookup->status == HTTP_OK && lookup->filename && has_plain_handler(lookup, r)
        && lookup->proxyreq == PROXYREQ_NONE) {
        if (strcmp(lookup->filename, path) == 0) {
            verdict = lookup->finfo.filetype == APR_REG ? SERVED : REFUSED;
        } else if (lookup->finfo.filetype == APR_NOFILE) {
            verdict = NOWHERE;
        }
    }
    ap_destroy_sub_req(lookup);
    return verdict;
}

/* Whether r's URL ends in the name of its file, as that of a file which no rule gave another one. */
static bool is_named_by_url(const request_rec *r)
{
    const char *in_url = strrchr(r->uri, '/');
    const char *in_path = strrchr(r->filename, '/');

    return in_url && in_path && strcmp(in_url, in_path) == 0;
}

/*
 * Only a URL passes the rules that are about URLs (mod_rewrite's, mod_proxy's and mod_alias's outside
 * of directories). Where a rule has led r's URL to its file, the same with the extension may lead
 * nowhere: then the file is looked up by its path.
 */
static bool look_up(request_rec *r, const el_sibling_t *sibling)
{
    const char *extension = el_coding_info(sibling->coding)->extension;
    verdict_t verdict = NOWHERE;

    if (is_named_by_url(r)) {
        const char *url = ap_escape_uri(r->pool, apr_pstrcat(r->pool, r->uri, extension, NULL));

        verdict = judge(ap_sub_req_lookup_uri(url, r, NULL), r, sibling->path);
    }
    if (verdict == NOWHERE) {
        verdict = judge(ap_sub_req_lookup_file(sibling->path, r, NULL), r, sibling->path);
    }
    return verdict == SERVED;
}

bool el_sibling_allowed(request_rec *r, el_sibling_t *sibling)
{
    if (!sibling->asked) {
        sibling->allowed = look_up(r, sibling);
        sibling->asked = true;
        if (!sibling->allowed) {
            el_stats_sibling_fault(r, EL_SIBLING_DENIED, sibling->path);
        }
    }
    return sibling->allowed;
}

/* httpd's tag of the sibling, which reads the file's name and what is known of it from `r`. */
static const char *tag_of_file(request_rec *r, const el_sibling_t *sibling)
{
    apr_finfo_t finfo = r->finfo;
    char *filename = r->filename;
    const char *tag;

    r->finfo = sibling->finfo;
    r->filename = apr_pstrdup(r->pool, sibling->path);
    tag = ap_make_etag(r, 0);
    r->finfo = finfo;
    r->filename = filename;
    return strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag;
}

const char *el_sibling_tag(request_rec *r, el_sibling_t *sibling)
{
    if (!sibling->tagged) {
        const char *tag = tag_of_file(r, sibling);
        size_t len = strlen(tag);

        if (len >= 2 && tag[0] == '"' && tag[len - 1] == '"') {
            sibling->tag = apr_psprintf(r->pool, "%.*s%s\"", (int)len - 1, tag,
                                        el_coding_info(sibling->coding)->extension);
        }
        sibling->tagged = true;
    }
    return sibling->tag;
}
