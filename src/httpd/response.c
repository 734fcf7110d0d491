#include "response.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"

const char *el_response_header(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

void el_response_unset(request_rec *r, const char *name)
{
    apr_table_unset(r->headers_out, name);
    apr_table_unset(r->err_headers_out, name);
}

/* Whether a Content-Encoding names only what is no coding of a body (RFC 2045's transfer encodings). */
static bool is_plain(const char *encoding)
{
    static const char *const plain[] = {"identity", "7bit", "8bit", "binary"};

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strcasecmp(encoding, plain[i]) == 0) {
            return true;
        }
    }
    return !*encoding;
}

bool el_response_encoded(const request_rec *r)
{
    const char *found[] = {
        apr_table_get(r->headers_out, "Content-Encoding"),
        apr_table_get(r->err_headers_out, "Content-Encoding"),
        r->content_encoding,
    };

    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        if (found[i] && !is_plain(found[i])) {
            return true;
        }
    }
    return false;
}

static bool has_token(request_rec *r, apr_table_t *table, const char *name, const char *token)
{
    const char *value = apr_table_get(table, name);

    return value && ap_find_token(r->pool, value, token);
}

bool el_response_no_transform(request_rec *r)
{
    return has_token(r, r->headers_out, "Cache-Control", "no-transform")
           || has_token(r, r->err_headers_out, "Cache-Control", "no-transform");
}

static int add_field_size(void *sum, const char *name, const char *value)
{
    *(size_t *)sum += strlen(name) + strlen(value) + strlen(": \r\n");
    return 1;
}

size_t el_response_header_size(request_rec *r)
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
    }
    return sum;
}

bool el_response_length(const request_rec *r, uint64_t *length)
{
    const char *value = el_response_header(r, "Content-Length");
    apr_off_t parsed;

    if (!value || !ap_parse_strict_length(&parsed, value)) {
        return false;
    }
    *length = (uint64_t)parsed;
    return true;
}

void el_response_vary(request_rec *r)
{
    if (has_token(r, r->headers_out, "Vary", "Accept-Encoding")
        || has_token(r, r->err_headers_out, "Vary", "Accept-Encoding")
        || has_token(r, r->headers_out, "Vary", "*")
        || has_token(r, r->err_headers_out, "Vary", "*")) {
        return;
    }
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
}

void el_response_set_etag(request_rec *r, const char *tag)
{
    apr_table_t *table = apr_table_get(r->headers_out, "ETag") ? r->headers_out : r->err_headers_out;

    if (!tag) {
        el_response_unset(r, "ETag");
    } else {
        apr_table_setn(table, "ETag", tag);
    }
}

void el_response_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode)
{
    /* Of the identity, or of its bytes; Repr-Digest and Content-Digest are RFC 9530's. */
    static const char *const stale[] = {
        "Content-Length", "Content-Encoding", "Content-MD5",   "Digest",
        "Repr-Digest",    "Content-Digest",   "Accept-Ranges",
    };
    const char *tag = el_response_header(r, "ETag");

    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
        el_response_unset(r, stale[i]);
    }
    r->content_encoding = NULL;
    apr_table_setn(r->headers_out, "Content-Encoding", el_coding_info(coding)->token);
    if (tag && mode != EL_ETAG_KEEP) {
        size_t size = strlen(tag) + EL_ETAG_GROWTH;
        char *encoded = apr_palloc(r->pool, size);

        el_response_set_etag(r, el_etag_encode(tag, mode, coding, encoded, size) ? encoded : NULL);
    }
}

void el_response_keep_identity(request_rec *r)
{
    apr_table_setn(r->subprocess_env, "no-gzip", "1");
    apr_table_setn(r->subprocess_env, "no-brotli", "1");
}
