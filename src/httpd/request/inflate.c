#include "httpd/request/request.h"

#include "httpd/body/encoder.h"
#include "httpd/config/glue.h"
#include "httpd/response/steps.h"

#include "engines/engines.h"
#include "engines/memory.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

EL_USE_LOG;

/* ---- requests -------------------------------------------------------------------------------- */

/* The encoded bytes to read at once: as many as one of httpd's buckets holds. */
#define READ_SIZE APR_BUCKET_BUFF_SIZE

/*
 * A decoded body is held in memory up to the first size, in a file up to the second, so that its
 * handler can be told the length. nginx begins a file at 16 KB; PHP accepts 8 MB by default.
 */
#define HELD_IN_MEMORY ((apr_off_t)64 * 1024)
#define HELD_MOST ((uint64_t)8 << 20)

typedef struct {
    el_inflate_t inflate;
    const char *rest; /* the decoded body's Content-Encoding, or NULL */
    bool early;       /* it was first read before the handler's phase */
    bool sized;       /* the client sent a length */
    bool edited;      /* the header is that of the decoded body */
    bool absent;      /* somebody has read the encoded body before */
    bool eos_seen;
    apr_status_t failed;         /* the result of all later reads */
    int refused;                 /* the status of a body that failed early, or 0 */
    apr_bucket_brigade *encoded; /* read but not decoded yet */
    apr_bucket_brigade *ready;   /* decoded but not handed out yet */
    apr_file_t *file;            /* decoded bytes that come before `ready`, or NULL */
    apr_off_t stored;            /* bytes in `file` */
} in_t;

/* The context of el_input_begin()'s filter until somebody reads by it. */
static in_t waiting;

static ap_filter_rec_t *inflate_rec;
static ap_filter_rec_t *deflate_rec; /* NULL: DEFLATE is not this module's */

/* The URL to which mod_proxy sends the request; "" if it does not. */
static const char *inflate_target_of(const request_rec *r)
{
    const char *name = r->proxyreq ? r->filename : r->handler, *origin;

    if (!name || strncmp(name, "proxy:", strlen("proxy:")) != 0) {
        return "";
    }
    name += strlen("proxy:");
    /* mod_proxy puts a socket's path before the URL. */
    origin = strncasecmp(name, "unix:", strlen("unix:")) == 0 ? strchr(name, '|') : NULL;
    return origin ? origin + 1 : name;
}

/* Compares the scheme only, because clients choose what follows the origin in the URL. */
static bool inflate_is_sent_by(const request_rec *r, const char *scheme)
{
    return strncasecmp(inflate_target_of(r), scheme, strlen(scheme)) == 0;
}

/* Their handlers need a length before the body, and refuse chunks. */
static bool inflate_needs_length(const request_rec *r)
{
    return inflate_is_sent_by(r, "scgi:") || inflate_is_sent_by(r, "uwsgi:");
}

/* 415 with the codings that would be accepted (RFC 9110 §15.5.16, §12.5.3). */
static int inflate_unsupported(request_rec *r)
{
    const char *known = NULL;

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        const char *token = el_coding_info((el_coding_t)i)->token;

        if (el_decoder_for((el_coding_t)i)) {
            known = known ? apr_pstrcat(r->pool, known, ", ", token, NULL) : token;
        }
    }
    apr_table_setn(r->err_headers_out, "Accept-Encoding", known);
    return HTTP_UNSUPPORTED_MEDIA_TYPE;
}

/* Gives up the body: all later reads return `rv`. */
static void inflate_give_up(request_rec *r, in_t *in, el_inflated_t why, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "elastic: the request body is refused: %s (so far %" APR_UINT64_T_FMT
                  " bytes encoded, %" APR_UINT64_T_FMT " decoded)",
                  el_inflate_text(why), in->inflate.in, in->inflate.out);
    /* Nobody may take the rest of the body for the next request. */
    r->connection->keepalive = AP_CONN_CLOSE;
    in->failed = rv;
    apr_brigade_cleanup(in->encoded);
    apr_brigade_cleanup(in->ready);
    el_inflate_close(&in->inflate, r->pool);
}

