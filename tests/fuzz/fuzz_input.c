/*
 * The decoder of request bodies, given any bytes in odd pieces and read in odd amounts: a body that
 * it takes for whole is what the decoders make of the bytes at once, no read goes beyond the
 * limits, and a length that the handler is told is the body's.
 */
#include "server.h"

#include "elastic/engine.h"
#include "engines/engines.h"
#include "fuzz.h"

#include "apr_strings.h"
#include "http_protocol.h"

#define READS_MOST 4096
#define MOST (1 << 18)

typedef struct {
    const uint8_t *data;
    size_t size;
    unsigned piece; /* the most that one read of the network gives */
    unsigned late;  /* one in so many reads has nothing yet */
    unsigned reads;
} source_t;

static apr_status_t source(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                           apr_read_type_e block, apr_off_t wanted)
{
    source_t *from = f->ctx;
    size_t nbytes = from->piece < from->size ? from->piece : from->size;

    if (block == APR_NONBLOCK_READ && from->late > 0 && ++from->reads % from->late == 0) {
        return APR_EAGAIN;
    }
    if ((apr_off_t)nbytes > wanted) {
        nbytes = (size_t)wanted;
    }
    if (nbytes > 0) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create((const char *)from->data, nbytes,
                                                                bb->bucket_alloc));
        from->data += nbytes;
        from->size -= nbytes;
    }
    if (from->size == 0) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    }
    return APR_SUCCESS;
}

/* An error bucket goes here. */
static apr_status_t sink(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return apr_brigade_cleanup(bb);
}

typedef struct {
    uint8_t body[MOST];
    size_t nbytes;
    bool eos;
} run_t;

static void take(run_t *run, apr_bucket_brigade *bb, apr_off_t wanted)
{
    apr_off_t got = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        MUST(!run->eos);
        if (APR_BUCKET_IS_EOS(e)) {
            run->eos = true;
        } else if (!APR_BUCKET_IS_METADATA(e)) {
            MUST(apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS);
            got += (apr_off_t)len;
            MUST(run->nbytes + len <= sizeof(run->body));
            memcpy(run->body + run->nbytes, data, len);
            run->nbytes += len;
        }
    }
    MUST(got <= wanted);
    apr_brigade_cleanup(bb);
}

/* What the decoder makes of the bytes at once, as far as it may go. */
static void compare(const run_t *run, el_coding_t coding, const uint8_t *data, size_t size)
{
    static uint8_t back[MOST + 1];
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    el_span_t span = {data, size, back, sizeof(back)};
    el_decode_t result = decoder->step(decoding, &span);
    size_t made = sizeof(back) - span.out_nbytes_avail;

    MUST(run->nbytes == made && memcmp(run->body, back, made) == 0);
    MUST(result == EL_DECODE_ENDED);
    decoder->close(decoding);
}

/* One read of the body. */
static apr_status_t fetch(run_t *run, server_request_t *request, unsigned how, unsigned turn)
{
    static const apr_off_t amounts[] = {1, 7, 8000, 100000};
    apr_bucket_brigade *bb = apr_brigade_create(request->r->pool, request->alloc);
    apr_off_t wanted = amounts[(how >> 3 ^ turn) & 3];
    apr_status_t rv = ap_get_brigade(request->r->input_filters, bb, AP_MODE_READBYTES,
                                     how & 32 ? APR_NONBLOCK_READ : APR_BLOCK_READ, wanted);

    if (rv == APR_SUCCESS) {
        take(run, bb, wanted);
    }
    return APR_STATUS_IS_EAGAIN(rv) ? APR_SUCCESS : rv;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const lists[] = {"gzip", "br", "zstd", "br, gzip"};
    static run_t run;
    static bool started;
    server_request_t request;
    source_t from;
    const char *length;
    unsigned how;
    apr_status_t rv = APR_SUCCESS;

    if (size < 3) {
        return 0;
    }
    how = data[0];
    from = (source_t){data + 2, size - 2, 1 + (data[1] & 63u) * 20, data[1] >> 6, 0};
    if (!started) {
        started = true;
        server_start();
    }
    run.nbytes = 0;
    run.eos = false;
    request = server_begin();
    request.r->status = HTTP_OK;
    el_value_set(&request.dir->values, EL_DIR_INFLATE, true);
    el_value_set(request.limits, EL_LIMIT_SIZE, how & 4 ? 1000 : MOST / 2);
    apr_table_setn(request.r->headers_in, "Content-Encoding", lists[how & 3]);
    if (how & 64) {
        apr_table_setn(request.r->headers_in, "Transfer-Encoding", "chunked");
    } else {
        apr_table_setn(request.r->headers_in, "Content-Length", "10");
    }
    server_set_source(request.r, source, &from);
    server_set_sink(request.r, sink, NULL);
    if (how & 128) { /* another module reads some of the body before the handler */
        server_begin_input(request.r);
        for (unsigned i = 0; i < how % 11 && rv == APR_SUCCESS && !run.eos; i++) {
            rv = fetch(&run, &request, how, i);
        }
        rv = APR_SUCCESS;
    }
    if (server_prepare_input(request.r) != OK) {
        server_end(&request);
        return 0;
    }
    length = apr_table_get(request.r->headers_in, "Content-Length");
    MUST(!length != !apr_table_get(request.r->headers_in, "Transfer-Encoding"));
    MUST(!length || !(how & 64) || run.eos);
    for (unsigned i = 0; i < READS_MOST && rv == APR_SUCCESS && !run.eos; i++) {
        rv = fetch(&run, &request, how, i);
    }
    MUST(run.nbytes <= (how & 4 ? 1001 : MOST / 2 + 1));
    /* What a handler is told is what it gets. */
    MUST(!length || (run.eos && apr_atoi64(length) == (apr_int64_t)run.nbytes));
    if (run.eos && rv == APR_SUCCESS && (how & 3) < 3) {
        compare(&run, el_coding_find(lists[how & 3], strlen(lists[how & 3])), data + 2, size - 2);
    }
    server_end(&request);
    return 0;
}
