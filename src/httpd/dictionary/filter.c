#include "httpd/dictionary/dictionaries.h"

#include "httpd/body/body.h"
#include "httpd/config/glue.h"
#include "httpd/response/steps.h"
#include "httpd/shared/shared.h"

#include "elastic/http.h"

#include "apr_date.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "util_filter.h"

/* Room for Use-As-Dictionary: values with all characters escaped, keys and separators. */
#define FIELD_ROOM (2 * (EL_MATCH_ROOM + EL_DEST_ROOM + EL_ID_ROOM) + 256)

/*
 * Browsers keep a file of ElasticDictionaryFile for a month, for visitors who come once a month.
 * The content of its URL never changes.
 */
#define FILE_LIFETIME 2592000
#define FILE_CACHED "max-age=2592000, immutable"

/* A response that becomes a dictionary. */
typedef struct {
    el_dictionary_entry_t entry;
    bool length_known;
    uint64_t length; /* bytes of the body by its header */
    el_copy_t *copy;
} making_t;

static ap_filter_rec_t *record;

/* --- common to responses and files */

EL_RARE static const el_dictionary_file_t *filter_find_file(request_rec *r)
{
    const apr_array_header_t *files = el_server_of(r->server)->dictionary_files;
    const char *origin;

    if (!files || strncmp(r->uri, EL_SITE_FOLDER, strlen(EL_SITE_FOLDER)) != 0
        || r->proxyreq == PROXYREQ_PROXY) {
        return NULL;
    }
    origin = el_response_origin(el_response_of(r));
    /* The last one counts, as for links: two files may have the same content. */
    for (int i = files->nelts - 1; origin && i >= 0; i--) {
        const el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

        if (el_site_file_is_for(file, origin) && strcmp(file->url, r->uri) == 0) {
            return file;
        }
    }
    return NULL;
}

/*
 * The file of ElasticDictionaryFile that is requested; NULL: none. Only for origins whose
 * dictionaries browsers use (el_dictionary_origin_secure()). Called several times for each request,
 * so the usual case is inline.
 */
static inline const el_dictionary_file_t *filter_file(request_rec *r)
{
    return r->uri[0] == '/' && r->uri[1] == '.' ? filter_find_file(r) : NULL;
}

/*
 * Fills in an entry. False if a text is too long, or the lifetime, in seconds, is 0. Doubles the
 * lifetime, because browsers start it anew after a 304.
 */
static bool filter_describe(request_rec *r, const el_dictionary_rule_t *rule, uint64_t lifetime,
                            el_dictionary_entry_t *entry)
{
    const char *target = el_response_target(r);
    size_t len = strcspn(target, "?");

    if (lifetime == 0 || len >= sizeof(entry->path)) {
        return false;
    }
    memcpy(entry->path, target, len);
    entry->path[len] = '\0';
    apr_cpystrn(entry->origin, el_response_origin(el_response_of(r)), sizeof(entry->origin));
    apr_cpystrn(entry->match, rule->match, sizeof(entry->match));
    apr_cpystrn(entry->dest, rule->dest, sizeof(entry->dest));
    apr_cpystrn(entry->id, rule->id, sizeof(entry->id));
    entry->expires = (uint64_t)apr_time_sec(r->request_time) + 2 * lifetime;
    return el_structured_can_hold(entry->path);
}

static void filter_set_field(request_rec *r, const el_dictionary_entry_t *entry)
{
    char *text = apr_palloc(r->pool, FIELD_ROOM);
    el_structured_writer_t writer = el_structured_begin(text, FIELD_ROOM);

    el_structured_add_string(&writer, "match", entry->match);
    if (entry->dest[0]) {
        el_structured_add_words(&writer, "match-dest", entry->dest);
    }
    if (entry->id[0]) {
        el_structured_add_string(&writer, "id", entry->id);
    }
    apr_table_setn(r->headers_out, "Use-As-Dictionary", text);
}

static void filter_keep(const el_dictionary_entry_t *entry, const char *bytes, size_t nbytes)
{
    if (el_dictionaries_keep(entry, bytes, nbytes)) {
        el_shared_count(EL_COUNT_DICTIONARIES, 1);
    }
}