/*
 * Ends the body in error, for this read and all later ones. Handlers answer APR_ENOSPC with 413 and
 * unknown errors with 400; this function sends all other answers itself. If another module reads
 * before the handler, inflate_read_early() returns the status.
 */
static apr_status_t inflate_fail(ap_filter_t *f, in_t *in, el_inflated_t why)
{
    request_rec *r = f->r;
    int status = HTTP_BAD_REQUEST;
    apr_status_t rv = AP_FILTER_ERROR;

    if (why == EL_INFLATE_UNSUPPORTED) {
        status = inflate_unsupported(r);
    } else if (why == EL_INFLATE_NO_MEMORY) {
        status = HTTP_SERVICE_UNAVAILABLE;
    } else if (why == EL_INFLATE_SIZE_LIMIT || why == EL_INFLATE_RATIO_LIMIT) {
        status = HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    if (in->early) {
        in->refused = status;
        /* As httpd's own filter answers beyond LimitRequestBody. */
        rv = status == HTTP_REQUEST_ENTITY_TOO_LARGE ? AP_FILTER_ERROR : APR_EGENERAL;
    } else if (!r->sent_bodyct && status == HTTP_REQUEST_ENTITY_TOO_LARGE) {
        rv = APR_ENOSPC;
    } else if (!r->sent_bodyct && status == HTTP_BAD_REQUEST) {
        rv = APR_EGENERAL;
    }
    inflate_give_up(r, in, why, rv);
    if (r->sent_bodyct) {
        apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
        apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

        /* Only this status makes httpd omit the last chunk, which shows the client an error. */
        APR_BRIGADE_INSERT_TAIL(bb,
                                ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
        ap_pass_brigade(r->output_filters, bb);
    } else if (rv == AP_FILTER_ERROR) {
        /* An error bucket would lose the fields of err_headers_out. */
        ap_die(status, r);
    }
    return rv;
}

static in_t *inflate_make_in(request_rec *r)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    in_t *in = apr_pcalloc(r->pool, sizeof(*in));

    in->encoded = apr_brigade_create(r->pool, alloc);
    in->ready = apr_brigade_create(r->pool, alloc);
    return in;
}

static in_t *inflate_open_in(request_rec *r, const el_coding_t *codings, size_t count,
                             const char *rest)
{
    el_limits_t limits = el_limits_of(r);
    in_t *in = inflate_make_in(r);

    in->rest = rest;
    in->sized = apr_table_get(r->headers_in, "Content-Length")
                && !apr_table_get(r->headers_in, "Transfer-Encoding");
    if (!el_inflate_open(&in->inflate, codings, count, &limits, r)) {
        in->inflate.last = EL_INFLATE_NO_MEMORY;
    }
    return in;
}

/*
 * Makes mod_proxy determine the decoded length, if the client sent a length, for origins that do
 * not accept chunks; and always for FastCGI (also behind a balancer), whose programs take a body
 * without a length as empty.
 */
static void inflate_tell_proxy(request_rec *r, in_t *in)
{
    apr_table_t *env = r->subprocess_env;
    bool to_backend = *inflate_target_of(r);

    if (to_backend
        && (in->sized || inflate_is_sent_by(r, "fcgi:") || inflate_is_sent_by(r, "balancer:"))
        && !apr_table_get(env, "proxy-sendchunks") && !apr_table_get(env, "proxy-sendchunked")) {
        apr_table_setn(env, "proxy-sendcl", "1");
    }
    /* mod_proxy then stores the whole body on disk before it sends any. */
    if (to_backend
        && (apr_table_get(env, "proxy-sendcl")
            || apr_table_get(env, "force-proxy-request-1.0"))) {
        el_limits_spool(&in->inflate.limits, r);
    }
}

/*
 * Changes the request's header to that of the decoded body. It becomes chunked, because a request
 * without a length and chunks has no body.
 */
static void inflate_edit_once(request_rec *r, in_t *in)
{
    apr_table_t *fields = r->headers_in;

    if (in->edited) {
        return;
    }
    in->edited = true;
    el_fields_unset_lengths(fields);
    if (in->rest) {
        apr_table_setn(fields, "Content-Encoding", in->rest);
    } else {
        apr_table_unset(fields, "Content-Encoding");
    }
    if (!apr_table_get(fields, "Transfer-Encoding")) {
        apr_table_setn(fields, "Transfer-Encoding", "chunked");
    }
}

static void inflate_set_length(request_rec *r, const char *length)
{
    apr_table_unset(r->headers_in, "Transfer-Encoding");
    apr_table_setn(r->headers_in, "Content-Length", length);
}

/*
 * Reads the encoded body. httpd's own filter parses Content-Length at its first call, so the header
 * may change only after that. It stays if the body is at its end already: another module has read
 * it, and will hand out the encoded bytes by a filter of its own.
 */
static apr_status_t inflate_fetch(ap_filter_t *f, in_t *in, apr_read_type_e block)
{
    apr_status_t rv = ap_get_brigade(f->next, in->encoded, AP_MODE_READBYTES, block, READ_SIZE);

    in->absent = !in->edited && rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(in->encoded)
                 && APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(in->encoded))
                 && (in->sized || f != f->r->input_filters);
    if (!in->absent) {
        inflate_edit_once(f->r, in);
    }
    return rv;
}

