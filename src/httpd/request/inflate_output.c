#include "httpd/request/request.h"

#include "httpd/body/body.h"
#include "httpd/body/stream.h"
#include "httpd/config/dropin.h"
#include "httpd/config/glue.h"
#include "httpd/request/decode.h"
#include "httpd/response/fields.h"
#include "httpd/response/not_modified.h"

#include "engines/memory.h"

#include "apr_strings.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

EL_USE_LOG;

/* Decoded bytes between two passes, see stream.c. */
#define PASS_SIZE (32 * 1024)

typedef struct {
    el_stream_t stream;
    el_inflate_t inflate;
    bool head;     /* the header was that of a HEAD: its body, if any, is dropped */
    bool trailing; /* bytes behind the body's end were found, and logged */
} out_t;

static apr_status_t fail(ap_filter_t *f, out_t *out, el_inflated_t why)
{
    out->stream.error = apr_pstrcat(f->r->pool, "the body cannot be decoded: ",
                                    el_inflate_text(why), NULL);
    return APR_EGENERAL;
}

/* Decodes a piece of data to its end. */
static apr_status_t decode(ap_filter_t *f, void *owner, const char *data, apr_size_t len)
{
    out_t *out = owner;
    apr_status_t rv = APR_SUCCESS;
    el_inflated_t inflated;

    if (out->trailing) {
        return APR_SUCCESS;
    }
    do {
        inflated = el_inflate_put(&out->inflate, &data, &len, PASS_SIZE,
                                  out->stream.out);
        if (inflated == EL_INFLATE_TRAILING) {
            out->trailing = true;
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r,
                          "elastic: the response to %s has bytes behind the end of its encoded "
                          "body; they are dropped", f->r->uri);
        } else if (inflated >= EL_INFLATE_DAMAGED) {
            return fail(f, out, inflated);
        }
        if (inflated == EL_INFLATE_FULL) {
            rv = el_stream_pass(f, &out->stream);
        }
    } while (rv == APR_SUCCESS && inflated == EL_INFLATE_FULL);
    return rv;
}

static apr_status_t end(ap_filter_t *f, void *owner)
{
    out_t *out = owner;
    el_inflated_t inflated = el_inflate_finish(&out->inflate);

    if (inflated != EL_INFLATE_ENDED && !out->stream.failed) {
        return fail(f, out, inflated);
    }
    el_inflate_close(&out->inflate, f->r->pool);
    return APR_SUCCESS;
}

static void abandon(ap_filter_t *f, void *owner)
{
    out_t *out = owner;

    el_inflate_close(&out->inflate, f->r->pool);
}

/* Takes the coding out of the header; `rest` are those that remain. */
static void edit_coding(request_rec *r, const char *rest)
{
    el_fields_unset_coding(r);
    if (rest) {
        apr_table_setn(r->headers_out, "Content-Encoding", rest);
    }
}

/* The tag of the decoded body; NULL where it has none. */
static const char *decoded_tag(request_rec *r)
{
    const char *tag = el_field(r, "ETag");
    const el_stock_t *stock = el_stock_of(r->server, EL_RECORD_DEFLATE);
    el_etag_mode_t mode = (el_etag_mode_t)stock->values.value[EL_STOCK_ETAG];
    size_t size = tag ? strlen(tag) + EL_ETAG_GROWTH : 0;
    char *decoded = apr_palloc(r->pool, size);

    return tag && el_etag_decode(tag, mode, decoded, size) ? decoded : NULL;
}

/* Makes the header that of the decoded body. */
static void edit_header(request_rec *r, const char *rest, const char *tag)
{
    edit_coding(r, rest);
    el_fields_unset_lengths(r->headers_out);
    el_fields_unset_lengths(r->err_headers_out);
    el_fields_set_etag(r, tag);
}

/* Whether the response has a coding that can be decoded, and all of its bytes. */
static bool can_decode(request_rec *r, el_coding_t *coding, const char **rest)
{
    const char *list = el_fields_encoding(r);

    return r->status != HTTP_NO_CONTENT && r->status != HTTP_PARTIAL_CONTENT
           && !el_field(r, "Content-Range") && list
           && el_inflate_codings(r->pool, list, 1, coding, rest) > 0;
}

static out_t *open_stream(request_rec *r, el_coding_t coding)
{
    static const el_stream_ops_t ops = {decode, NULL, end, abandon};
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    el_limits_t limits = el_limits_of(r);
    out_t *out = apr_pcalloc(r->pool, sizeof(*out));

    /* The size of a response is for the server to choose; the ratio is no server's choice. */
    limits.size = 0;
    limits.is_request = false;
    out->head = r->header_only;
    if (!out->head && !el_inflate_open(&out->inflate, &coding, 1, &limits, r)) {
        ap_log_rerror(APLOG_MARK, el_budget_take_refusal() ? APLOG_INFO : APLOG_ERR, APR_ENOMEM, r,
                      "elastic: the response to %s is sent encoded: decoding it takes more memory "
                      "than there is, or than ElasticMaxMemory allows", r->uri);
        return NULL;
    }
    el_inflate_commit(&out->inflate);
    out->stream.ops = &ops;
    out->stream.owner = out;
    out->stream.made = &out->inflate.out;
    out->stream.out = apr_brigade_create(r->pool, alloc);
    out->stream.error_status = r->proxyreq ? HTTP_BAD_GATEWAY : HTTP_INTERNAL_SERVER_ERROR;
    return out;
}

/* Takes the response, where its outermost coding is one that can be decoded; otherwise NULL. */
static out_t *take_response(request_rec *r)
{
    const char *rest, *tag;
    el_coding_t coding;
    bool named;
    out_t *out;

    if (!ap_is_initial_req(r)) {
        return NULL;
    }
    named = r->status == HTTP_NOT_MODIFIED && el_not_modified_named(r);
    if (!can_decode(r, &coding, &rest)) {
        return NULL;
    }
    tag = decoded_tag(r);
    named = named || (tag && el_not_modified_now(r, tag));
    if (r->status == HTTP_NOT_MODIFIED) {
        /* Compressors behind judge it by the header that a 200 would have. */
        edit_coding(r, rest);
        if (!named) {
            el_fields_set_etag(r, tag);
        }
        return NULL;
    }
    out = open_stream(r, coding);
    if (out) {
        edit_header(r, rest, tag);
    }
    return out;
}

static apr_status_t filter_inflate(ap_filter_t *f, apr_bucket_brigade *bb)
{
    out_t *out = f->ctx;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!out) {
        out = f->ctx = take_response(f->r);
        if (!out) {
            ap_remove_output_filter(f);
            return ap_pass_brigade(f->next, bb);
        }
    }
    if (f->r->connection->aborted || out->stream.broken) {
        apr_brigade_cleanup(bb);
        return out->stream.broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    if (out->head) {
        el_body_drop(bb);
        return ap_pass_brigade(f->next, bb);
    }
    return el_stream_run(f, &out->stream, bb);
}

void el_inflate_output_register(void)
{
    ap_register_output_filter(EL_FILTER_INFLATE, filter_inflate, NULL, AP_FTYPE_RESOURCE - 1);
}
