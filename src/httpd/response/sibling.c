#include "httpd/response/sibling.h"

#include "httpd/config/settings.h"
#include "httpd/response/request.h"
#include "httpd/state/stats.h"

#include "host/files.h"

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

/*
 * Whether a file, or a link, is root's or that of the owner of r's file. Others who may write into
 * the folder, as by an upload, must not put a body in place of that file's.
 */
static bool is_trusted(const request_rec *r, const apr_finfo_t *finfo)
{
    const apr_uid_t root = 0;
    apr_int32_t valid = finfo->valid & r->finfo.valid;

    return valid & APR_FINFO_USER && (finfo->user == root || finfo->user == r->finfo.user);
}

/*
 * What is known of the file at the sibling's path. Below ElasticPrecompressedRoot, whoever may
 * write there is trusted. Elsewhere a link must be, too: what it leads to was not made to be sent
 * here.
 */
static apr_status_t look(request_rec *r, el_sibling_t *sibling)
{
    apr_int32_t not_followed = sibling->root ? 0 : APR_FINFO_LINK;
    apr_status_t found = apr_stat(&sibling->finfo, sibling->path, APR_FINFO_NORM | not_followed,
                                  r->pool);

    sibling->trusted = sibling->root || is_trusted(r, &sibling->finfo);
    if (found == APR_SUCCESS && sibling->finfo.filetype == APR_LNK) {
        found = apr_stat(&sibling->finfo, sibling->path, APR_FINFO_NORM, r->pool);
        sibling->trusted = sibling->trusted && is_trusted(r, &sibling->finfo);
    }
    return found;
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
    if (!sibling->trusted) {
        return EL_SIBLING_OWNER;
    }
    return sibling->finfo.mtime < r->finfo.mtime ? EL_SIBLING_OUTDATED : EL_SIBLING_FAULTS_COUNT;
}

/* Looks at what lies at the sibling's path; with `wanted`, a fault of it is counted. */
static bool is_usable(request_rec *r, el_sibling_t *sibling, bool wanted)
{
    apr_status_t found = look(r, sibling);
    el_sibling_fault_t fault = fault_of(r, sibling, found);

    if (APR_STATUS_IS_ENOENT(found) || fault == EL_SIBLING_FAULTS_COUNT) {
        return found == APR_SUCCESS;
    }
    if (wanted) {
        el_stats_sibling_fault(r, fault, sibling->path);
    }
    return false;
}

/*
 * What of `path` comes behind the folder `base`, from the slash on; NULL where it is not below it.
 */
static const char *behind(const char *base, const char *path)
{
    size_t len = base ? strlen(base) : 0;

    while (len > 0 && base[len - 1] == '/') {
        len--;
    }
    return base && strncmp(path, base, len) == 0 && path[len] == '/' ? path + len : NULL;
}

/*
 * The folder that a server's documents lie in, where the root was set for them: one that a virtual
 * host inherits holds the siblings of other documents, unless a <Directory> says which.
 */
static const char *documents(request_rec *r, const el_siblings_root_t *root)
{
    const core_server_config *core = ap_get_core_module_config(root->server->module_config);
    const char *folder = ap_document_root(r);

    return root->section || strcmp(folder, core->ap_document_root) == 0 ? folder : NULL;
}

/*
 * The path to which the extensions of r's siblings are added; NULL where there can be none. The
 * outer one of <Directory> and DocumentRoot is what the root mirrors, so that no two files share a
 * path in it.
 */
static const char *stem_of(request_rec *r, const el_siblings_root_t *root)
{
    const char *in_section, *in_documents, *relative;

    if (!root) {
        return r->filename;
    }
    in_section = behind(root->section, r->filename);
    in_documents = behind(documents(r, root), r->filename);
    relative = in_section;
    if (in_documents && (!relative || in_documents < relative)) {
        relative = in_documents;
    }
    return relative ? apr_pstrcat(r->pool, root->folder, relative, NULL) : NULL;
}