static apr_status_t inflate_put(ap_filter_t *f, in_t *in, const char **data, apr_size_t *len,
                        apr_off_t room)
{
    el_inflated_t inflated = el_inflate_put(&in->inflate, data, len, (uint64_t)room, in->ready);

    return inflated < EL_INFLATE_DAMAGED ? APR_SUCCESS : inflate_fail(f, in, inflated);
}

/* One step of decoding: pending output, a data bucket, or a metadata bucket. */
static apr_status_t inflate_advance(ap_filter_t *f, in_t *in, apr_read_type_e block, apr_off_t room)
{
    bool empty = APR_BRIGADE_EMPTY(in->encoded);
    apr_bucket *bucket = APR_BRIGADE_FIRST(in->encoded);
    const char *data = "";
    apr_size_t len = 0, left;
    apr_status_t rv;

    if (!empty && !APR_BUCKET_IS_METADATA(bucket)) {
        rv = apr_bucket_read(bucket, &data, &len, block);
        left = len;
        if (rv == APR_SUCCESS) {
            rv = inflate_put(f, in, &data, &left, room);
        }
        if (rv != APR_SUCCESS) {
            return rv;
        }
        /* Delete the part that was decoded. */
        if (left > 0 && apr_bucket_split(bucket, len - left) != APR_SUCCESS) {
            return inflate_fail(f, in, EL_INFLATE_NO_MEMORY);
        }
        apr_bucket_delete(bucket);
        return APR_SUCCESS;
    }
    if (in->inflate.last == EL_INFLATE_FULL) {
        return inflate_put(f, in, &data, &len, room);
    }
    if (APR_BUCKET_IS_EOS(bucket)) {
        el_inflated_t inflated = el_inflate_finish(&in->inflate);

        if (inflated != EL_INFLATE_ENDED) {
            return inflate_fail(f, in, inflated);
        }
        in->eos_seen = true;
        el_inflate_close(&in->inflate, f->r->pool);
    }
    APR_BUCKET_REMOVE(bucket);
    APR_BRIGADE_INSERT_TAIL(in->ready, bucket);
    return APR_SUCCESS;
}

