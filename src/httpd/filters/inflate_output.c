#include "httpd/filters/inflate_output.h"

#include "httpd/body/body.h"
#include "httpd/response/conditional.h"
#include "httpd/body/inflate.h"
#include "httpd/response/response.h"
#include "httpd/config/stock.h"

#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

EL_USE_LOG;

/* Output is passed on in pieces of this size: below the 64 KB from which httpd blocks. */
#define PASS_SIZE (32 * 1024)

typedef struct {
    el_inflate_t inflate;
    bool head;     /* the header was that of a HEAD: its body, if any, is dropped */
    bool passed;   /* something went down the chain: the header is out, or soon will be */
    bool trailing; /* bytes behind the body's end were found, and logged */
    bool failed;   /* an ERROR bucket came by: the body need not be whole */
    bool broken;   /* the response ended in error; whatever still comes is dropped */
    apr_bucket_brigade *decoded;
} out_t;

static apr_status_t pass_on(ap_filter_t *f, out_t *out)
{
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(out->decoded)) {
        return APR_SUCCESS;
    }
    out->passed = true;
    rv = ap_pass_brigade(f->next, out->decoded);
    apr_brigade_cleanup(out->decoded);
    return rv;
}

/* Ends the response so that the client sees it is broken; see el_send_break_off(). */
static apr_status_t break_off(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, apr_status_t rv,
                              const char *what)
{
    request_rec *r = f->r;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    int status = out->passed || r->proxyreq ? HTTP_BAD_GATEWAY : HTTP_INTERNAL_SERVER_ERROR;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                  "elastic: the body cannot be decoded, %s: the response to %s ends in error", what,
                  r->uri);
    el_inflate_close(&out->inflate, r->pool);
    out->broken = true;
    /* mod_cache would keep what it has as the whole. */
    r->no_cache = 1;
    apr_brigade_cleanup(out->decoded);
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv != APR_SUCCESS ? rv : APR_EGENERAL;
}

/* Decodes a piece of data to its end. */
static apr_status_t decode(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb, const char *data,
                           apr_size_t len)
{
    apr_status_t rv = APR_SUCCESS;
    el_inflated_t inflated;

    do {
        inflated = el_inflate_put(&out->inflate, &data, &len, PASS_SIZE, out->decoded);
        if (inflated == EL_INFLATE_TRAILING) {
            if (!out->trailing) {
                out->trailing = true;
                ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, f->r,
                              "elastic: the response to %s has bytes behind the end of its "
                              "encoded body; they are dropped", f->r->uri);
            }
        } else if (inflated >= EL_INFLATE_DAMAGED) {
            return break_off(f, out, bb, APR_SUCCESS, el_inflate_text(inflated));
        }
        if (inflated == EL_INFLATE_FULL) {
            rv = pass_on(f, out);
        }
    } while (rv == APR_SUCCESS && inflated == EL_INFLATE_FULL);
    return rv;
}

/* Decodes the brigade's first bucket; what is decoded goes on before a wait for more. */
static apr_status_t decode_bucket(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    apr_bucket *bucket = APR_BRIGADE_FIRST(bb);
    const char *data;
    apr_size_t len;
    apr_status_t rv = el_body_read(bucket, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        APR_BRIGADE_INSERT_TAIL(out->decoded, apr_bucket_flush_create(bb->bucket_alloc));
        rv = pass_on(f, out);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        rv = el_body_read(bucket, &data, &len, APR_BLOCK_READ);
    }
    if (rv != APR_SUCCESS) {
        return break_off(f, out, bb, rv, "it cannot be read");
    }
    rv = decode(f, out, bb, data, len);
    if (!out->broken) {
        apr_bucket_delete(bucket);
    }
    return rv;
}

/* `bb` begins with EOS. */
static apr_status_t finish(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    el_inflated_t inflated = el_inflate_finish(&out->inflate);

    if (inflated != EL_INFLATE_ENDED && !out->failed) {
        return break_off(f, out, bb, APR_SUCCESS, el_inflate_text(inflated));
    }
    el_inflate_close(&out->inflate, f->r->pool);
    APR_BRIGADE_CONCAT(out->decoded, bb);
    ap_remove_output_filter(f);
    return pass_on(f, out);
}