el_siblings_t el_siblings_find(request_rec *r, bool acceptable)
{
    static const el_coding_t order[] = {EL_BR, EL_ZSTD, EL_GZIP};
    const el_siblings_root_t *root = el_dir_of(r)->siblings_root;
    const char *stem = stem_of(r, root);
    el_siblings_t all = {.count = 0};

    for (size_t i = 0; stem && i < sizeof(order) / sizeof(order[0]); i++) {
        el_sibling_t sibling = {.coding = order[i], .root = root ? root->folder : NULL};

        if (is_acceptable(r, order[i]) != acceptable) {
            continue;
        }
        sibling.path = apr_pstrcat(r->pool, stem, el_coding_info(order[i])->extension, NULL);
        if (is_usable(r, &sibling, acceptable)) {
            insert_by_size(&all, &sibling);
        }
    }
    return all;
}

/*
 * Whether the handler that the configuration names for the sibling leaves it to httpd's own, as
 * that of r's file did. Without a name, ap_invoke_handler() takes the media type for one.
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

/*
 * Ends the subrequest. `path` is what it should lead to; where its files lie elsewhere, none need
 * be there.
 */
static verdict_t judge(request_rec *lookup, const request_rec *r, const char *path, bool elsewhere)
{
    apr_filetype_e type = lookup->finfo.filetype;
    verdict_t verdict = REFUSED;

    if (lookup->status == HTTP_OK && lookup->filename && has_plain_handler(lookup, r)
        && lookup->proxyreq == PROXYREQ_NONE) {
        if (strcmp(lookup->filename, path) == 0) {
            verdict = type == APR_REG || (elsewhere && type == APR_NOFILE) ? SERVED : REFUSED;
        } else if (type == APR_NOFILE) {
            verdict = NOWHERE;
        }
    }
    ap_destroy_sub_req(lookup);
    return verdict;
}

/*
 * Whether r's URL ends in the name of its file, as that of a file which no rule gave another one.
 */
static bool is_named_by_url(const request_rec *r)
{
    const char *in_url = strrchr(r->uri, '/');
    const char *in_path = strrchr(r->filename, '/');

    return in_url && in_path && strcmp(in_url, in_path) == 0;
}

/*
 * Only a URL passes the rules that are about URLs (mod_rewrite's, mod_proxy's and mod_alias's
 * outside of directories). Where a rule has led r's URL to its file, the same with the extension
 * may lead nowhere: then the file is looked up by its path. Those rules are about the sibling's
 * place beside its file; a place elsewhere has its own.
 */
static verdict_t look_up(request_rec *r, const el_sibling_t *sibling)
{
    const char *extension = el_coding_info(sibling->coding)->extension;
    const char *beside = apr_pstrcat(r->pool, r->filename, extension, NULL);
    bool elsewhere = sibling->root != NULL;
    verdict_t verdict = NOWHERE;

    if (is_named_by_url(r)) {
        const char *url = ap_escape_uri(r->pool, apr_pstrcat(r->pool, r->uri, extension, NULL));

        verdict = judge(ap_sub_req_lookup_uri(url, r, NULL), r, beside, elsewhere);
    }
    if (verdict == NOWHERE) {
        verdict = judge(ap_sub_req_lookup_file(beside, r, NULL), r, beside, elsewhere);
    }
    if (verdict == SERVED && elsewhere) {
        verdict = judge(ap_sub_req_lookup_file(sibling->path, r, NULL), r, sibling->path, false);
    }
    return verdict;
}

bool el_sibling_allowed(request_rec *r, el_sibling_t *sibling)
{
    if (sibling->asked) {
        return sibling->allowed;
    }
    sibling->asked = true;
    if (look_up(r, sibling) != SERVED) {
        el_stats_sibling_fault(r, EL_SIBLING_DENIED, sibling->path);
    } else if (sibling->root && !el_path_within(sibling->path, sibling->root)) {
        el_stats_sibling_fault(r, EL_SIBLING_OUTSIDE, sibling->path);
    } else {
        sibling->allowed = true;
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
