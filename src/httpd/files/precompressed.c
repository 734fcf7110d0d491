#include "httpd/files/precompressed.h"

#include "httpd/body/body.h"
#include "httpd/config/glue.h"
#include "httpd/response/steps.h"
#include "httpd/response/choose.h"

#include "elastic/entry.h"
#include "host/machine.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"

EL_USE_LOG;

/*
 * Precompressed files are read in pieces of this size: most are then sent in one call, like files
 * that httpd maps. Smaller pieces cost more CPU time than that (docs/internals/engines.md).
 */
#define PIECE (128 * 1024)

typedef struct {
    el_coding_t coding;
    const char *path;
    const char *root; /* the folder it must stay in; NULL: beside its original */
    apr_finfo_t finfo;
    bool asked; /* precompressed_is_allowed() has set `allowed` */
    bool allowed;
    bool tagged; /* precompressed_tag_of() has set `tag` */
    const char *tag;
} candidate_t;

/* Smallest first; at most one for each coding. */
typedef struct {
    candidate_t file[EL_CODINGS];
    size_t count;
} candidates_t;

/*
 * True if a file or link belongs to root or to the owner of r's file. Others who may write to the
 * folder, as by an upload, must not replace the body of that file.
 */
static bool precompressed_is_trusted(const request_rec *r, const apr_finfo_t *finfo)
{
    const apr_uid_t root = 0;
    apr_int32_t valid = finfo->valid & r->finfo.valid;

    return valid & APR_FINFO_USER && (finfo->user == root || finfo->user == r->finfo.user);
}

/*
 * Examines the file at the candidate's path; with `wanted`, counts its fault. Everyone who may
 * write below ElasticPrecompressedRoot is trusted. Elsewhere the owner of a link must be trusted,
 * too: it could lead to any file.
 */
static bool precompressed_is_usable(request_rec *r, candidate_t *candidate, bool wanted)
{
    apr_finfo_t *finfo = &candidate->finfo;
    apr_int32_t not_followed = candidate->root ? 0 : APR_FINFO_LINK;
    apr_status_t found =
        apr_stat(finfo, candidate->path, APR_FINFO_NORM | not_followed, r->pool);
    bool trusted = candidate->root || precompressed_is_trusted(r, finfo);
    el_precompressed_fault_t fault;

    if (found == APR_SUCCESS && finfo->filetype == APR_LNK) {
        found = apr_stat(finfo, candidate->path, APR_FINFO_NORM, r->pool);
        trusted = trusted && precompressed_is_trusted(r, finfo);
    }
    if (APR_STATUS_IS_ENOENT(found)) {
        return false;
    }
    if (found != APR_SUCCESS) {
        fault = EL_PRECOMPRESSED_UNREADABLE;
    } else if (finfo->filetype != APR_REG) {
        fault = EL_PRECOMPRESSED_IRREGULAR;
    } else if (!trusted) {
        fault = EL_PRECOMPRESSED_OWNER;
    } else if (finfo->mtime < r->finfo.mtime) {
        fault = EL_PRECOMPRESSED_OUTDATED;
    } else {
        return true;
    }
    if (wanted) {
        el_stats_precompressed_fault(r, fault, candidate->path, false);
    }
    return false;
}

/* The part of `path` after the folder `base`, from its slash on; NULL if it is not below `base`. */
static const char *precompressed_behind(const char *base, const char *path)
{
    size_t len = base ? strlen(base) : 0;

    while (len > 0 && base[len - 1] == '/') {
        len--;
    }
    return base && strncmp(path, base, len) == 0 && path[len] == '/' ? path + len : NULL;
}

/*
 * The path to which the extensions are added; NULL: r's file can have no precompressed files.
 * ElasticPrecompressedRoot mirrors the outer one of <Directory> and DocumentRoot, so that no two
 * files share a path in it. DocumentRoot counts only if the root was set for it: a virtual host
 * that inherits the root has other documents, and needs a <Directory>.
 */