/* --- the Link of documents (RFC 9842 §3) */

/*
 * Adds Link fields to a document: to the last ElasticDictionaryFile here for the origin, and to the
 * URL of ElasticDictionaryLink.
 */
static void filter_add_links(request_rec *r)
{
    static const char link[] = ">; rel=\"compression-dictionary\"";
    const char *url = el_dir_dictionary_link(el_dir_of(r));
    const apr_array_header_t *files = el_dir_of(r)->dictionary_files;
    const el_dictionary_file_t *file = NULL;
    uint8_t hash[EL_DICTIONARY_HASH];

    for (int i = files ? files->nelts - 1 : -1; i >= 0; i--) {
        /* NULL marks `Off`: earlier files do not apply. */
        file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);
        if (!file || el_site_file_is_for(file, el_response_origin(el_response_of(r)))) {
            break;
        }
        file = NULL;
    }
    if (url) {
        apr_table_addn(r->headers_out, "Link", apr_pstrcat(r->pool, "<", url, link, NULL));
    }
    /*
     * Saves 90 bytes for clients that have the file, but only if the response varies by the
     * client's dictionaries anyway.
     */
    if (file && el_available_ahead(el_response_of(r))->possible) {
        const char *field = apr_table_get(r->headers_in, "Available-Dictionary");

        el_available_add_vary(el_response_of(r));
        if (field && el_structured_bytes(field, hash, sizeof(hash))
            && memcmp(hash, file->hash, sizeof(hash)) == 0) {
            file = NULL;
        }
    }
    if (file) {
        apr_table_addn(r->headers_out, "Link", apr_pstrcat(r->pool, "<", file->url, link, NULL));
    }
}

static bool filter_is_document(const request_rec *r)
{
    static const char *const types[] = {"text/html", "application/xhtml+xml"};

    for (size_t i = 0; r->content_type && i < sizeof(types) / sizeof(types[0]); i++) {
        size_t len = strlen(types[i]);

        if (strncasecmp(r->content_type, types[i], len) == 0
            && strchr("; \t", r->content_type[len])) {
            return true;
        }
    }
    return false;
}

/* --- a response that becomes a dictionary */

/*
 * Seconds for which a private cache may use the response; 0: it may not, or no field tells. Expires
 * is compared with the time of the request: httpd has not set Date yet (RFC 9111 §4.2.1).
 */
static uint64_t filter_lifetime(const request_rec *r, el_cache_control_t control)
{
    const char *field;
    apr_time_t expires;

    if (control.no_store || control.no_cache) {
        return 0;
    }
    if (control.has_max_age) {
        return control.max_age;
    }
    field = el_field(r, "Expires");
    expires = field ? apr_date_parse_http(field) : 0;
    return expires > r->request_time ? (uint64_t)apr_time_sec(expires - r->request_time) : 0;
}

/* True if the body does not depend on who the client is. */
static bool filter_is_for_anyone(request_rec *r, el_cache_control_t control)
{
    if (r->user || el_response_sent_authorization(r) || control.only_mine
        || el_field(r, "Set-Cookie") || el_field(r, "Set-Cookie2") || el_fields_varies(r, "Cookie")
        || el_fields_varies(r, "Authorization") || el_fields_varies(r, "*")) {
        return false;
    }
    /* Without SSLUserName a certificate sets no user, but scripts may use it to identify people. */
    if (ap_ssl_conn_is_ssl(r->connection)) {
        const char *verified =
            ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_CLIENT_VERIFY");

        return !verified || !*verified || strcmp(verified, "NONE") == 0;
    }
    return true;
}

/*
 * The browser's dictionary is the decoded body, which is the original file. If that differs from
 * the precompressed one, the browser names a hash that is unknown here.
 */
