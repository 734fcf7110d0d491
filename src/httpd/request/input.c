#include "httpd/request/request.h"

#include "httpd/body/body.h"
#include "httpd/config/config.h"
#include "httpd/config/dropin.h"
#include "httpd/config/glue.h"
#include "httpd/request/decode.h"
#include "httpd/response/fields.h"

#include "engines/engines.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

EL_USE_LOG;

/* How much encoded body is asked for at once: what fits into one of httpd's own buckets. */
#define READ_SIZE APR_BUCKET_BUFF_SIZE

/*
 * So much of a decoded body waits in memory, and so much in a file, for its handler to be told the
 * length: nginx begins a file at 16 KB, and PHP takes no more than 8 MB unless it is told to.
 */
#define HELD_IN_MEMORY ((apr_off_t)64 * 1024)
#define HELD_MOST ((uint64_t)8 << 20)

typedef struct {
    el_inflate_t inflate;
    const char *rest; /* Content-Encoding of what the handler reads, or NULL */
    bool edited;
    bool eos_seen;
    apr_status_t failed;         /* what every further read gets */
    apr_bucket_brigade *encoded; /* read and not decoded yet */
    apr_bucket_brigade *ready;   /* decoded and not handed out yet */
    apr_file_t *file;            /* what was decoded before that, or NULL */
    apr_off_t stored;            /* bytes in it */
} in_t;

static ap_filter_rec_t *inflate_rec;
static ap_filter_rec_t *deflate_rec; /* NULL where DEFLATE is not ours */

/* The URL that mod_proxy sends the request to; "" where it does not. */
static const char *target_of(const request_rec *r)
{
    const char *name = r->proxyreq ? r->filename : r->handler, *origin;

    if (!name || strncmp(name, "proxy:", strlen("proxy:")) != 0) {
        return "";
    }
    name += strlen("proxy:");
    /* mod_proxy writes the path of a socket before the URL. */
    origin = strncasecmp(name, "unix:", strlen("unix:")) == 0 ? strchr(name, '|') : NULL;
    return origin ? origin + 1 : name;
}

/* By the scheme alone: clients choose what comes behind the origin's own part of the URL. */
static bool is_sent_by(const request_rec *r, const char *scheme)
{
    return strncasecmp(target_of(r), scheme, strlen(scheme)) == 0;
}

/*
 * Whether the body has to go as it came: SCGI and uWSGI have none without a length, which is not
 * known before all of it is decoded, and their handlers refuse chunks.
 */
static bool needs_length(const request_rec *r)
{
    return is_sent_by(r, "scgi:") || is_sent_by(r, "uwsgi:");
}

/*
 * Has a handler of mod_proxy find out the decoded body's length: where the client told the encoded
 * one's (`had_length`), for origins that know no chunks; and always for FastCGI, which a balancer
 * may lead to, and whose programs take a body without a length for an empty one.
 */
static void want_length(request_rec *r, bool had_length)
{
    if (*target_of(r) && (had_length || is_sent_by(r, "fcgi:") || is_sent_by(r, "balancer:"))
        && !apr_table_get(r->subprocess_env, "proxy-sendchunks")
        && !apr_table_get(r->subprocess_env, "proxy-sendchunked")) {
        apr_table_setn(r->subprocess_env, "proxy-sendcl", "1");
    }
}

/* Whether it reads all of the body before it sends any, which then lies on the disk. */
static bool is_spooled(const request_rec *r)
{
    return *target_of(r)
           && (apr_table_get(r->subprocess_env, "proxy-sendcl")
               || apr_table_get(r->subprocess_env, "force-proxy-request-1.0"));
}

/* RFC 9110 §15.5.16: the answer says which codings would do (§12.5.3). */
static int unsupported(request_rec *r)
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

/*
 * Ends the response, which has begun. Only the status of a broken backend makes httpd leave out the
 * last chunk, without which nobody takes it for whole.
 */
static void break_off(request_rec *r)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);

    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(r->output_filters, bb);
}