/* Makes something ready: up to `wanted` bytes if they are available. */
static apr_status_t inflate_make_ready(ap_filter_t *f, in_t *in, apr_read_type_e block,
                                       apr_off_t wanted)
{
    apr_off_t have = 0;
    apr_status_t rv = apr_brigade_length(in->ready, 1, &have);

    while (rv == APR_SUCCESS && have < wanted && !in->eos_seen) {
        uint64_t before = in->inflate.out;

        if (APR_BRIGADE_EMPTY(in->encoded) && in->inflate.last != EL_INFLATE_FULL) {
            if (!APR_BRIGADE_EMPTY(in->ready)) {
                break;
            }
            rv = inflate_fetch(f, in, block);
            if (rv != APR_SUCCESS || APR_BRIGADE_EMPTY(in->encoded) || in->absent) {
                break;
            }
        }
        rv = inflate_advance(f, in, block, wanted - have);
        have += (apr_off_t)(in->inflate.out - before);
    }
    return rv;
}

/*
 * Keeps the rest of a brigade beyond this call of the filter; false if memory is short. Lower
 * filters return about as many bytes as requested; much more is not copied.
 */
static bool inflate_keep(request_rec *r, apr_bucket_brigade *bb)
{
    apr_status_t rv = el_body_set_aside(bb, r->pool, 2 * READ_SIZE);

    return rv == APR_SUCCESS || rv == APR_INCOMPLETE;
}

/* Returns false if there is no memory to split or copy a bucket. */
static bool inflate_hand_out(in_t *in, apr_bucket_brigade *bb, ap_input_mode_t mode,
                             apr_off_t readbytes)
{
    apr_bucket *end, *e, *next;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(in->ready) && in->eos_seen) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
        return true;
    }
    /* All lengths are known. APR_INCOMPLETE: there are fewer bytes. */
    rv = apr_brigade_partition(in->ready, readbytes, &end);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE) {
        return false;
    }
    for (e = APR_BRIGADE_FIRST(in->ready); e != end; e = next) {
        next = APR_BUCKET_NEXT(e);
        if (mode != AP_MODE_SPECULATIVE) {
            APR_BUCKET_REMOVE(e);
        } else if (apr_bucket_copy(e, &e) != APR_SUCCESS) {
            return false;
        }
        APR_BRIGADE_INSERT_TAIL(bb, e);
    }
    return true;
}

/* At a filter's first call; NULL if there is nothing to decode. */
static in_t *inflate_begin(request_rec *r, bool early)
{
    const char *list = apr_table_get(r->headers_in, "Content-Encoding");
    el_coding_t codings[EL_INFLATE_LAYERS];
    const char *rest;
    size_t count;
    in_t *in = NULL;

    if (!list || !ap_is_initial_req(r)) {
        return NULL;
    }
    count = el_inflate_codings(r->pool, list, EL_INFLATE_LAYERS, codings, &rest);
    if (count > 0) {
        in = inflate_open_in(r, codings, count, rest);
        in->early = early;
    }
    return in;
}

static void inflate_leave(ap_filter_t *f, in_t *in)
{
    el_inflate_close(&in->inflate, f->r->pool);
    ap_remove_input_filter(f);
}