/* A bucket that is no data keeps its place. A FLUSH goes on with its brigade, at the latest. */
static void forward(out_t *out, apr_bucket *bucket)
{
    out->failed = out->failed || AP_BUCKET_IS_ERROR(bucket);
    APR_BUCKET_REMOVE(bucket);
    APR_BRIGADE_INSERT_TAIL(out->decoded, bucket);
}

/* Takes the coding out of the header; `rest` are those that remain. */
static void edit_coding(request_rec *r, const char *rest)
{
    el_response_unset(r, "Content-Encoding");
    r->content_encoding = NULL;
    if (rest) {
        apr_table_setn(r->headers_out, "Content-Encoding", rest);
    }
}

/* Makes the header that of the decoded body. */
static void edit_header(request_rec *r, const char *rest)
{
    const char *tag = el_response_header(r, "ETag");
    el_etag_mode_t mode = el_stock_etag(el_stock_of(r->server, EL_RECORD_DEFLATE));

    edit_coding(r, rest);
    el_response_unset_lengths(r->headers_out);
    el_response_unset_lengths(r->err_headers_out);
    if (tag) {
        size_t size = strlen(tag) + EL_ETAG_GROWTH;
        char *decoded = apr_palloc(r->pool, size);

        el_response_set_etag(r, el_etag_decode(tag, mode, decoded, size) ? decoded : NULL);
    }
}

/* Whether the response has a coding that can be decoded, and all of its bytes. */
static bool can_decode(request_rec *r, el_coding_t *coding, const char **rest)
{
    const char *list = el_response_encoding(r);

    return r->status != HTTP_NO_CONTENT && r->status != HTTP_PARTIAL_CONTENT
           && !el_response_header(r, "Content-Range") && list
           && el_inflate_codings(r->pool, list, 1, coding, rest) > 0;
}

/* Takes the response, where its outermost coding is one that can be decoded; otherwise NULL. */
static out_t *take_response(request_rec *r)
{
    el_limits_t limits = el_limits_of(r);
    const char *rest;
    el_coding_t coding;
    out_t *out;

    if (!ap_is_initial_req(r)) {
        return NULL;
    }
    if (r->status == HTTP_NOT_MODIFIED) {
        el_conditional_not_modified(r);
    }
    if (!can_decode(r, &coding, &rest)) {
        return NULL;
    }
    if (r->status == HTTP_NOT_MODIFIED) {
        /* Compressors behind judge it by the header that a 200 would have. */
        edit_coding(r, rest);
        return NULL;
    }
    out = apr_pcalloc(r->pool, sizeof(*out));
    /* The size of a response is for the server to choose; the ratio is no server's choice. */
    limits.size = 0;
    out->head = r->header_only;
    if (!out->head
        && !el_inflate_open(&out->inflate, &coding, 1, &limits, r->pool,
                            r->connection->bucket_alloc)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_ENOMEM, r,
                      "elastic: the response to %s stays encoded", r->uri);
        return NULL;
    }
    out->decoded = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    edit_header(r, rest);
    return out;
}

static apr_status_t decode_brigade(ap_filter_t *f, out_t *out, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(bucket)) {
            return finish(f, out, bb);
        }
        if (APR_BUCKET_IS_METADATA(bucket)) {
            forward(out, bucket);
        } else {
            rv = decode_bucket(f, out, bb);
        }
    }
    if (rv == APR_SUCCESS) {
        rv = pass_on(f, out);
    }
    apr_brigade_cleanup(bb);
    return rv;
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
    if (f->r->connection->aborted || out->broken) {
        apr_brigade_cleanup(bb);
        return out->broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    if (out->head) {
        el_body_drop(bb);
        return ap_pass_brigade(f->next, bb);
    }
    return decode_brigade(f, out, bb);
}

void el_filter_inflate_register(void)
{
    ap_register_output_filter(EL_INFLATE_NAME, filter_inflate, NULL, AP_FTYPE_RESOURCE - 1);
}