/* What a body that ends for that reason is answered. */
static int status_of(request_rec *r, el_inflated_t why)
{
    switch (why) {
    case EL_INFLATE_UNSUPPORTED:
        return unsupported(r);
    case EL_INFLATE_NO_MEMORY:
        return HTTP_SERVICE_UNAVAILABLE;
    case EL_INFLATE_SIZE_LIMIT:
    case EL_INFLATE_RATIO_LIMIT:
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    default:
        return HTTP_BAD_REQUEST;
    }
}

/* Gives the body up: every further read gets `rv`. */
static void give_up(request_rec *r, in_t *in, el_inflated_t why, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "elastic: the request body is refused: %s (so far %" APR_UINT64_T_FMT
                  " bytes encoded, %" APR_UINT64_T_FMT " decoded)",
                  el_inflate_text(why), in->inflate.in, in->inflate.out);
    /* What is left of the body must not be taken for the next request. */
    r->connection->keepalive = AP_CONN_CLOSE;
    in->failed = rv;
    apr_brigade_cleanup(in->encoded);
    apr_brigade_cleanup(in->ready);
    el_inflate_close(&in->inflate, r->pool);
}

/*
 * Ends the body in error, for this read and all that follow. Handlers make a 413 of APR_ENOSPC, and
 * a 400 of anything unknown; other answers than these are given here.
 */
static apr_status_t fail(ap_filter_t *f, in_t *in, el_inflated_t why)
{
    request_rec *r = f->r;
    int status = status_of(r, why);
    apr_status_t rv = AP_FILTER_ERROR;

    if (!r->sent_bodyct && status == HTTP_REQUEST_ENTITY_TOO_LARGE) {
        rv = APR_ENOSPC;
    } else if (!r->sent_bodyct && status == HTTP_BAD_REQUEST) {
        rv = APR_EGENERAL;
    }
    give_up(r, in, why, rv);
    if (r->sent_bodyct) {
        break_off(r);
    } else if (rv == AP_FILTER_ERROR) {
        /* An error bucket would lose what err_headers_out has. */
        ap_die(status, r);
    }
    return rv;
}

static in_t *make_in(request_rec *r)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    in_t *in = apr_pcalloc(r->pool, sizeof(*in));

    in->encoded = apr_brigade_create(r->pool, alloc);
    in->ready = apr_brigade_create(r->pool, alloc);
    return in;
}

static in_t *open_in(request_rec *r, const el_coding_t *codings, size_t count, const char *rest)
{
    el_limits_t limits = el_limits_of(r);
    in_t *in = make_in(r);

    in->rest = rest;
    if (!el_inflate_open(&in->inflate, codings, count, &limits, r)) {
        in->inflate.last = EL_INFLATE_NO_MEMORY;
    }
    return in;
}

/*
 * Makes the request's header that of the decoded body: in chunks, because a handler that found
 * neither them nor a length would take it for a request without a body.
 */