static const char *precompressed_stem_of(request_rec *r, const el_precompressed_root_t *root)
{
    const core_server_config *core;
    const char *in_section, *in_documents, *relative, *documents;

    if (!root) {
        return r->filename;
    }
    core = ap_get_core_module_config(root->server->module_config);
    documents = ap_document_root(r);
    if (!root->section && strcmp(documents, core->ap_document_root) != 0) {
        documents = NULL;
    }
    in_section = precompressed_behind(root->section, r->filename);
    in_documents = precompressed_behind(documents, r->filename);
    relative = in_section;
    if (in_documents && (!relative || in_documents < relative)) {
        relative = in_documents;
    }
    return relative ? apr_pstrcat(r->pool, root->folder, relative, NULL) : NULL;
}

/*
 * Finds the precompressed files whose codings are acceptable, or those whose codings are not:
 * regular files, not older than r's. Beside r's file, the owner must be that file's or root. Of
 * equal sizes, br comes before zstd and gzip.
 */
static candidates_t precompressed_find_all(el_response_t *response, bool acceptable)
{
    static const el_coding_t order[] = {EL_BR, EL_ZSTD, EL_GZIP};
    request_rec *r = response->r;
    const el_precompressed_root_t *root = el_dir_of(r)->precompressed_root;
    const char *stem = precompressed_stem_of(r, root);
    candidates_t all = {.count = 0};

    for (size_t i = 0; stem && i < sizeof(order) / sizeof(order[0]); i++) {
        candidate_t candidate = {.coding = order[i], .root = root ? root->folder : NULL};
        bool accepted =
            el_response_env_allows(r, order[i])
            && el_accept_choose(el_response_accept(response), &order[i], 1) != EL_IDENTITY;

        if (accepted != acceptable) {
            continue;
        }
        candidate.path = apr_pstrcat(r->pool, stem, el_coding_info(order[i])->extension, NULL);
        if (precompressed_is_usable(r, &candidate, acceptable)) {
            size_t at = all.count++;

            for (; at > 0 && all.file[at - 1].finfo.size > candidate.finfo.size; at--) {
                all.file[at] = all.file[at - 1];
            }
            all.file[at] = candidate;
        }
    }
    return all;
}

/* httpd's answer to a request for the candidate. */
typedef enum {
    SERVED,
    REFUSED,
    NOWHERE /* no such file, and no rule about it */
} verdict_t;

/*
 * Judges and ends a subrequest that should lead to `path`; `elsewhere`: no file needs to be there.
 * httpd's own handler must serve the candidate, as it serves r's file. Without a name of a handler,
 * ap_invoke_handler() uses the media type.
 */
