/*
 * The output filters, given brigades of odd buckets: what comes out is the body in the coding that
 * the header names, all that went in before a FLUSH comes out before it, and what ends in error
 * does not look whole.
 *
 * The input begins with what is configured and asked for; an operation a byte follows.
 */
#include "server.h"

#include "elastic/engine.h"
#include "elastic/etag.h"
#include "engines/engines.h"
#include "fuzz.h"

#include "apr_strings.h"
#include "http_protocol.h"

#define BODY_MOST (1 << 19)

/* What is told of a FLUSH: how much of the body had gone in. */
#define FLUSHES_MOST 24

typedef struct {
    uint8_t sent[BODY_MOST]; /* what went in, and how much of it */
    size_t nbytes;
    size_t flush_at[FLUSHES_MOST];
    size_t flushes;
    uint8_t got[BODY_MOST * 2]; /* what came out */
    size_t got_nbytes;
    size_t flush_got[FLUSHES_MOST];
    size_t flushes_got;
    bool eos, error, too_much;
} run_t;

typedef struct {
    const uint8_t *data;
    size_t size;
} input_t;

static unsigned take(input_t *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

static apr_status_t sink(ap_filter_t *f, apr_bucket_brigade *bb)
{
    run_t *run = f->ctx;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        if (APR_BUCKET_IS_EOS(e)) {
            MUST(!run->eos);
            run->eos = true;
        } else if (APR_BUCKET_IS_FLUSH(e)) {
            if (run->flushes_got < FLUSHES_MOST) {
                run->flush_got[run->flushes_got++] = run->got_nbytes;
            }
        } else if (AP_BUCKET_IS_ERROR(e)) {
            run->error = true;
        } else if (!APR_BUCKET_IS_METADATA(e)) {
            MUST(!run->eos);
            if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS) {
                run->error = true;
                return APR_EGENERAL;
            }
            MUST(run->got_nbytes + len <= sizeof(run->got));
            memcpy(run->got + run->got_nbytes, data, len);
            run->got_nbytes += len;
        }
    }
    apr_brigade_cleanup(bb);
    return APR_SUCCESS;
}

/* A bucket of unknown length, as a pipe's: it is not there yet some times, then has all or fails. */
typedef struct {
    apr_bucket_refcount count;
    char *data;
    size_t nbytes;
    unsigned late;
    bool fails;
} pipe_t;

static void destroy_pipe(void *data)
{
    if (apr_bucket_shared_destroy(data)) {
        apr_bucket_free(data);
    }
}

static apr_status_t read_pipe(apr_bucket *e, const char **data, apr_size_t *len,
                              apr_read_type_e block)
{
    pipe_t *pipe = e->data;

    if (block == APR_NONBLOCK_READ && pipe->late > 0) {
        pipe->late--;
        return APR_EAGAIN;
    }
    if (pipe->fails) {
        return APR_EGENERAL;
    }
    /* As httpd's own: what was read becomes a heap bucket. */
    *len = pipe->nbytes;
    e = apr_bucket_heap_make(e, pipe->data, pipe->nbytes, NULL);
    *data = ((apr_bucket_heap *)e->data)->base;
    destroy_pipe(pipe);
    return APR_SUCCESS;
}

static const apr_bucket_type_t pipe_type = {
    "PIPE?", 5, APR_BUCKET_DATA, destroy_pipe, read_pipe, apr_bucket_setaside_noop,
    apr_bucket_split_notimpl, apr_bucket_copy_notimpl,
};

static apr_bucket *make_pipe(server_request_t *request, const char *data, size_t nbytes,
                             unsigned how)
{
    apr_bucket *e = apr_bucket_alloc(sizeof(*e), request->alloc);
    pipe_t *pipe = apr_bucket_alloc(sizeof(*pipe), request->alloc);

    APR_BUCKET_INIT(e);
    e->free = apr_bucket_free;
    e->list = request->alloc;
    pipe->data = apr_pmemdup(request->r->pool, data, nbytes + 1);
    pipe->nbytes = nbytes;
    pipe->late = how & 3;
    pipe->fails = (how & 0xfc) == 0xfc;
    e = apr_bucket_shared_make(e, pipe, 0, (apr_size_t)-1);
    e->length = (apr_size_t)-1;
    e->type = &pipe_type;
    return e;
}