static void edit_once(request_rec *r, in_t *in)
{
    apr_table_t *fields = r->headers_in;

    if (in->edited) {
        return;
    }
    in->edited = true;
    want_length(r, apr_table_get(fields, "Content-Length") != NULL);
    if (is_spooled(r)) {
        el_limits_spool(&in->inflate.limits, r);
    }
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

/*
 * Reads encoded body. httpd's own filter reads Content-Length when it is called first: only then
 * may the header change.
 */
static apr_status_t fetch(ap_filter_t *f, in_t *in, apr_read_type_e block)
{
    apr_status_t rv = ap_get_brigade(f->next, in->encoded, AP_MODE_READBYTES, block, READ_SIZE);

    edit_once(f->r, in);
    return rv;
}

static apr_status_t put(ap_filter_t *f, in_t *in, const char **data, apr_size_t *len,
                        apr_off_t room)
{
    el_inflated_t inflated = el_inflate_put(&in->inflate, data, len, (uint64_t)room, in->ready);

    return inflated < EL_INFLATE_DAMAGED ? APR_SUCCESS : fail(f, in, inflated);
}

/* Decodes the data of `bucket`, and takes away what was decoded. */
static apr_status_t put_bucket(ap_filter_t *f, in_t *in, apr_bucket *bucket, apr_read_type_e block,
                               apr_off_t room)
{
    const char *data;
    apr_size_t len, left;
    apr_status_t rv = apr_bucket_read(bucket, &data, &len, block);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    left = len;
    rv = put(f, in, &data, &left, room);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (left > 0 && apr_bucket_split(bucket, len - left) != APR_SUCCESS) {
        return fail(f, in, EL_INFLATE_NO_MEMORY);
    }
    apr_bucket_delete(bucket);
    return APR_SUCCESS;
}

/* The next step of decoding: of held back output, a bucket's data, or what is no data. */
static apr_status_t advance(ap_filter_t *f, in_t *in, apr_read_type_e block, apr_off_t room)
{
    bool empty = APR_BRIGADE_EMPTY(in->encoded);
    apr_bucket *bucket = APR_BRIGADE_FIRST(in->encoded);

    if (!empty && !APR_BUCKET_IS_METADATA(bucket)) {
        return put_bucket(f, in, bucket, block, room);
    }
    if (in->inflate.last == EL_INFLATE_FULL) {
        const char *nothing = "";
        apr_size_t len = 0;

        return put(f, in, &nothing, &len, room);
    }
    if (APR_BUCKET_IS_EOS(bucket)) {
        el_inflated_t inflated = el_inflate_finish(&in->inflate);

        if (inflated != EL_INFLATE_ENDED) {
            return fail(f, in, inflated);
        }
        in->eos_seen = true;
        el_inflate_close(&in->inflate, f->r->pool);
    }
    APR_BUCKET_REMOVE(bucket);
    APR_BRIGADE_INSERT_TAIL(in->ready, bucket);
    return APR_SUCCESS;
}

/* Makes something ready, and up to `wanted` bytes where they are at hand. */
static apr_status_t make_ready(ap_filter_t *f, in_t *in, apr_read_type_e block, apr_off_t wanted)
{
    apr_off_t have = 0;
    apr_status_t rv = apr_brigade_length(in->ready, 1, &have);

    while (rv == APR_SUCCESS && have < wanted && !in->eos_seen) {
        uint64_t before = in->inflate.out;

        if (APR_BRIGADE_EMPTY(in->encoded) && in->inflate.last != EL_INFLATE_FULL) {
            if (!APR_BRIGADE_EMPTY(in->ready)) {
                break;
            }
            rv = fetch(f, in, block);
            if (rv != APR_SUCCESS || APR_BRIGADE_EMPTY(in->encoded)) {
                break;
            }
        }
        rv = advance(f, in, block, wanted - have);
        have += (apr_off_t)(in->inflate.out - before);
    }
    return rv;
}

/*
 * What is kept for the next call must not go away when the filter below is called again; false
 * where there is no memory for that. Filters below give about as much as was asked for; what one of
 * them gives beyond that is not copied.
 */
static bool keep(request_rec *r, apr_bucket_brigade *bb)
{
    apr_status_t rv = el_body_set_aside(bb, r->pool, 2 * READ_SIZE);

    return rv == APR_SUCCESS || rv == APR_INCOMPLETE;
}

/* False where there is no memory to split or copy a bucket. */
static bool hand_out(in_t *in, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_off_t readbytes)
{
    apr_bucket *end, *e, *next;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(in->ready) && in->eos_seen) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
        return true;
    }
    /* All lengths are known; there may be less. */
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

/* DEFLATE's first call: NULL where nothing is to be decoded. */
static in_t *begin(request_rec *r)
{
    const char *list = apr_table_get(r->headers_in, "Content-Encoding");
    el_coding_t codings[EL_INFLATE_LAYERS];
    const char *rest;
    size_t count;

    if (!list || !ap_is_initial_req(r)) {
        return NULL;
    }
    count = el_inflate_codings(r->pool, list, EL_INFLATE_LAYERS, codings, &rest);
    return count > 0 ? open_in(r, codings, count, rest) : NULL;
}

static bool is_ours(const ap_filter_t *f)
{
    return f->frec == inflate_rec || f->frec == deflate_rec;
}