static verdict_t precompressed_judge(request_rec *lookup, const request_rec *r, const char *path,
                                     bool elsewhere)
{
    apr_filetype_e type = lookup->finfo.filetype;
    bool is_plain = !lookup->handler || strcmp(lookup->handler, "default-handler") == 0
                    || (r->handler && strcmp(lookup->handler, r->handler) == 0);
    verdict_t verdict = REFUSED;

    if (lookup->status == HTTP_OK && lookup->filename && is_plain
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
 * Looks the candidate up as if a client requested it beside its file. Only a URL is subject to
 * rules about URLs (mod_rewrite's, mod_proxy's and mod_alias's outside of <Directory>). If such a
 * rule maps r's URL to its file, the URL with the extension may lead nowhere: then the path is
 * looked up. A file below ElasticPrecompressedRoot must pass the rules of its own place as well.
 */
static verdict_t precompressed_look_up(request_rec *r, const candidate_t *candidate)
{
    const char *extension = el_coding_info(candidate->coding)->extension;
    const char *beside = apr_pstrcat(r->pool, r->filename, extension, NULL);
    bool elsewhere = candidate->root != NULL;
    verdict_t verdict = NOWHERE;

    /* The URL ends like the path: no rule has renamed the file. */
    if (strcmp(apr_filepath_name_get(r->uri), apr_filepath_name_get(r->filename)) == 0) {
        const char *url = ap_escape_uri(r->pool, apr_pstrcat(r->pool, r->uri, extension, NULL));

        verdict = precompressed_judge(ap_sub_req_lookup_uri(url, r, NULL), r, beside, elsewhere);
    }
    if (verdict == NOWHERE) {
        verdict = precompressed_judge(ap_sub_req_lookup_file(beside, r, NULL), r, beside,
                                      elsewhere);
    }
    if (verdict == SERVED && elsewhere) {
        verdict = precompressed_judge(ap_sub_req_lookup_file(candidate->path, r, NULL), r,
                                      candidate->path, false);
    }
    return verdict;
}

/* True if the open file is the one examined: it may have been replaced meanwhile. */
static bool precompressed_is_same_file(apr_file_t *file, const apr_finfo_t *seen)
{
    apr_finfo_t opened;

    return apr_file_info_get(&opened, APR_FINFO_NORM, file) == APR_SUCCESS
           && opened.device == seen->device && opened.inode == seen->inode
           && opened.user == seen->user && opened.size == seen->size
           && opened.mtime == seen->mtime;
}

/* NULL if it cannot be opened, or was replaced. */
static apr_file_t *precompressed_open_file(request_rec *r, const candidate_t *candidate)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags = APR_READ | APR_BINARY;
    apr_file_t *file;

#if APR_HAS_SENDFILE
    if (core->enable_sendfile == ENABLE_SENDFILE_ON) {
        flags |= APR_SENDFILE_ENABLED;
    }
#endif
    if (apr_file_open(&file, candidate->path, flags, 0, r->pool) != APR_SUCCESS) {
        file = NULL;
    } else if (!precompressed_is_same_file(file, &candidate->finfo)) {
        apr_file_close(file);
        file = NULL;
    }
    if (!file) {
        el_stats_precompressed_fault(r, EL_PRECOMPRESSED_UNREADABLE, candidate->path, false);
    }
    return file;
}

/*
 * A file that changed within this time may change again without new numbers, because timestamps
 * tick. Its verdict is not remembered.
 */
#define TICK apr_time_from_sec(2)

static bool precompressed_has_read(apr_file_t *file, uint8_t *bytes, size_t nbytes, apr_off_t from)
{
    return apr_file_seek(file, APR_SET, &from) == APR_SUCCESS
           && apr_file_read_full(file, bytes, nbytes, NULL) == APR_SUCCESS;
}

/*
 * True if clients can decode the candidate to a body of the original's length, as far as that shows
 * without decoding. Reads the file once, and again when its numbers change.
 */
static bool precompressed_is_sound(request_rec *r, const candidate_t *candidate)
{
    const apr_finfo_t *finfo = &candidate->finfo;
    el_precompressed_verdicts_t *verdicts = &el_shared.block->precompressed;
    const el_precompressed_id_t id = {
        .device = (uint64_t)finfo->device, .inode = (uint64_t)finfo->inode,
        .size = (uint64_t)finfo->size, .modified = finfo->mtime, .changed = finfo->ctime,
        .original = (uint64_t)r->finfo.size, .coding = candidate->coding};
    el_precompressed_fault_t verdict;

    if (!el_precompressed_recall(verdicts, &id, &verdict)) {
        /* Read no more than a verdict needs. */
        el_precompressed_t content = {
            .coding = candidate->coding, .size = id.size, .original = id.original};
        size_t nbytes = id.size < EL_PRECOMPRESSED_READ ? id.size : EL_PRECOMPRESSED_READ;
        size_t tail = nbytes < sizeof(content.end) ? nbytes : sizeof(content.end);
        apr_file_t *file = precompressed_open_file(r, candidate);
        uint8_t *bytes = file ? malloc(nbytes + 1) : NULL;

        verdict = EL_PRECOMPRESSED_UNREADABLE;
        if (bytes && precompressed_has_read(file, bytes, nbytes, 0)
            && precompressed_has_read(file, content.end, tail, (apr_off_t)(content.size - tail))) {
            content.bytes = bytes;
            content.nbytes = nbytes;
            verdict = el_precompressed_judge(&content);
        }
        free(bytes);
        if (file) {
            apr_file_close(file);
        }
        if (verdict != EL_PRECOMPRESSED_UNREADABLE && finfo->ctime + TICK < r->request_time) {
            el_precompressed_remember(verdicts, &id, verdict);
        }
    }
    /* Unreadable files were counted in precompressed_open_file(). */
    if (verdict != EL_PRECOMPRESSED_FAULTS_COUNT && verdict != EL_PRECOMPRESSED_UNREADABLE) {
        el_stats_precompressed_fault(r, verdict, candidate->path,
                                     el_precompressed_name(verdicts, &id));
    }
    return verdict == EL_PRECOMPRESSED_FAULTS_COUNT;
}

/*
 * True if the client could request the candidate itself beside its file, and it is sound. Below
 * ElasticPrecompressedRoot the rules of its own place apply as well, and no link may lead out of
 * that folder. The answer is kept.
 */
static bool precompressed_is_allowed(request_rec *r, candidate_t *candidate)
{
    if (candidate->asked) {
        return candidate->allowed;
    }
    candidate->asked = true;
    if (precompressed_look_up(r, candidate) != SERVED) {
        el_stats_precompressed_fault(r, EL_PRECOMPRESSED_DENIED, candidate->path, false);
    } else if (candidate->root && !el_path_within(candidate->path, candidate->root)) {
        el_stats_precompressed_fault(r, EL_PRECOMPRESSED_OUTSIDE, candidate->path, false);
    } else {
        candidate->allowed = precompressed_is_sound(r, candidate);
    }
    return candidate->allowed;
}

/*
 * The strong tag of a precompressed file: httpd's, by FileETag, with the extension inside, so that
 * files of the same size and time differ. NULL if FileETag makes none.
 */
static const char *precompressed_tag_of(request_rec *r, candidate_t *candidate)
{
    if (!candidate->tagged) {
        apr_finfo_t finfo = r->finfo;
        char *filename = r->filename;
        const char *tag;

        /* ap_make_etag() reads name and numbers from `r`. */
        r->finfo = candidate->finfo;
        r->filename = apr_pstrdup(r->pool, candidate->path);
        tag = ap_make_etag(r, 0);
        r->finfo = finfo;
        r->filename = filename;
        tag += strncmp(tag, "W/", 2) == 0 ? 2 : 0;
        if (*tag) {
            candidate->tag = apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, tag, strlen(tag) - 1),
                                         el_coding_info(candidate->coding)->extension, "\"", NULL);
        }
        candidate->tagged = true;
    }
    return candidate->tag;
}