static apr_status_t inflate_filter_in(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t readbytes)
{
    const ap_filter_t *reader = f->r->input_filters;
    in_t *in = f->ctx;
    apr_status_t rv;

    /* Modes that read lines are for connections, not for bodies. */
    if (mode != AP_MODE_READBYTES && mode != AP_MODE_SPECULATIVE) {
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    if (in == &waiting) {
        /* A request that was refused before its handler is only read to its end. */
        in = f->ctx = f->r->status == HTTP_OK ? inflate_begin(f->r, true) : NULL;
    } else if (!in) {
        /* If DEFLATE is configured twice, the first one decodes all codings. */
        while (reader && reader != f
               && !((reader->frec == inflate_rec || reader->frec == deflate_rec) && reader->ctx)) {
            reader = reader->next;
        }
        /* Only this module adds its own filter, with a context; a configuration may name it. */
        in = f->ctx =
            f->frec == inflate_rec || (reader && reader != f) ? NULL : inflate_begin(f->r, false);
    }
    if (!in) {
        ap_remove_input_filter(f);
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    if (in->failed != APR_SUCCESS) {
        return in->failed;
    }
    if (in->inflate.last == EL_INFLATE_NO_MEMORY) {
        return inflate_fail(f, in, EL_INFLATE_NO_MEMORY);
    }
    rv = inflate_make_ready(f, in, block, readbytes);
    if (in->absent) {
        APR_BRIGADE_CONCAT(bb, in->encoded);
        inflate_leave(f, in);
    }
    if (rv != APR_SUCCESS || in->absent) {
        return rv;
    }
    if (!inflate_keep(f->r, in->encoded) || !inflate_hand_out(in, bb, mode, readbytes)) {
        return inflate_fail(f, in, EL_INFLATE_NO_MEMORY);
    }
    return APR_SUCCESS;
}

/*
 * Puts a decoder into the chain, behind the filters that hand out what their modules have read by
 * it before the handler. Returns NULL if they have read all of it: one that has set a length knows
 * what it will hand out.
 */
static ap_filter_t *inflate_resume(request_rec *r, in_t *in)
{
    const char *length = apr_table_get(r->headers_in, "Content-Length");

    if (in->early && in->eos_seen && APR_BRIGADE_EMPTY(in->ready)) {
        inflate_set_length(r, length ? length
                                     : apr_psprintf(r->pool, "%" APR_UINT64_T_FMT,
                                                    in->inflate.out));
        return NULL;
    }
    if (in->early) {
        apr_table_unset(r->headers_in, "Content-Length");
        in->inflate.limits = el_limits_of(r);
        in->early = false;
    }
    return ap_add_input_filter_handle(inflate_rec, in, r, r->connection);
}

/* Finds the filter of el_input_begin(), or NULL. */
static ap_filter_t *inflate_find_early(const request_rec *r)
{
    ap_filter_t *f = r->main ? NULL : r->input_filters;

    while (f && !(f->frec == inflate_rec
                  && (f->ctx == &waiting || (f->ctx && ((const in_t *)f->ctx)->early)))) {
        f = f->next;
    }
    return f;
}

/*
 * An internal redirect starts with protocol filters only, although part of the body may have been
 * read. An error page's handler finds the body at its end.
 */
static bool inflate_inherit(request_rec *r)
{
    for (ap_filter_t *f = r->prev ? r->prev->input_filters : NULL; f; f = f->next) {
        in_t *in = f->ctx;

        if (!in || in == &waiting || (f->frec != inflate_rec && f->frec != deflate_rec)) {
            continue;
        }
        if (in->failed != APR_SUCCESS) {
            inflate_edit_once(r, in);
            in = inflate_make_in(r);
            in->eos_seen = true;
        }
        inflate_resume(r, in);
        return true;
    }
    return false;
}

/* Finds the input filter DEFLATE in the request's chain, ours or mod_deflate's; or NULL. */
static ap_filter_t *inflate_find_deflate(const request_rec *r)
{
    ap_filter_t *f = r->input_filters;

    while (f && strcasecmp(f->frec->name, EL_FILTER_DEFLATE) != 0) {
        f = f->next;
    }
    return f;
}

/*
 * Moves the ready bytes to an unlinked file that lives as long as the request. Returns false if
 * that fails; the rest stays in memory.
 */
static bool inflate_store(request_rec *r, in_t *in)
{
    bool stored = true;
    const char *folder;
    char *name;

    if (!in->file) {
        if (apr_temp_dir_get(&folder, r->pool) != APR_SUCCESS) {
            return false;
        }
        name = apr_pstrcat(r->pool, folder, "/elastic.XXXXXX", NULL);
        if (apr_file_mktemp(&in->file, name,
                            APR_FOPEN_CREATE | APR_FOPEN_READ | APR_FOPEN_WRITE | APR_FOPEN_EXCL,
                            r->pool) != APR_SUCCESS) {
            in->file = NULL;
            return false;
        }
        apr_file_remove(name, r->pool);
    }
    while (stored && !APR_BRIGADE_EMPTY(in->ready)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(in->ready);
        const char *data;
        apr_size_t len = 0;

        stored = APR_BUCKET_IS_METADATA(bucket)
                 || (apr_bucket_read(bucket, &data, &len, APR_BLOCK_READ) == APR_SUCCESS
                     && apr_file_write_full(in->file, data, len, NULL) == APR_SUCCESS);
        if (stored) {
            in->stored += (apr_off_t)len;
            apr_bucket_delete(bucket);
        }
    }
    return stored;
}

/*
 * Decodes the whole body if it may be held, and sets its length in the header. Otherwise the
 * handler reads the rest in chunks.
 */
static apr_status_t inflate_early(ap_filter_t *f, in_t *in)
{
    request_rec *r = f->r;
    apr_off_t ready = 0;
    bool holds = true;

    while (holds && !in->eos_seen) {
        apr_status_t rv = APR_SUCCESS;

        if (APR_BRIGADE_EMPTY(in->encoded) && in->inflate.last != EL_INFLATE_FULL) {
            rv = inflate_fetch(f, in, APR_BLOCK_READ);
            if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(in->encoded)) {
                rv = APR_EGENERAL;
            }
            if (in->absent) {
                return rv;
            }
        }
        if (rv == APR_SUCCESS) {
            rv = inflate_make_ready(f, in, APR_BLOCK_READ, HELD_IN_MEMORY);
        }
        if (rv == APR_SUCCESS) {
            rv = apr_brigade_length(in->ready, 1, &ready);
        }
        if (rv != APR_SUCCESS) {
            return rv;
        }
        holds = in->eos_seen
                || (in->inflate.out <= HELD_MOST
                    && (ready < HELD_IN_MEMORY || inflate_store(r, in)));
    }
    if (in->stored > 0) {
        apr_bucket *bucket = apr_bucket_file_create(in->file, 0, (apr_size_t)in->stored, r->pool,
                                                    r->connection->bucket_alloc);

        APR_BRIGADE_INSERT_HEAD(in->ready, bucket);
    }
    if (in->eos_seen) {
        inflate_set_length(r, apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, in->inflate.out));
    }
    return APR_SUCCESS;
}

