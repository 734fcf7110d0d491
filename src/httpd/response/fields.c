#include "httpd/response/fields.h"

#include "elastic/coding.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"

const char *el_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

const char *el_field_lines(request_rec *r, const char *name)
{
    const char *lines = apr_table_getm(r->pool, r->headers_out, name);
    const char *others = apr_table_getm(r->pool, r->err_headers_out, name);

    return lines && others ? apr_pstrcat(r->pool, lines, ", ", others, NULL)
                           : lines ? lines : others;
}

el_cache_control_t el_fields_cache_control(request_rec *r)
{
    const char *field = el_field_lines(r, "Cache-Control");

    return el_cache_control_parse(field ? field : "");
}

void el_field_unset(request_rec *r, const char *name)
{
    apr_table_unset(r->headers_out, name);
    apr_table_unset(r->err_headers_out, name);
}

/* Whether it is no coding of a body, but one of RFC 2045's transfer encodings. */
static bool is_plain_name(const char *name, size_t len)
{
    static const char *const plain[] = {"7bit", "8bit", "binary"};

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strlen(plain[i]) == len && strncasecmp(name, plain[i], len) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a Content-Encoding names only what is no coding of a body. */
static bool is_plain(const char *encoding)
{
    const char *name;
    size_t len = strlen(encoding), name_len;

    while (el_encoding_pop(encoding, &len, &name, &name_len)) {
        if (!is_plain_name(name, name_len)) {
            return false;
        }
    }
    return true;
}

const char *el_fields_encoding(request_rec *r)
{
    /* httpd writes this field over that of headers_out. */
    const char *inner = r->content_encoding
                            ? r->content_encoding
                            : apr_table_getm(r->pool, r->headers_out, "Content-Encoding");
    const char *outer = apr_table_getm(r->pool, r->err_headers_out, "Content-Encoding");

    return inner && outer ? apr_pstrcat(r->pool, inner, ", ", outer, NULL)
                          : inner ? inner : outer;
}

void el_fields_unset_lengths(apr_table_t *fields)
{
    /* Repr-Digest and Content-Digest are RFC 9530's. */
    static const char *const stale[] = {
        "Content-Length", "Content-MD5", "Digest", "Repr-Digest", "Content-Digest", "Accept-Ranges",
    };

    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
        apr_table_unset(fields, stale[i]);
    }
}

static int find_encoding(void *found, const char *name, const char *value)
{
    (void)name;
    *(bool *)found = !is_plain(value);
    return !*(bool *)found;
}

bool el_fields_encoded(const request_rec *r)
{
    bool found = r->content_encoding && !is_plain(r->content_encoding);

    if (!found && apr_table_get(r->headers_out, "Content-Encoding")) {
        apr_table_do(find_encoding, &found, r->headers_out, "Content-Encoding", NULL);
    }
    if (!found && apr_table_get(r->err_headers_out, "Content-Encoding")) {
        apr_table_do(find_encoding, &found, r->err_headers_out, "Content-Encoding", NULL);
    }
    return found;
}

typedef struct {
    apr_pool_t *pool;
    const char *token;
    bool found;
} search_t;

static int find_token(void *data, const char *name, const char *value)
{
    search_t *search = data;

    (void)name;
    search->found = ap_find_token(search->pool, value, search->token);
    return !search->found;
}

/* Whether a field has a token; it may stand in the table more than once. */
static bool has_token(request_rec *r, const apr_table_t *table, const char *name, const char *token)
{
    search_t search = {r->pool, token, false};

    /* Most have none, which is found in a third of the time. */
    if (apr_table_get(table, name)) {
        apr_table_do(find_token, &search, table, name, NULL);
    }
    return search.found;
}

/* The same, of either table of the response. */
static bool response_has_token(request_rec *r, const char *name, const char *token)
{
    return has_token(r, r->headers_out, name, token)
           || has_token(r, r->err_headers_out, name, token);
}

bool el_fields_no_transform(request_rec *r)
{
    return response_has_token(r, "Cache-Control", "no-transform");
}

static int add_field_size(void *sum, const char *name, const char *value)
{
    *(size_t *)sum += strlen(name) + strlen(value) + strlen(": \r\n");
    return 1;
}

size_t el_fields_size(request_rec *r)
{
    size_t sum = strlen(r->status_line ? r->status_line : ap_get_status_line(r->status));

    apr_table_do(add_field_size, &sum, r->headers_out, NULL);
    apr_table_do(add_field_size, &sum, r->err_headers_out, NULL);
    add_field_size(&sum, "Server", ap_get_server_banner());
    if (r->content_type) {
        add_field_size(&sum, "Content-Type", r->content_type);
    }
    if (has_token(r, r->headers_in, "Connection", "keep-alive")) {
        add_field_size(&sum, "Keep-Alive", "timeout=300, max=10000");
        /* EL_PACKET_CORE_HEADER has the shorter word. */
        sum += strlen("Keep-Alive") - strlen("close");
    }
    return sum;
}

bool el_fields_length(const request_rec *r, uint64_t *length)
{
    const char *value = el_field(r, "Content-Length");
    apr_off_t parsed;

    if (!value || !ap_parse_strict_length(&parsed, value)) {
        return false;
    }
    *length = (uint64_t)parsed;
    return true;
}

bool el_fields_varies(request_rec *r, const char *name)
{
    return response_has_token(r, "Vary", name);
}

void el_fields_add_vary(request_rec *r, const char *name)
{
    if (!el_fields_varies(r, name) && !el_fields_varies(r, "*")) {
        apr_table_mergen(r->headers_out, "Vary", name);
    }
}

void el_fields_set_etag(request_rec *r, const char *tag)
{
    apr_table_t *table =
        apr_table_get(r->headers_out, "ETag") ? r->headers_out : r->err_headers_out;

    if (!tag) {
        el_field_unset(r, "ETag");
    } else {
        apr_table_setn(table, "ETag", tag);
    }
}

void el_fields_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode)
{
    el_fields_unset_lengths(r->headers_out);
    el_fields_unset_lengths(r->err_headers_out);
    el_fields_unset_coding(r);
    apr_table_setn(r->headers_out, "Content-Encoding", el_coding_info(coding)->token);
    el_fields_encode_etag(r, coding, mode);
}

void el_fields_unset_coding(request_rec *r)
{
    el_field_unset(r, "Content-Encoding");
    r->content_encoding = NULL;
}

void el_fields_encode_etag(request_rec *r, el_coding_t coding, el_etag_mode_t mode)
{
    const char *tag = el_field(r, "ETag");

    if (tag && *tag == '"' && tag[strlen(tag) - 1] != '"' && mode != EL_ETAG_KEEP) {
        /*
         * mod_negotiation leaves tags open: without a suffix, the codings would share one with the
         * identity.
         */
        el_fields_set_etag(r, NULL);
    } else if (tag && mode != EL_ETAG_KEEP) {
        size_t size = strlen(tag) + EL_ETAG_GROWTH;
        char *encoded = apr_palloc(r->pool, size);

        el_fields_set_etag(r, el_etag_encode(tag, mode, coding, encoded, size) ? encoded : NULL);
    }
}

void el_fields_keep_identity(request_rec *r)
{
    apr_table_setn(r->subprocess_env, "no-gzip", "1");
    apr_table_setn(r->subprocess_env, "no-brotli", "1");
}