/* The best by weight, then by size; NULL if none may be sent. */
static candidate_t *precompressed_best_of(el_response_t *response, candidates_t *all)
{
    candidate_t *left[EL_CODINGS];
    size_t count;

    for (count = 0; count < all->count; count++) {
        left[count] = &all->file[count];
    }
    while (count > 0) {
        el_coding_t order[EL_CODINGS], best;
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
            order[i] = left[i]->coding;
        }
        best = el_accept_choose(el_response_accept(response), order, count);
        while (at + 1 < count && left[at]->coding != best) {
            at++;
        }
        if (precompressed_is_allowed(response->r, left[at])) {
            return left[at];
        }
        count--;
        memmove(&left[at], &left[at + 1], (count - at) * sizeof(left[0]));
    }
    return NULL;
}

/* The candidate that If-Range names by its strong tag (RFC 9110 §13.1.5), or NULL. */
static candidate_t *precompressed_named_by_range(request_rec *r, candidates_t *all)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");

    for (size_t i = 0; if_range && i < all->count; i++) {
        const char *tag = precompressed_tag_of(r, &all->file[i]);

        if (tag && strcmp(if_range, tag) == 0 && precompressed_is_allowed(r, &all->file[i])) {
            return &all->file[i];
        }
    }
    return NULL;
}