/* Sets what the first bytes say, and puts the filters in. */
static const char *prepare(server_request_t *request, input_t *input, run_t *run)
{
    static const char *const filters[] = {"ELASTIC", "DEFLATE", "BROTLI_COMPRESS", "ELASTIC"};
    static const char *const accepts[] = {"gzip", "br", "gzip, br", "*", "identity;q=0, gzip",
                                          "gzip;q=0.5, zstd", "", "identity"};
    static const int64_t wholes[] = {0, 1000, 40000, 1 << 20};
    static const int64_t least[] = {0, 69, 1000, 20000};
    request_rec *r = request->r;
    unsigned how = take(input), more = take(input), level = take(input);
    const char *filter = filters[how & 3];

    el_value_set(&request->dir->values, EL_DIR_WHOLE_BODY, wholes[how >> 2 & 3]);
    el_value_set(&request->dir->values, EL_DIR_MIN_SIZE, least[how >> 4 & 3]);
    el_value_set(&request->dir->values, EL_DIR_ENABLED, true);
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        request->dir->range_set[coding] = true;
        request->dir->range[coding] =
            el_range_built_in((el_coding_t)coding, el_range_of((int)level % 7 + 1,
                                                              (int)level % 7 + 1));
    }
    apr_table_setn(r->headers_in, "Accept-Encoding", accepts[more & 7]);
    if (how & 64) {
        apr_table_setn(r->headers_out, "ETag", "\"tag\"");
    }
    r->header_only = (more & 0xf8) == 0xf8;
    server_set_sink(r, sink, run);
    server_add_output(r, filter);
    return filter;
}

/* The next `nbytes` of the body: some that repeat, and some that do not. */
static const char *more_body(run_t *run, size_t nbytes, unsigned seed)
{
    uint8_t *at = run->sent + run->nbytes;
    uint32_t noise = seed * 2654435761u + (uint32_t)run->nbytes;

    for (size_t i = 0; i < nbytes; i++) {
        noise = noise * 1664525 + 1013904223;
        at[i] = seed & 1 ? (uint8_t)(noise >> 24) : (uint8_t)("words and words "[(noise >> 28)]);
    }
    run->nbytes += nbytes;
    return (const char *)at;
}

/* A bucket of data; `kind` says of which type. */
static apr_bucket *make_data(server_request_t *request, run_t *run, unsigned kind, input_t *input)
{
    static const size_t sizes[] = {0, 1, 7, 100, 1448, 8000, 8192, 20000};
    unsigned how = take(input);
    size_t nbytes = sizes[how & 7];
    const char *data;

    if (run->nbytes + nbytes > sizeof(run->sent)) {
        nbytes = 0;
    }
    data = more_body(run, nbytes, how >> 3);
    switch (kind) {
    case 0:
        return apr_bucket_heap_create(data, nbytes, NULL, request->alloc);
    case 1:
        return apr_bucket_transient_create(data, nbytes, request->alloc);
    case 2:
        return apr_bucket_immortal_create(data, nbytes, request->alloc);
    case 3:
        return apr_bucket_pool_create(apr_pmemdup(request->r->pool, data, nbytes + 1), nbytes,
                                      request->r->pool, request->alloc);
    default:
        return make_pipe(request, data, nbytes, take(input));
    }
}

static void note_flush(run_t *run)
{
    if (run->flushes < FLUSHES_MOST) {
        run->flush_at[run->flushes++] = run->nbytes;
    }
}