/* Where DEFLATE is named twice, the first, which reads from the others, undoes all codings. */
static bool is_decoded_behind(const ap_filter_t *f)
{
    const ap_filter_t *reader = f->r->input_filters;

    while (reader && reader != f && !(is_ours(reader) && reader->ctx)) {
        reader = reader->next;
    }
    return reader && reader != f;
}

static apr_status_t filter_in(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t readbytes)
{
    in_t *in = f->ctx;
    apr_status_t rv;

    /* Lines and the like are read from connections, not from bodies. */
    if (mode != AP_MODE_READBYTES && mode != AP_MODE_SPECULATIVE) {
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    if (!in) {
        in = f->ctx = is_decoded_behind(f) ? NULL : begin(f->r);
        if (!in) {
            ap_remove_input_filter(f);
            return ap_get_brigade(f->next, bb, mode, block, readbytes);
        }
    }
    if (in->failed != APR_SUCCESS) {
        return in->failed;
    }
    if (in->inflate.last == EL_INFLATE_NO_MEMORY) {
        return fail(f, in, EL_INFLATE_NO_MEMORY);
    }
    rv = make_ready(f, in, block, readbytes);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!keep(f->r, in->encoded) || !hand_out(in, bb, mode, readbytes)) {
        return fail(f, in, EL_INFLATE_NO_MEMORY);
    }
    return APR_SUCCESS;
}

/*
 * An internal redirect starts with the filters of the protocol alone, though part of the body may
 * be here already. An error page's handler finds a body that has ended.
 */
static bool inherit(request_rec *r)
{
    for (ap_filter_t *f = r->prev ? r->prev->input_filters : NULL; f; f = f->next) {
        in_t *in = f->ctx;

        if (in && is_ours(f)) {
            if (in->failed != APR_SUCCESS) {
                edit_once(r, in);
                in = make_in(r);
                in->eos_seen = true;
            }
            ap_add_input_filter_handle(inflate_rec, in, r, r->connection);
            return true;
        }
    }
    return false;
}

/* The input filter DEFLATE in the request's chain, ours or mod_deflate's; or NULL. */
static ap_filter_t *find_deflate(const request_rec *r)
{
    ap_filter_t *f = r->input_filters;

    while (f && strcasecmp(f->frec->name, EL_FILTER_DEFLATE) != 0) {
        f = f->next;
    }
    return f;
}

/*
 * Whether the handler is to be told the decoded body's length: where the client told the encoded
 * one's, for many programs read no body without it, and some modules refuse chunks (RFC 9110
 * §15.5.12). Most of mod_proxy's handlers find it out by themselves, see want_length().
 */
static bool wants_length(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Content-Length")
           && !apr_table_get(r->headers_in, "Transfer-Encoding")
           && (!*target_of(r) || is_sent_by(r, "ajp:") || is_sent_by(r, "balancer:"));
}

/* A file without a name, which ends with the request. */
static bool open_file(request_rec *r, in_t *in)
{
    const char *folder;
    char *name;

    if (in->file) {
        return true;
    }
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
    return true;
}

/* Moves what is ready to the file. False where that fails: the rest stays in memory. */
static bool store(request_rec *r, in_t *in)
{
    bool stored = open_file(r, in);

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

/* What was stored comes before what was not. */
static void put_back(request_rec *r, in_t *in)
{
    apr_bucket *bucket;

    if (in->stored > 0) {
        bucket = apr_bucket_file_create(in->file, 0, (apr_size_t)in->stored, r->pool,
                                        r->connection->bucket_alloc);
        APR_BRIGADE_INSERT_HEAD(in->ready, bucket);
    }
}

/* The next piece of the body, decoded. */
static apr_status_t decode_piece(ap_filter_t *f, in_t *in)
{
    if (APR_BRIGADE_EMPTY(in->encoded) && in->inflate.last != EL_INFLATE_FULL) {
        apr_status_t rv = fetch(f, in, APR_BLOCK_READ);

        if (rv != APR_SUCCESS || APR_BRIGADE_EMPTY(in->encoded)) {
            return rv != APR_SUCCESS ? rv : APR_EGENERAL;
        }
    }
    return make_ready(f, in, APR_BLOCK_READ, HELD_IN_MEMORY);
}

/*
 * Decodes the body, all of it where so much may be held: the header has its length then. Otherwise
 * the handler reads the rest, in chunks.
 */
static apr_status_t decode_early(ap_filter_t *f, in_t *in)
{
    request_rec *r = f->r;
    apr_table_t *fields = r->headers_in;
    apr_off_t ready = 0;
    bool holds = true;
    apr_status_t rv;

    do {
        rv = decode_piece(f, in);
        if (rv == APR_SUCCESS) {
            rv = apr_brigade_length(in->ready, 1, &ready);
        }
        if (rv == APR_SUCCESS && !in->eos_seen) {
            holds = in->inflate.out <= HELD_MOST && (ready < HELD_IN_MEMORY || store(r, in));
        }
    } while (rv == APR_SUCCESS && holds && !in->eos_seen);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    put_back(r, in);
    if (in->eos_seen) {
        apr_table_unset(fields, "Transfer-Encoding");
        apr_table_setn(fields, "Content-Length",
                       apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, in->inflate.out));
    }
    return APR_SUCCESS;
}