/* If-None-Match as the client sent it, or NULL. */
static const char *precompressed_none_match_of(const el_response_t *response)
{
    const char *sent = response->if_none_match;

    return sent ? sent : apr_table_get(response->r->headers_in, "If-None-Match");
}

/* True if the list has the tag, by weak comparison. */
static bool precompressed_is_named(const char *list, const char *tag)
{
    el_etag_t named;

    while (tag && el_etag_next(&list, &named)) {
        if (el_etag_same(&named, tag)) {
            return true;
        }
    }
    return false;
}

/*
 * The tag in If-None-Match of a current representation: a candidate that may be sent, the identity,
 * or one of its dynamic encodings. NULL if there is none.
 */
static const char *precompressed_current_tag(el_response_t *response, candidates_t *all)
{
    request_rec *r = response->r;
    const char *list = precompressed_none_match_of(response);
    el_accept_t accept = el_response_enabled(response);
    el_etag_t named;

    if (!list) {
        return NULL;
    }
    for (size_t i = 0; i < all->count; i++) {
        const char *tag = precompressed_tag_of(r, &all->file[i]);

        if (precompressed_is_named(list, tag) && precompressed_is_allowed(r, &all->file[i])) {
            return tag;
        }
    }
    if (!el_etag_named(list, ap_make_etag(r, 0), &(el_etag_rule_t){.accept = &accept}, &named)) {
        return NULL;
    }
    return apr_pstrmemdup(r->pool, named.text, named.len);
}

static int precompressed_send_brigade(request_rec *r, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    rv = ap_pass_brigade(r->output_filters, bb);
    return rv == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted ? OK
                                                                               : AP_FILTER_ERROR;
}

/* Sets the header of a 304. With a NULL `tag`, ETag is unchanged. */
static void precompressed_set_not_modified(el_response_t *response, const char *tag)
{
    request_rec *r = response->r;

    response->claimed = true;
    if (tag) {
        apr_table_setn(r->headers_out, "ETag", tag);
    }
    el_fields_set_encoding(r, NULL);
    r->status = HTTP_NOT_MODIFIED;
    el_stats_skipped(r, EL_REASON_STATUS);
}

/* Sends a lone EOS through the filters, as httpd's 304 for static files does. */
static int precompressed_send_not_modified(el_response_t *response, const char *tag)
{
    request_rec *r = response->r;

    precompressed_set_not_modified(response, tag);
    return precompressed_send_brigade(r, apr_brigade_create(r->pool, r->connection->bucket_alloc));
}

static void precompressed_set_header(request_rec *r, candidate_t *candidate)
{
    const char *tag = precompressed_tag_of(r, candidate);

    el_fields_set_coding(r, candidate->coding, EL_ETAG_REMOVE);
    if (tag) {
        apr_table_setn(r->headers_out, "ETag", tag);
    }
    ap_update_mtime(r, candidate->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, candidate->finfo.size);
}

/* Claims and counts the response. Returns the bucket of the whole file. */
static apr_bucket *precompressed_claim(el_response_t *response, const candidate_t *candidate,
                                       apr_file_t *file, apr_bucket_brigade *bb)
{
    request_rec *r = response->r;
    apr_bucket *bucket;

    response->claimed = true;
    el_stats_precompressed(r, candidate->coding, (uint64_t)r->finfo.size,
                           (uint64_t)candidate->finfo.size);
    bucket = apr_bucket_file_create(file, 0, (apr_size_t)candidate->finfo.size, r->pool,
                                    bb->bucket_alloc);
    el_body_read_in_pieces(bucket, PIECE);
    return bucket;
}

static int precompressed_send_file(el_response_t *response, candidate_t *candidate)
{
    request_rec *r = response->r;
    apr_bucket_brigade *bb;
    apr_file_t *file;
    int status;

    status = ap_discard_request_body(r);
    if (status != OK) {
        return status;
    }
    file = precompressed_open_file(r, candidate);
    if (!file) {
        return DECLINED;
    }
    precompressed_set_header(r, candidate);
    status = ap_meets_conditions(r);
    if (status == HTTP_NOT_MODIFIED) {
        apr_file_close(file);
        return precompressed_send_not_modified(response, NULL);
    }
    if (status != OK) {
        return status;
    }
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(bb, precompressed_claim(response, candidate, file, bb));
    return precompressed_send_brigade(r, bb);
}