/*
 * Reads the body's beginning, or all of it, so that the header changes before the handler sees it:
 * CGI scripts and origins must not get the encoded length and coding. Returns OK or an error.
 */
static int inflate_read_early(ap_filter_t *f)
{
    request_rec *r = f->r;
    in_t *in = f->ctx;
    apr_status_t rv = in->failed;
    bool short_of_memory = in->inflate.last == EL_INFLATE_NO_MEMORY;
    /*
     * If the client sent a length, the handler gets the decoded one: many programs read no body
     * without it, and some modules refuse chunks (RFC 9110 §15.5.12). Most handlers of mod_proxy
     * determine it themselves, see inflate_tell_proxy().
     */
    bool wants_length = in->sized
                        && (!*inflate_target_of(r) || inflate_is_sent_by(r, "ajp:")
                            || inflate_is_sent_by(r, "balancer:") || inflate_needs_length(r));

    if (in->refused) {
        return in->refused;
    }
    inflate_tell_proxy(r, in);
    if (!short_of_memory && rv == APR_SUCCESS && (wants_length || !in->edited)) {
        rv = wants_length ? inflate_early(f, in) : inflate_fetch(f, in, APR_NONBLOCK_READ);
        short_of_memory = in->failed == APR_SUCCESS && !inflate_keep(r, in->encoded);
    }
    if (short_of_memory) {
        inflate_give_up(r, in, EL_INFLATE_NO_MEMORY, AP_FILTER_ERROR);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (in->absent) {
        inflate_leave(f, in);
    }
    return rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv)
               ? OK
               : ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
}