/*
 * Reads the body's first bytes, whatever there is of them, or all of it, so that the header can be
 * edited before a handler sees it: neither a CGI script nor an origin must be told the encoded
 * body's length and coding. OK, or the status that answers the request.
 */
static int read_early(ap_filter_t *f)
{
    in_t *in = f->ctx;
    apr_status_t rv = APR_SUCCESS;
    bool short_of_memory = in->inflate.last == EL_INFLATE_NO_MEMORY;

    if (!short_of_memory) {
        rv = wants_length(f->r) ? decode_early(f, in) : fetch(f, in, APR_NONBLOCK_READ);
        short_of_memory = in->failed == APR_SUCCESS && !keep(f->r, in->encoded);
    }
    if (short_of_memory) {
        give_up(f->r, in, EL_INFLATE_NO_MEMORY, AP_FILTER_ERROR);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    return rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv)
               ? OK
               : ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
}

/* OK, or the status of a body that cannot be decoded; `list` is its Content-Encoding or NULL. */
EL_RARE static int prepare(request_rec *r, const char *list)
{
    el_coding_t codings[EL_INFLATE_LAYERS];
    ap_filter_t *f = find_deflate(r);
    int status = OK;

    if (r->main || inherit(r) || (r->prev && r->prev->status != HTTP_OK) || !list
        || !ap_request_has_body(r)) {
        return OK;
    }
    if (needs_length(r)) {
        for (; f && f->frec == deflate_rec; f = find_deflate(r)) {
            ap_remove_input_filter(f);
        }
        return OK;
    }
    if (f) {
        f->ctx = f->frec == deflate_rec ? begin(r) : f->ctx;
        status = f->frec == deflate_rec && f->ctx ? read_early(f) : OK;
    } else if (el_dir_of(r)->values.value[EL_DIR_INFLATE]) {
        const char *rest;
        size_t count = el_inflate_codings(r->pool, list, EL_INFLATE_LAYERS, codings, &rest);

        if (rest) {
            return unsupported(r);
        }
        if (count > 0) {
            in_t *in = open_in(r, codings, count, NULL);

            status = read_early(ap_add_input_filter_handle(inflate_rec, in, r, r->connection));
        }
    }
    return status;
}

/* Whether anything of ours may decode a body. */
static bool may_decode(void)
{
    return deflate_rec || atomic_load_explicit(&el_settings_inflate, memory_order_relaxed);
}

int el_input_prepare(request_rec *r)
{
    const char *list = may_decode() ? apr_table_get(r->headers_in, "Content-Encoding") : NULL;

    /* Nearly every request has neither. */
    return list || r->prev ? prepare(r, list) : OK;
}

void el_input_register(void)
{
    deflate_rec = NULL;
    inflate_rec = ap_register_input_filter(EL_FILTER_REQUEST_INFLATE, filter_in, NULL,
                                           AP_FTYPE_CONTENT_SET);
}

void el_input_register_deflate(void)
{
    deflate_rec =
        ap_register_input_filter(EL_FILTER_DEFLATE, filter_in, NULL, AP_FTYPE_CONTENT_SET);
}