/*
 * True if If-None-Match alone may answer the request: not in an error document, nor with a
 * condition that precedes it (RFC 9110 §13.2.2).
 */
static bool precompressed_may_be_not_modified(const request_rec *r)
{
    return r->status == HTTP_OK && !r->no_local_copy && !apr_table_get(r->headers_in, "If-Match")
           && !apr_table_get(r->headers_in, "If-Unmodified-Since");
}

/* --- with content filters of other modules */

/*
 * Such a filter may change the body, or only read it. So httpd sends the original through the
 * filters. If it arrives unchanged, the precompressed file takes its place.
 */
typedef struct {
    candidate_t candidate;
    const char *filters; /* their names */
    apr_bucket_brigade *held;
    apr_off_t nbytes;    /* of the body so far */
    apr_off_t in_memory; /* of these, not in file buckets */
} exchange_t;

static ap_filter_rec_t *exchange_record;

typedef enum { EXCHANGE_WAITS, EXCHANGE_ENDS, EXCHANGE_NEVER } exchange_step_t;

/* Counts the bytes of a brigade. A flush or an unknown length shows a filter that changes them. */
static exchange_step_t precompressed_exchange_weigh(exchange_t *exchange,
                                                    const apr_bucket_brigade *bb, apr_off_t size)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            return EXCHANGE_ENDS;
        }
        if (APR_BUCKET_IS_FLUSH(e) || e->length == EL_BODY_UNKNOWN) {
            return EXCHANGE_NEVER;
        }
        exchange->nbytes += (apr_off_t)e->length;
        exchange->in_memory += APR_BUCKET_IS_FILE(e) ? 0 : (apr_off_t)e->length;
        if (exchange->nbytes > size || exchange->in_memory > EL_PRECOMPRESSED_READ) {
            return EXCHANGE_NEVER;
        }
    }
    return EXCHANGE_WAITS;
}

/* True if the file has these bytes at `at`. */
static bool precompressed_has_bytes(apr_file_t *file, apr_off_t at, const char *data,
                                    apr_size_t len)
{
    uint8_t piece[8192];
    apr_size_t some;

    for (; len > 0; data += some, len -= some, at += (apr_off_t)some) {
        some = len < sizeof(piece) ? len : sizeof(piece);
        if (!precompressed_has_read(file, piece, some, at) || memcmp(piece, data, some) != 0) {
            return false;
        }
    }
    return true;
}

/* True if the body is that of r's file: its buckets, or copies of its bytes in order. */
static bool precompressed_exchange_is_original(request_rec *r, const apr_bucket_brigade *bb)
{
    apr_file_t *file = NULL;
    apr_off_t at = 0;
    bool same = true;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); same && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len = e->length;

        if (APR_BUCKET_IS_FILE(e)) {
            same = e->start == at && precompressed_is_same_file(((apr_bucket_file *)e->data)->fd,
                                                                &r->finfo);
        } else if (!APR_BUCKET_IS_METADATA(e)) {
            same = (file
                    || (apr_file_open(&file, r->filename, APR_READ | APR_BINARY, 0, r->pool)
                            == APR_SUCCESS
                        && precompressed_is_same_file(file, &r->finfo)))
                   && apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS
                   && precompressed_has_bytes(file, at, data, len);
        }
        at += (apr_off_t)len;
    }
    if (file) {
        apr_file_close(file);
    }
    return same && at == r->finfo.size;
}

/*
 * The names of the filters that change the body, or may; NULL: none. A filter that changes a body
 * removes Content-Length, or sets no_local_copy. INFLATE only accepts bodies without a coding.
 */