/* One brigade, up to where the input says that it ends. False where EOS was in it. */
static bool fill(server_request_t *request, run_t *run, input_t *input, apr_bucket_brigade *bb)
{
    while (input->size > 0) {
        unsigned op = take(input);

        switch (op & 15) {
        case 8:
            note_flush(run);
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(request->alloc));
            break;
        case 9:
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(request->alloc));
            return false;
        case 10:
            if ((op & 0xf0) == 0xf0) {
                APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL,
                                                                   request->r->pool,
                                                                   request->alloc));
            }
            break;
        case 11:
        case 12:
            return true;
        default:
            APR_BRIGADE_INSERT_TAIL(bb, make_data(request, run, (op >> 4) % 5, input));
        }
    }
    return true;
}

/* Decodes `nbytes` of what came; what it decodes to must be the beginning of what went in. */
static size_t decode(run_t *run, el_coding_t coding, size_t nbytes, bool whole)
{
    static uint8_t back[BODY_MOST + 1];
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    el_span_t span = {run->got, nbytes, back, sizeof(back)};
    el_decode_t result = decoder->step(decoding, &span);
    size_t made = sizeof(back) - span.out_nbytes_avail;

    MUST(made <= run->nbytes && memcmp(back, run->sent, made) == 0);
    MUST(!whole || (result == EL_DECODE_ENDED && span.in_nbytes == 0 && made == run->nbytes));
    decoder->close(decoding);
    return made;
}

/*
 * Of the flushes that came out, as many as went in have all that had gone in before them. The
 * filter makes some of its own, before it waits; and a body that is encoded whole needs none.
 */
static void check_flushes(run_t *run, el_coding_t coding)
{
    size_t decoded[FLUSHES_MOST];

    for (size_t i = 0; i < run->flushes_got; i++) {
        decoded[i] = decode(run, coding, run->flush_got[i], false);
    }
    for (size_t i = 0; i < run->flushes; i++) {
        size_t late = 0;

        for (size_t k = 0; k < run->flushes_got; k++) {
            late += decoded[k] >= run->flush_at[i];
        }
        MUST(late >= run->flushes - i);
    }
}

static void check(const server_request_t *request, run_t *run)
{
    request_rec *r = request->r;
    const char *field = apr_table_get(r->headers_out, "Content-Encoding");
    const char *length = apr_table_get(r->headers_out, "Content-Length");
    el_coding_t coding = field ? el_coding_find(field, strlen(field)) : EL_IDENTITY;
    bool whole = run->eos && !run->error;

    if (r->header_only) {
        MUST(run->got_nbytes == 0 || coding == EL_IDENTITY);
        return;
    }
    MUST(!whole || !length || strtoull(length, NULL, 10) == run->got_nbytes);
    MUST(!field || apr_table_get(r->headers_out, "Vary"));
    if (coding == EL_IDENTITY) {
        MUST(!field && run->got_nbytes <= run->nbytes);
        MUST(memcmp(run->got, run->sent, run->got_nbytes) == 0);
        MUST(!whole || run->got_nbytes == run->nbytes);
        return;
    }
    decode(run, coding, run->got_nbytes, whole);
    if (whole && run->flushes_got >= run->flushes && run->flushes_got < FLUSHES_MOST) {
        check_flushes(run, coding);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static run_t run;
    static bool started;
    input_t input = {data, size};
    server_request_t request;
    bool goes_on = true;

    if (!started) {
        started = true;
        server_start();
    }
    run.nbytes = run.flushes = run.got_nbytes = run.flushes_got = 0;
    run.eos = run.error = false;
    request = server_begin();
    prepare(&request, &input, &run);
    while (goes_on && input.size > 0) {
        apr_bucket_brigade *bb = apr_brigade_create(request.r->pool, request.alloc);

        goes_on = fill(&request, &run, &input, bb);
        if (ap_pass_brigade(request.r->output_filters, bb) != APR_SUCCESS) {
            run.error = true;
            break;
        }
    }
    check(&request, &run);
    server_end(&request);
    return 0;
}
