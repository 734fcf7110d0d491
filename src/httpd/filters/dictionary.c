#include "httpd/filters/filters.h"

#include "httpd/body/body.h"
#include "httpd/config/config.h"
#include "httpd/config/glue.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/dictionary/site.h"
#include "httpd/response/available.h"
#include "httpd/response/response.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "elastic/dictionary.h"
#include "elastic/http.h"

#include "apr_date.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "util_filter.h"

/*
 * Of a member's name, its quotes and what is between members; and each character of a value may be
 * escaped.
 */
#define FIELD_ROOM (2 * (EL_MATCH_ROOM + EL_DEST_ROOM + EL_ID_ROOM) + 256)

/* A response that is given out as a dictionary. */
typedef struct {
    el_dictionary_entry_t entry;
    bool length_known;
    uint64_t length; /* bytes of the body, as announced */
    el_copy_t *copy;
} making_t;

static ap_filter_rec_t *record;

/*
 * How long browsers use a file of ElasticDictionaryFile: who comes once a month has it still. Its
 * URL never has another content.
 */
#define FILE_LIFETIME 2592000
#define FILE_CACHED "max-age=2592000, immutable"

EL_RARE static const el_dictionary_file_t *find_file(request_rec *r)
{
    const char *origin;

    if (strncmp(r->uri, EL_SITE_FOLDER, strlen(EL_SITE_FOLDER)) != 0 || !el_site_files_are_there()
        || r->proxyreq == PROXYREQ_PROXY) {
        return NULL;
    }
    origin = el_response_origin(el_response_of(r));
    return origin ? el_site_file_at(r->server, origin, r->uri) : NULL;
}

/*
 * The file of ElasticDictionaryFile that the request is for; NULL: none. Only where browsers use
 * dictionaries: so not by http, and not under other names of the machine. Each request asks, four
 * times.
 */
static inline const el_dictionary_file_t *requested_file(request_rec *r)
{
    return r->uri[0] == '/' && r->uri[1] == '.' ? find_file(r) : NULL;
}

/* Seconds by Expires, counted from Date, which httpd has not set yet (RFC 9111 §4.2.1). */
static uint64_t seconds_until_expires(const request_rec *r)
{
    const char *field = el_field(r, "Expires");
    apr_time_t at = field ? apr_date_parse_http(field) : 0;

    return at > r->request_time ? (uint64_t)apr_time_sec(at - r->request_time) : 0;
}

/* How long a browser that shares with nobody uses the response; 0: it may not, or none says. */
static uint64_t lifetime_of(const request_rec *r, el_cache_control_t control)
{
    if (control.no_store || control.no_cache) {
        return 0;
    }
    return control.has_max_age ? control.max_age : seconds_until_expires(r);
}

/*
 * Whether the client has shown a certificate: without SSLUserName it makes no user, and scripts may
 * tell people apart by it nonetheless.
 */
static bool has_certificate(request_rec *r)
{
    const char *verified;

    if (!ap_ssl_conn_is_ssl(r->connection)) {
        return false;
    }
    verified = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_CLIENT_VERIFY");
    return verified && *verified && strcmp(verified, "NONE") != 0;
}

/* Whether nothing that the client has sent, or is, may have a part in the body. */
static bool is_for_anyone(request_rec *r, el_cache_control_t control)
{
    return !r->user && !has_certificate(r) && !el_response_sent_authorization(r)
           && !control.only_mine && !el_field(r, "Set-Cookie")
           && !el_field(r, "Set-Cookie2") && !el_fields_varies(r, "Cookie")
           && !el_fields_varies(r, "Authorization") && !el_fields_varies(r, "*");
}

static bool is_document(const request_rec *r)
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

static void add_link(request_rec *r, const char *url)
{
    apr_table_addn(r->headers_out, "Link",
                   apr_pstrcat(r->pool, "<", url, ">; rel=\"compression-dictionary\"", NULL));
}

/* The last ElasticDictionaryFile in force here that is for the origin; NULL: none. */
static const el_dictionary_file_t *file_in_force(request_rec *r)
{
    const apr_array_header_t *files = el_dir_of(r)->dictionary_files;
    const el_dictionary_file_t *file = NULL;

    for (int i = files ? files->nelts - 1 : -1; i >= 0; i--) {
        file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);
        if (!file || el_site_file_is_for(file, el_response_origin(el_response_of(r)))) {
            return file;
        }
    }
    return NULL;
}