/* Returns OK or an error status; `list` is the Content-Encoding, or NULL. */
EL_RARE static int inflate_prepare(request_rec *r, const char *list)
{
    el_coding_t codings[EL_INFLATE_LAYERS];
    ap_filter_t *f = inflate_find_early(r);
    int status = OK;

    if (f) {
        in_t *in = f->ctx;

        ap_remove_input_filter(f);
        if (in != &waiting) {
            f = inflate_resume(r, in);
            return f ? inflate_read_early(f) : OK;
        }
    }
    if (r->main || inflate_inherit(r) || (r->prev && r->prev->status != HTTP_OK) || !list
        || !ap_request_has_body(r)) {
        return OK;
    }
    f = inflate_find_deflate(r);
    /* The length is unknown before decoding: pass the body on encoded. */
    if (inflate_needs_length(r)) {
        for (; f && f->frec == deflate_rec; f = inflate_find_deflate(r)) {
            ap_remove_input_filter(f);
        }
        return OK;
    }
    if (f) {
        f->ctx = f->frec == deflate_rec ? inflate_begin(r, false) : f->ctx;
        status = f->frec == deflate_rec && f->ctx ? inflate_read_early(f) : OK;
    } else if (el_dir_of(r)->values.value[EL_DIR_INFLATE]) {
        const char *rest;
        size_t count = el_inflate_codings(r->pool, list, EL_INFLATE_LAYERS, codings, &rest);

        if (rest) {
            return inflate_unsupported(r);
        }
        if (count > 0) {
            in_t *in = inflate_open_in(r, codings, count, NULL);

            f = ap_add_input_filter_handle(inflate_rec, in, r, r->connection);
            status = inflate_read_early(f);
        }
    }
    return status;
}

int el_input_prepare(request_rec *r)
{
    bool early = atomic_load_explicit(&el_settings_inflate, memory_order_relaxed);
    const char *list =
        early || deflate_rec ? apr_table_get(r->headers_in, "Content-Encoding") : NULL;

    /* Nearly every request has none of them. Who has read early has changed the header. */
    return list || r->prev || (early && inflate_find_early(r)) ? inflate_prepare(r, list) : OK;
}

int el_input_begin(request_rec *r)
{
    el_coding_t codings[EL_INFLATE_LAYERS];
    const char *list, *rest;

    if (!atomic_load_explicit(&el_settings_inflate, memory_order_relaxed)
        || !(list = apr_table_get(r->headers_in, "Content-Encoding")) || r->main || r->prev
        || !el_dir_of(r)->values.value[EL_DIR_INFLATE] || !ap_request_has_body(r)
        || inflate_needs_length(r)) {
        return DECLINED;
    }
    if (el_inflate_codings(r->pool, list, EL_INFLATE_LAYERS, codings, &rest) > 0 && !rest) {
        ap_add_input_filter_handle(inflate_rec, &waiting, r, r->connection);
    }
    return DECLINED;
}

void el_input_register(void)
{
    deflate_rec = NULL;
    inflate_rec = ap_register_input_filter(EL_FILTER_REQUEST_INFLATE, inflate_filter_in, NULL,
                                           AP_FTYPE_CONTENT_SET);
}

/* ---- responses ------------------------------------------------------------------------------- */

/* Decoded bytes between two calls of el_stream_pass(), as in encoder.c. */
#define PASS_SIZE (32 * 1024)

typedef struct {
    el_stream_t stream;
    el_inflate_t inflate;
    bool head;     /* HEAD: a body, if any, is dropped */
    bool trailing; /* bytes after the body's end were logged */
} out_t;

static apr_status_t inflate_fail_out(ap_filter_t *f, out_t *out, el_inflated_t why)
{
    out->stream.error = apr_pstrcat(f->r->pool, "the body cannot be decoded: ",
                                    el_inflate_text(why), NULL);
    return APR_EGENERAL;
}

static apr_status_t inflate_out_data(ap_filter_t *f, void *owner, const char *data, apr_size_t len)
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
            return inflate_fail_out(f, out, inflated);
        }
        if (inflated == EL_INFLATE_FULL) {
            rv = el_stream_pass(f, &out->stream);
        }
    } while (rv == APR_SUCCESS && inflated == EL_INFLATE_FULL);
    return rv;
}

static apr_status_t inflate_out_end(ap_filter_t *f, void *owner)
{
    out_t *out = owner;
    el_inflated_t inflated = el_inflate_finish(&out->inflate);

    if (inflated != EL_INFLATE_ENDED && !out->stream.failed) {
        return inflate_fail_out(f, out, inflated);
    }
    el_inflate_close(&out->inflate, f->r->pool);
    return APR_SUCCESS;
}