static const char *precompressed_exchange_changed_by(const el_response_t *response,
                                                     const exchange_t *exchange,
                                                     ap_filter_t *behind,
                                                     const apr_bucket_brigade *bb)
{
    request_rec *r = response->r;
    const char *foreign = el_chain_foreign(r->pool, behind);

    if (foreign) {
        return foreign;
    }
    return !apr_table_get(r->headers_out, "Content-Length") || r->no_local_copy
                   || el_fields_read(r).encoded || response->inflates
                   || !precompressed_exchange_is_original(r, bb)
               ? exchange->filters
               : NULL;
}

/*
 * Replaces the body by the precompressed file, or the response by its 304: httpd's handler only
 * knows the original's tag.
 */
static void precompressed_exchange_do(el_response_t *response, candidate_t *candidate,
                                      apr_bucket_brigade *bb)
{
    request_rec *r = response->r;
    const char *list =
        precompressed_may_be_not_modified(r) ? precompressed_none_match_of(response) : NULL;
    bool is_current = list && precompressed_is_named(list, precompressed_tag_of(r, candidate));
    apr_file_t *file = is_current ? NULL : precompressed_open_file(r, candidate);
    apr_bucket *next;

    if (!is_current && !file) {
        return;
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
        }
    }
    if (is_current) {
        precompressed_set_not_modified(response, precompressed_tag_of(r, candidate));
    } else {
        precompressed_set_header(r, candidate);
        APR_BRIGADE_INSERT_HEAD(bb, precompressed_claim(response, candidate, file, bb));
    }
}

static apr_status_t precompressed_exchange(ap_filter_t *f, apr_bucket_brigade *bb)
{
    exchange_t *exchange = f->ctx;
    request_rec *r = f->r;
    el_response_t *response;
    exchange_step_t step;

    if (!exchange) {
        return el_body_leave(f, bb);
    }
    response = el_response_of(r);
    step = el_body_is_error(bb) ? EXCHANGE_NEVER
                                : precompressed_exchange_weigh(exchange, bb, r->finfo.size);
    if (step == EXCHANGE_WAITS
        && el_body_set_aside(bb, r->pool, EL_PRECOMPRESSED_READ) == APR_SUCCESS) {
        APR_BRIGADE_CONCAT(exchange->held, bb);
        return APR_SUCCESS;
    }
    ap_remove_output_filter(f);
    APR_BRIGADE_PREPEND(bb, exchange->held);
    if (r->status == HTTP_NOT_MODIFIED && !precompressed_none_match_of(response)) {
        /*
         * httpd's handler answered If-Modified-Since. With the original's tag a client could join
         * ranges of the original to the precompressed file that it has.
         */
        precompressed_set_not_modified(response, precompressed_tag_of(r, &exchange->candidate));
    } else if (r->status != HTTP_NOT_MODIFIED && !el_body_is_error(bb)) {
        const char *changed = step == EXCHANGE_ENDS
                                  ? precompressed_exchange_changed_by(response, exchange, f->next,
                                                                      bb)
                                  : exchange->filters;

        if (changed) {
            apr_table_setn(r->notes, "elastic-filter", changed);
            ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                          "elastic: %s is not sent for the filter %s, which changes the body or "
                          "may",
                          exchange->candidate.path, changed);
            el_stats_precompressed_fault(r, EL_PRECOMPRESSED_FILTER, exchange->candidate.path,
                                         false);
        } else {
            precompressed_exchange_do(response, &exchange->candidate, bb);
        }
    }
    return ap_pass_brigade(f->next, bb);
}

void el_precompressed_register(void)
{
    /* After filters that read uncompressed bodies, and before compressors. */
    exchange_record = ap_register_output_filter(EL_FILTER_PRECOMPRESSED, precompressed_exchange,
                                                NULL, (ap_filter_type)(AP_FTYPE_CONTENT_SET - 1));
}

/* True if If-Match is absent, `*`, or names the candidate; otherwise the identity is compared. */
static bool precompressed_may_match(request_rec *r, candidate_t *candidate)
{
    const char *list = apr_table_get(r->headers_in, "If-Match");
    const char *tag = list ? precompressed_tag_of(r, candidate) : NULL;
    el_etag_t named;

    while (list && *list != '*' && el_etag_next(&list, &named)) {
        if (tag && !named.weak && el_etag_same(&named, tag)) {
            return true;
        }
    }
    return !list || *list == '*';
}