static void filter_copy_file(request_rec *r, el_copy_t *copy)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_file_t *file;

    if (apr_file_open(&file, r->filename, APR_READ | APR_BINARY, 0, r->pool) == APR_SUCCESS) {
        apr_brigade_insert_file(bb, file, 0, r->finfo.size, r->pool);
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
        el_copy_take(copy, bb);
    } else {
        el_copy_end(copy);
    }
    apr_brigade_destroy(bb);
}

/*
 * Decides whether the response becomes a dictionary; NULL if not. Only the header counts, because
 * the field is sent before the body is known. If the body is not stored in the end, the client
 * names an unknown hash and gets other codings.
 */
static making_t *filter_begin(request_rec *r)
{
    const el_dictionary_rule_t *rule = el_dir_dictionary(el_dir_of(r));
    uint64_t most = el_dictionaries_most();
    el_fields_t fields = el_fields_read(r);
    const el_response_t *response = el_response_of(r);
    el_cache_control_t control;
    making_t *making;

    if (!el_response_origin(el_response_of(r))) {
        return NULL;
    }
    if (r->status == HTTP_OK && filter_is_document(r)) {
        filter_add_links(r);
    }
    control = el_fields_cache_control(r);
    if (!rule || most == 0 || filter_file(r) || r->status != HTTP_OK || r->method_number != M_GET
        || r->header_only || el_response_has_range(r)
        /* Our handler claims a precompressed file's response before the filters run. */
        || (fields.encoded && !(response->claimed && r->finfo.filetype == APR_REG))
        || !filter_is_for_anyone(r, control)) {
        return NULL;
    }
    making = apr_pcalloc(r->pool, sizeof(*making));
    making->length = fields.encoded ? (uint64_t)r->finfo.size : 0;
    making->length_known = fields.encoded || el_fields_length(&fields, &making->length);
    if ((making->length_known && (making->length == 0 || making->length > most))
        || !filter_describe(r, rule, filter_lifetime(r, control), &making->entry)) {
        return NULL;
    }
    making->copy = el_copy_begin(r->pool, (size_t)(making->length_known ? making->length : most));
    if (fields.encoded) {
        filter_copy_file(r, making->copy);
    }
    filter_set_field(r, &making->entry);
    return making;
}

/* Stores the body if it was copied whole, and leaves the chain. `making` may be NULL. */
static void filter_end(ap_filter_t *f, making_t *making)
{
    const char *bytes;
    size_t nbytes;

    if (making) {
        bytes = el_copy_bytes(making->copy, &nbytes);
        if (el_copy_state(making->copy) == EL_COPY_WHOLE && nbytes > 0
            && (!making->length_known || nbytes == making->length)) {
            filter_keep(&making->entry, bytes, nbytes);
        }
        el_copy_end(making->copy);
    }
    ap_remove_output_filter(f);
}

static apr_status_t filter_dictionary(ap_filter_t *f, apr_bucket_brigade *bb)
{
    making_t *making = f->ctx;
    apr_status_t rv;

    if (!f->ctx) {
        return el_body_leave(f, bb);
    }
    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    /* As it was added. */
    if (f->ctx == record) {
        making = f->ctx = f->r->main ? NULL : filter_begin(f->r);
    }
    if (making) {
        el_copy_take(making->copy, bb);
    }
    if (!making || el_copy_state(making->copy) != EL_COPY_BEGUN) {
        /* Store it before the end is sent: the client may name it at once. */
        filter_end(f, making);
        return ap_pass_brigade(f->next, bb);
    }
    rv = ap_pass_brigade(f->next, bb);
    /* A later filter may have read the rest of the body, and so ended the copy. */
    if (el_copy_state(making->copy) != EL_COPY_BEGUN) {
        filter_end(f, making);
    }
    return rv;
}

void el_dictionary_filter_insert(request_rec *r)
{
    if (!el_dictionaries_are_open()) {
        return;
    }
    /* Present already after an internal redirect. */
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (f->frec == record && f->ctx) {
            return;
        }
    }
    ap_add_output_filter_handle(record, record, r, r->connection);
}