static void inflate_out_abandon(ap_filter_t *f, void *owner)
{
    out_t *out = owner;

    el_inflate_close(&out->inflate, f->r->pool);
}

static out_t *inflate_open_out(request_rec *r, el_coding_t coding)
{
    static const el_stream_ops_t ops = {inflate_out_data, NULL, inflate_out_end,
                                          inflate_out_abandon};
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    el_limits_t limits = el_limits_of(r);
    out_t *out = apr_pcalloc(r->pool, sizeof(*out));

    /* The server chooses the size of its responses, but an extreme ratio is never intended. */
    limits.size = 0;
    limits.is_request = false;
    out->head = r->header_only;
    if (!out->head && !el_inflate_open(&out->inflate, &coding, 1, &limits, r)) {
        ap_log_rerror(APLOG_MARK, el_budget_take_refusal() ? APLOG_INFO : APLOG_ERR, APR_ENOMEM, r,
                      "elastic: the response to %s is sent encoded: decoding it takes more memory "
                      "than there is, or than ElasticMaxMemory allows", r->uri);
        return NULL;
    }
    out->stream.ops = &ops;
    out->stream.owner = out;
    out->stream.made = &out->inflate.out;
    out->stream.out = apr_brigade_create(r->pool, alloc);
    out->stream.error_status = r->proxyreq ? HTTP_BAD_GATEWAY : HTTP_INTERNAL_SERVER_ERROR;
    return out;
}

/* Takes the response if its outermost coding can be decoded and it is complete; else NULL. */
static out_t *inflate_take_response(request_rec *r)
{
    const char *rest, *tag, *list, *decoded = NULL;
    el_response_t *response;
    el_coding_t coding;
    bool named;
    out_t *out;

    if (!ap_is_initial_req(r)) {
        return NULL;
    }
    response = el_response_of(r);
    named = r->status == HTTP_NOT_MODIFIED && el_not_modified_named(response);
    list = el_fields_encoding(r);
    if (r->status == HTTP_NO_CONTENT || r->status == HTTP_PARTIAL_CONTENT
        || el_field(r, "Content-Range") || !list
        || el_inflate_codings(r->pool, list, 1, &coding, &rest) == 0) {
        return NULL;
    }
    tag = el_field(r, "ETag");
    if (tag) {
        const el_stock_t *stock = el_stock_of(r->server, EL_RECORD_DEFLATE);
        el_etag_mode_t mode = (el_etag_mode_t)stock->values.value[EL_STOCK_ETAG];
        size_t size = strlen(tag) + EL_ETAG_GROWTH;
        char *text = apr_palloc(r->pool, size);

        decoded = el_etag_decode(tag, mode, text, size) ? text : NULL;
    }
    named = named || (decoded && el_not_modified_now(response, decoded));
    if (r->status == HTTP_NOT_MODIFIED) {
        /* Later compressors judge the 304 by the header of the 200. */
        el_fields_set_encoding(r, rest);
        if (!named) {
            el_fields_set_etag(r, decoded);
        }
        return NULL;
    }
    out = inflate_open_out(r, coding);
    if (out) {
        el_fields_set_encoding(r, rest);
        el_fields_unset_lengths(r->headers_out);
        el_fields_unset_lengths(r->err_headers_out);
        el_fields_set_etag(r, decoded);
    }
    return out;
}

static apr_status_t inflate_filter_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    out_t *out = f->ctx;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!out) {
        out = f->ctx = inflate_take_response(f->r);
        if (!out) {
            return el_body_leave(f, bb);
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

void el_inflate_register_deflate(void)
{
    deflate_rec =
        ap_register_input_filter(EL_FILTER_DEFLATE, inflate_filter_in, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter(EL_FILTER_INFLATE, inflate_filter_out, NULL, AP_FTYPE_RESOURCE - 1);
}