/*
 * True if the client's dictionary gives a coding of at least the same weight that is worth more
 * than the candidate. That is rare when the CPU is busy: a precompressed file needs no CPU time.
 */
static bool precompressed_prefers_dictionary(el_response_t *response, const candidate_t *candidate)
{
    request_rec *r = response->r;
    const el_accept_t *accept = el_response_accept(response);
    const el_available_t *available = el_available_ahead(response);
    el_policy_t policy;
    el_facts_t facts;

    if (available->coding == EL_IDENTITY || el_response_has_range(r)
        || accept->q[available->coding] < accept->q[candidate->coding]) {
        return false;
    }
    policy = el_policy_of(r, EL_RECORD_ELASTIC);
    el_policy_read_encoding(&policy);
    facts = el_response_facts(response, &policy, false);
    el_available_add(response, &policy, true, &facts.demand);
    facts.moment.size = (uint64_t)r->finfo.size;
    facts.moment.size_known = true;
    return facts.demand.available != EL_IDENTITY && facts.moment.size > 0
           && el_choose_beats(&(el_choose_for_t){&policy, &facts, true,
                                                el_response_effort(response)},
                              (uint64_t)candidate->finfo.size);
}

EL_RARE static int precompressed_offer(request_rec *r)
{
    el_response_t *response = el_response_of(r);
    candidates_t all = precompressed_find_all(response, true);
    const char *foreign = el_chain_foreign(r->pool, r->output_filters);
    candidate_t *candidate;
    exchange_t *exchange;
    const char *tag = NULL, *if_match;

    /* Files that this client does not accept only matter for Vary. */
    if (all.count == 0 && precompressed_find_all(response, false).count == 0) {
        return DECLINED;
    }
    el_available_add_vary(response);
    if (el_response_dated_range(r)) {
        el_response_drop_range(r);
    }
    if (all.count == 0) {
        return DECLINED;
    }
    if (!foreign && precompressed_may_be_not_modified(r)) {
        tag = precompressed_current_tag(response, &all);
    }
    if (tag) {
        return precompressed_send_not_modified(response, tag);
    }
    if (el_response_has_range(r)) {
        candidate = precompressed_named_by_range(r, &all);
    } else {
        candidate = precompressed_best_of(response, &all);
    }
    if (!candidate || !precompressed_may_match(r, candidate)
        || precompressed_prefers_dictionary(response, candidate)) {
        return DECLINED;
    }
    if (!foreign) {
        return precompressed_send_file(response, candidate);
    }
    exchange = apr_pcalloc(r->pool, sizeof(*exchange));
    *exchange = (exchange_t){
        .candidate = *candidate,
        .filters = foreign,
        .held = apr_brigade_create(r->pool, r->connection->bucket_alloc),
    };
    /*
     * httpd's handler will send the original and must not refuse If-Match with the precompressed
     * file's tag: add the original's.
     */
    if_match = apr_table_get(r->headers_in, "If-Match");
    if (if_match && *if_match != '*') {
        apr_table_setn(r->headers_in, "If-Match",
                       apr_pstrcat(r->pool, if_match, ", ", ap_make_etag(r, 0), NULL));
    }
    ap_add_output_filter_handle(exchange_record, exchange, r, r->connection);
    return DECLINED;
}

int el_precompressed_handler(request_rec *r)
{
    bool asked = atomic_load_explicit(&el_settings_precompressed, memory_order_relaxed)
                 && el_dir_of(r)->values.value[EL_DIR_PRECOMPRESSED] && !r->main;

    /* Only static files. */
    return asked && r->method_number == M_GET && r->finfo.filetype == APR_REG
                   && !(r->path_info && *r->path_info) && !el_fields_read(r).encoded
               ? precompressed_offer(r)
               : DECLINED;
}