void el_dictionary_filter_register(void)
{
    /* As late as ELASTIC, so that it sees the fields set by mod_headers. */
    record = ap_register_output_filter(EL_FILTER_DICTIONARY, filter_dictionary, NULL,
                                       AP_FTYPE_CONTENT_SET);
}

/* --- the URLs of ElasticDictionaryFile */

int el_dictionary_translate(request_rec *r)
{
    if (!filter_file(r)) {
        return DECLINED;
    }
    /* Not the file's path: <Directory> and <Files> do not apply. */
    r->filename = apr_pstrdup(r->pool, r->uri);
    return OK;
}

int el_dictionary_map(request_rec *r)
{
    ap_conf_vector_t *own;
    el_dir_t *dir;

    if (!filter_file(r)) {
        return DECLINED;
    }
    /* Neither a directory nor missing: FallbackResource and MultiViews look for those. */
    r->finfo.filetype = APR_UNKFILE;
    r->handler = EL_FILTER_DICTIONARY;
    /* Compress it even if `Elastic On` only applies to directories. */
    own = ap_create_per_dir_config(r->pool);
    dir = el_dir_create(r->pool, NULL);
    el_value_set(&dir->values, EL_DIR_ENABLED, true);
    ap_set_module_config(own, el_records_loaded[EL_RECORD_ELASTIC], dir);
    r->per_dir_config = ap_merge_per_dir_configs(r->pool, r->per_dir_config, own);
    return OK;
}

/*
 * Sends the file's .br in its place if there is one and the client prefers br. Ranges, and
 * differences from an earlier dictionary, need the file itself.
 */
static bool filter_send_small(request_rec *r, const el_dictionary_file_t *file)
{
    static const el_coding_t order[] = {EL_BR, EL_ZSTD, EL_GZIP};
    el_response_t *response = el_response_of(r);

    if (!file->small || !el_response_env_allows(r, EL_BR) || el_response_has_range(r)
        || el_available_ahead(response)->coding != EL_IDENTITY
        || el_accept_choose(el_response_accept(response), order, sizeof(order) / sizeof(order[0]))
               != EL_BR) {
        return false;
    }
    el_fields_set_coding(r, EL_BR, EL_ETAG_SUFFIX);
    ap_set_content_length(r, (apr_off_t)file->small_nbytes);
    el_available_add_vary(response);
    response->claimed = true;
    el_stats_precompressed(r, EL_BR, file->nbytes, file->small_nbytes);
    return true;
}

int el_dictionary_handler(request_rec *r)
{
    const el_dictionary_file_t *file = filter_file(r);
    el_dictionary_entry_t *entry;
    apr_bucket_brigade *bb;
    bool small;
    int status;

    if (!file) {
        return DECLINED;
    }
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
    if (r->method_number != M_GET) {
        return HTTP_METHOD_NOT_ALLOWED;
    }
    status = ap_discard_request_body(r);
    if (status != OK) {
        return status;
    }
    ap_set_content_type(r, file->type);
    ap_set_content_length(r, (apr_off_t)file->nbytes);
    apr_table_setn(r->headers_out, "ETag",
                   apr_psprintf(r->pool, "\"%s\"", file->url + strlen(EL_SITE_FOLDER)));
    /* If pages need a user, shared caches must not store it. */
    apr_table_setn(r->headers_out, "Cache-Control",
                   r->user || el_response_sent_authorization(r) ? "private, " FILE_CACHED
                                                                : "public, " FILE_CACHED);
    entry = apr_pcalloc(r->pool, sizeof(*entry));
    if (filter_describe(r, &file->rule, FILE_LIFETIME, entry) && !el_response_has_range(r)) {
        filter_set_field(r, entry);
        if (!r->header_only) {
            filter_keep(entry, file->bytes, file->nbytes);
        }
    }
    status = ap_meets_conditions(r);
    if (status != OK) {
        return status;
    }
    small = filter_send_small(r, file);
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    /* The bytes belong to the configuration, which lives as long as the child. */
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(
                                    small ? file->small : file->bytes,
                                    small ? file->small_nbytes : file->nbytes, bb->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    ap_pass_brigade(r->output_filters, bb);
    return OK;
}