/* Whether the client has the file already. */
static bool has_file(const request_rec *r, const el_dictionary_file_t *file)
{
    const char *field = apr_table_get(r->headers_in, "Available-Dictionary");
    uint8_t hash[EL_DICTIONARY_HASH];

    return field && el_structured_bytes(field, hash, sizeof(hash))
           && memcmp(hash, file->hash, sizeof(hash)) == 0;
}

/*
 * Of a document. Who has the file need not be told of it, which takes 90 bytes of each page; but
 * only where the response varies by what the client has anyway.
 */
static void add_links(request_rec *r)
{
    const char *url = el_dir_dictionary_link(el_dir_of(r));
    const el_dictionary_file_t *file = file_in_force(r);
    bool varies = file && el_available_ahead(el_response_of(r))->possible;

    if (url) {
        add_link(r, url);
    }
    if (varies) {
        el_available_add_vary(el_response_of(r));
    }
    if (file && !(varies && has_file(r, file))) {
        add_link(r, file->url);
    }
}

/* Whether a precompressed file is sent: then the response was taken before any filter could. */
static bool is_precompressed(request_rec *r)
{
    const el_response_t *response = el_response_find(r);

    return response && response->claimed && r->finfo.filetype == APR_REG;
}

/*
 * False where a text is too long. A browser may use a dictionary for somewhat longer than it was
 * given out for: after a 304 it begins to count anew.
 */
