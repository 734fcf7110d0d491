#include "httpd/response/fields.h"

#include "elastic/http.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"

const char *el_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

/* `inner` and `outer`, either of which may be NULL, in one list. */
static const char *join(apr_pool_t *pool, const char *inner, const char *outer)
{
    return inner && outer ? apr_pstrcat(pool, inner, ", ", outer, NULL) : inner ? inner : outer;
}

el_cache_control_t el_fields_cache_control(request_rec *r)
{
    const char *field = join(r->pool, apr_table_getm(r->pool, r->headers_out, "Cache-Control"),
                             apr_table_getm(r->pool, r->err_headers_out, "Cache-Control"));

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

    return join(r->pool, inner, apr_table_getm(r->pool, r->err_headers_out, "Content-Encoding"));
}

void el_fields_unset_lengths(apr_table_t *fields)
{
    /* Repr-Digest and Content-Digest are RFC 9530's. */
    static const char *const stale[] = {
        "Content-Length", "Content-MD5", "Digest", "Repr-Digest", "Content-Digest", "Accept-Ranges",
    };

    for (size_t i = 0; !apr_is_empty_table(fields) && i < sizeof(stale) / sizeof(stale[0]); i++) {
        apr_table_unset(fields, stale[i]);
    }
}

static void read_table(request_rec *r, const apr_table_t *table, el_fields_t *fields)
{
    const apr_array_header_t *rows = apr_table_elts(table);

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        if (*row->key != 'C' && *row->key != 'c') {
            continue;
        }
        if (strcasecmp(row->key, "Content-Length") == 0) {
            fields->length = fields->length ? fields->length : row->val;
        } else if (strcasecmp(row->key, "Cache-Control") == 0) {
            fields->no_transform =
                fields->no_transform || ap_find_token(r->pool, row->val, "no-transform");
        } else if (strcasecmp(row->key, "Content-Encoding") == 0) {
            fields->encoded = fields->encoded || !is_plain(row->val);
        } else if (strcasecmp(row->key, "Content-Range") == 0) {
            fields->has_range = true;
        }
    }
}

el_fields_t el_fields_read(request_rec *r)
{
    el_fields_t fields = {.encoded = r->content_encoding && !is_plain(r->content_encoding)};

    read_table(r, r->headers_out, &fields);
    read_table(r, r->err_headers_out, &fields);
    return fields;
}

/* Whether a field has a token; it may stand in the table more than once. */
static bool has_token(request_rec *r, const apr_table_t *table, const char *name, const char *token)
{
    const apr_array_header_t *rows = apr_table_elts(table);
    /* Most have none, which is found in a third of the time. */
    int i = apr_table_get(table, name) ? 0 : rows->nelts;

    for (; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        if (strcasecmp(row->key, name) == 0 && ap_find_token(r->pool, row->val, token)) {
            return true;
        }
    }
    return false;
}

/* Bytes of a field with its name, in a line of its own. */
static size_t field_size(const char *name, const char *value)
{
    return strlen(name) + strlen(value) + strlen(": \r\n");
}

size_t el_fields_table_size(const apr_table_t *table)
{
    const apr_array_header_t *rows = apr_table_elts(table);
    size_t sum = 0;

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        sum += field_size(row->key, row->val);
    }
    return sum;
}

size_t el_fields_size(request_rec *r)
{
    size_t sum = strlen(r->status_line ? r->status_line : ap_get_status_line(r->status))
                 + el_fields_table_size(r->headers_out) + el_fields_table_size(r->err_headers_out)
                 + field_size("Server", ap_get_server_banner());

    if (r->content_type) {
        sum += field_size("Content-Type", r->content_type);
    }
    if (has_token(r, r->headers_in, "Connection", "keep-alive")) {
        sum += field_size("Keep-Alive", "timeout=300, max=10000");
        /* EL_PACKET_CORE_HEADER has the shorter word. */
        sum += strlen("Keep-Alive") - strlen("close");
    }
    return sum;
}

/* Digits that a length has at most: of any number of so many an apr_off_t has room. */
#define LENGTH_DIGITS 18

bool el_fields_length(const el_fields_t *fields, uint64_t *length)
{
    const char *text = fields->length;
    uint64_t number = 0;
    size_t digits = 0;

    while (text && text[digits] >= '0' && text[digits] <= '9') {
        number = number * 10 + (uint64_t)(text[digits++] - '0');
    }
    if (digits == 0 || digits > LENGTH_DIGITS || text[digits] != '\0') {
        return false;
    }
    *length = number;
    return true;
}

bool el_fields_varies(request_rec *r, const char *name)
{
    return has_token(r, r->headers_out, "Vary", name)
           || has_token(r, r->err_headers_out, "Vary", name);
}

void el_fields_add_vary(request_rec *r, const char *name)
{
    if (!el_field(r, "Vary")) {
        apr_table_addn(r->headers_out, "Vary", name);
    } else if (!el_fields_varies(r, name) && !el_fields_varies(r, "*")) {
        apr_table_mergen(r->headers_out, "Vary", name);
    }
}

void el_fields_set_etag(request_rec *r, const char *tag)
{
    bool outer = !apr_is_empty_table(r->err_headers_out) && !apr_table_get(r->headers_out, "ETag");

    if (!tag) {
        el_field_unset(r, "ETag");
    } else {
        apr_table_setn(outer ? r->err_headers_out : r->headers_out, "ETag", tag);
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