static bool describe(request_rec *r, const el_dictionary_rule_t *rule, uint64_t lifetime,
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

static void set_field(request_rec *r, const el_dictionary_entry_t *entry)
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

/* Whether the header says that the response, of such a rule, becomes a dictionary. */
static bool is_dictionary(request_rec *r, const el_dictionary_rule_t *rule,
                          el_cache_control_t control)
{
    return rule && el_dictionaries_most() > 0 && !requested_file(r) && r->status == HTTP_OK
           && r->method_number == M_GET && !r->header_only && !el_response_has_range(r)
           && (!el_fields_read(r).encoded || is_precompressed(r))
           && is_for_anyone(r, control);
}

/*
 * Of a precompressed file the browser's dictionary is what it decodes to: the file beside it. Where
 * that is something else, the browser asks with a hash that is not known here.
 */
static void copy_file(request_rec *r, el_copy_t *copy)
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
 * NULL where the response does not become a dictionary. Nothing but its header decides that,
 * because the field goes out before the body is there. Of what is not kept in the end the client
 * has a hash that nobody knows, and gets other codings.
 */
static making_t *begin(request_rec *r)
{
    const el_dictionary_rule_t *rule = el_dir_dictionary(el_dir_of(r));
    uint64_t most = el_dictionaries_most();
    el_fields_t fields = el_fields_read(r);
    el_cache_control_t control;
    making_t *making;

    if (!el_response_origin(el_response_of(r))) {
        return NULL;
    }
    if (r->status == HTTP_OK && is_document(r)) {
        add_links(r);
    }
    control = el_fields_cache_control(r);
    if (!is_dictionary(r, rule, control)) {
        return NULL;
    }
    making = apr_pcalloc(r->pool, sizeof(*making));
    making->length = fields.encoded ? (uint64_t)r->finfo.size : 0;
    making->length_known = fields.encoded || el_fields_length(&fields, &making->length);
    if ((making->length_known && (making->length == 0 || making->length > most))
        || !describe(r, rule, lifetime_of(r, control), &making->entry)) {
        return NULL;
    }
    making->copy = el_copy_begin(r->pool, (size_t)(making->length_known ? making->length : most));
    if (fields.encoded) {
        copy_file(r, making->copy);
    }
    set_field(r, &making->entry);
    return making;
}

/* Keeps the body, if all of it was copied. NULL is allowed. */
static void finish(making_t *making)
{
    const char *bytes;
    size_t nbytes;

    if (!making) {
        return;
    }
    bytes = el_copy_bytes(making->copy, &nbytes);
    if (el_copy_state(making->copy) == EL_COPY_WHOLE && nbytes > 0
        && (!making->length_known || nbytes == making->length)
        && el_dictionaries_keep(&making->entry, bytes, nbytes)) {
        el_shared_count(EL_COUNT_DICTIONARIES, 1);
    }
    el_copy_end(making->copy);
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    making_t *making = f->ctx;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!making && !f->r->main) {
        making = f->ctx = begin(f->r);
    }
    if (making) {
        el_copy_take(making->copy, bb);
    }
    if (!making || el_copy_state(making->copy) != EL_COPY_BEGUN) {
        /* What is whole is kept before its end goes out: who has it may ask with it at once. */
        finish(making);
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    rv = ap_pass_brigade(f->next, bb);
    /* Filters behind have read what a script writes. */
    if (el_copy_state(making->copy) != EL_COPY_BEGUN) {
        finish(making);
        ap_remove_output_filter(f);
    }
    return rv;
}

int el_dictionary_translate(request_rec *r)
{
    if (!requested_file(r)) {
        return DECLINED;
    }
    /* Not that of the file: what a configuration says of such names is not for it. */
    r->filename = apr_pstrdup(r->pool, r->uri);
    return OK;
}

int el_dictionary_map(request_rec *r)
{
    ap_conf_vector_t *own;
    el_dir_t *dir;

    if (!requested_file(r)) {
        return DECLINED;
    }
    /* It is no folder, nor missing: FallbackResource and MultiViews look for what is. */
    r->finfo.filetype = APR_UNKFILE;
    r->handler = EL_FILTER_DICTIONARY;
    /* It is compressed also where `Elastic On` is in force for folders only. */
    own = ap_create_per_dir_config(r->pool);
    dir = el_dir_create(r->pool, NULL);
    el_value_set(&dir->values, EL_DIR_ENABLED, true);
    ap_set_module_config(own, el_records_loaded[EL_RECORD_ELASTIC], dir);
    r->per_dir_config = ap_merge_per_dir_configs(r->pool, r->per_dir_config, own);
    return OK;
}

/* The header of the file's response, and what is kept for those who will have it. */
static void give_out(request_rec *r, const el_dictionary_file_t *file)
{
    el_dictionary_entry_t *entry = apr_pcalloc(r->pool, sizeof(*entry));
    bool known = r->user || el_response_sent_authorization(r);

    ap_set_content_type(r, file->type);
    ap_set_content_length(r, (apr_off_t)file->nbytes);
    apr_table_setn(r->headers_out, "ETag",
                   apr_psprintf(r->pool, "\"%s\"", file->url + strlen(EL_SITE_FOLDER)));
    /* Where only users may read pages, a cache that all share is not to have it. */
    apr_table_setn(r->headers_out, "Cache-Control",
                   known ? "private, " FILE_CACHED : "public, " FILE_CACHED);
    if (describe(r, &file->rule, FILE_LIFETIME, entry) && !el_response_has_range(r)) {
        set_field(r, entry);
        if (!r->header_only
            && el_dictionaries_keep(entry, file->bytes, file->nbytes)) {
            el_shared_count(EL_COUNT_DICTIONARIES, 1);
        }
    }
}

/*
 * Makes the response the file in br that lies beside, if there is one and the client takes it. A
 * difference from the dictionary before, or a slice, is made of the file itself.
 */
static bool send_small(request_rec *r, const el_dictionary_file_t *file)
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
    const el_dictionary_file_t *file = requested_file(r);
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
    give_out(r, file);
    status = ap_meets_conditions(r);
    if (status != OK) {
        return status;
    }
    small = send_small(r, file);
    bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    /* The bytes are the configuration's, which a child has as long as it lives. */
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_immortal_create(
                                    small ? file->small : file->bytes,
                                    small ? file->small_nbytes : file->nbytes, bb->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    ap_pass_brigade(r->output_filters, bb);
    return OK;
}

void el_dictionary_filter_insert(request_rec *r)
{
    if (!el_dictionaries_are_open()) {
        return;
    }
    /* It is there already after an internal redirect. */
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (f->frec == record) {
            return;
        }
    }
    ap_add_output_filter_handle(record, NULL, r, r->connection);
}

void el_dictionary_filter_register(void)
{
    /* As late as ELASTIC, so that fields that mod_headers sets are there. */
    record = ap_register_output_filter(EL_FILTER_DICTIONARY, filter, NULL, AP_FTYPE_CONTENT_SET);
}
