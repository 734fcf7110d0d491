/*
 * The filters of mod_deflate and mod_brotli, in httpd's own filter chains, without a server.
 * Compiled once for each filter:
 *
 *   -DFUZZ_DEFLATE_IN   request bodies that say Content-Encoding: gzip
 *   -DFUZZ_INFLATE_OUT  responses that say it, which INFLATE decodes
 *   -DFUZZ_DEFLATE_OUT  responses that DEFLATE encodes
 *   -DFUZZ_BROTLI_OUT   responses that BROTLI_COMPRESS encodes
 *
 * What was encoded must decode to the body, at its end and as far as it got at each FLUSH. What is
 * decoded of a request must stay below LimitRequestBody.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apr_buckets.h"
#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"

#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "util_filter.h"

#include <zlib.h>

#define MODULES_MOST 64
#define LIMIT (1 << 20)  /* LimitRequestBody */
#define SLACK 16192      /* two buffers of mod_deflate */

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#ifdef FUZZ_BROTLI_OUT
#include <brotli/decode.h>
extern module AP_MODULE_DECLARE_DATA brotli_module;
#define TESTED brotli_module
#define FILTER "BROTLI_COMPRESS"
#define CODING "br"
#else
extern module AP_MODULE_DECLARE_DATA deflate_module;
#define TESTED deflate_module
#define CODING "gzip"
#ifdef FUZZ_INFLATE_OUT
#define FILTER "INFLATE"
#else
#define FILTER "DEFLATE"
#endif
#endif

static struct {
    apr_pool_t *pool;
    process_rec process;
    server_rec server;
    void *of_server[MODULES_MOST];
    void *of_place[MODULES_MOST];
} world;

typedef struct {
    const uint8_t *data; /* what is left of the input */
    size_t size;
    uint8_t *body;       /* of what was taken of it as a body */
    size_t body_nbytes;
    uint8_t *got;        /* what came out */
    size_t got_nbytes, got_room;
    int eos;
} run_t;

static void configure(module *m, int index)
{
    m->module_index = index;
    if (m->create_dir_config) {
        world.of_place[index] = m->create_dir_config(world.pool, NULL);
    }
    if (m->create_server_config && m != &core_module) {
        world.of_server[index] = m->create_server_config(world.pool, &world.server);
    }
}

static apr_status_t take_output(ap_filter_t *f, apr_bucket_brigade *bb);
static apr_status_t give_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t nbytes);

static void start(void)
{
    core_dir_config *place;

    apr_initialize();
    apr_pool_create(&world.pool, NULL);
    apr_hook_global_pool = world.pool;
    world.process.pool = world.process.pconf = world.pool;
    world.server.process = &world.process;
    world.server.server_hostname = "localhost";
    world.server.log.level = -1; /* nothing is logged */
    world.server.module_config = (ap_conf_vector_t *)world.of_server;
    world.server.lookup_defaults = (ap_conf_vector_t *)world.of_place;
    configure(&core_module, 0);
    configure(&TESTED, 1);
    place = world.of_place[0];
    place->limit_req_body = LIMIT;
    TESTED.register_hooks(world.pool);
    ap_register_output_filter("FUZZ_SINK", take_output, NULL, AP_FTYPE_NETWORK);
    ap_register_input_filter("FUZZ_SOURCE", give_input, NULL, AP_FTYPE_NETWORK);
}

static request_rec *begin(run_t *run)
{
    apr_pool_t *pool;
    request_rec *r;
    conn_rec *c;

    apr_pool_create(&pool, world.pool);
    r = apr_pcalloc(pool, sizeof(*r));
    c = r->connection = apr_pcalloc(pool, sizeof(*c));
    c->pool = r->pool = pool;
    c->bucket_alloc = apr_bucket_alloc_create(pool);
    c->base_server = r->server = &world.server;
    c->conn_config = apr_pcalloc(pool, sizeof(world.of_place));
    c->notes = apr_table_make(pool, 1);
    r->request_config = apr_pcalloc(pool, sizeof(world.of_place));
    r->per_dir_config = (ap_conf_vector_t *)world.of_place;
    r->headers_in = apr_table_make(pool, 4);
    r->headers_out = apr_table_make(pool, 4);
    r->err_headers_out = apr_table_make(pool, 4);
    r->subprocess_env = apr_table_make(pool, 4);
    r->notes = apr_table_make(pool, 4);
    r->status = HTTP_OK;
    r->method = "GET";
    r->method_number = M_GET;
    r->uri = r->unparsed_uri = r->the_request = "/";
    r->protocol = "HTTP/1.1";
    r->proto_num = HTTP_VERSION(1, 1);
    r->content_type = "text/plain";
    ap_add_output_filter("FUZZ_SINK", run, NULL, c);
    ap_add_input_filter("FUZZ_SOURCE", run, NULL, c);
    r->output_filters = r->proto_output_filters = c->output_filters;
    r->input_filters = r->proto_input_filters = c->input_filters;
    return r;
}

/* What says how is at the end of the input, last byte first, so that bodies stay in one piece. */
static unsigned next_byte(run_t *run)
{
    return run->size ? run->data[--run->size] : 0;
}

/* Up to `most` bytes of the input as a part of the body, in a bucket of one of four types. */
static apr_bucket *next_data(run_t *run, size_t most, unsigned kind, apr_pool_t *pool,
                             apr_bucket_alloc_t *alloc)
{
    size_t nbytes = most < run->size ? most : run->size;
    const char *data = (const char *)run->body + run->body_nbytes;

    memcpy(run->body + run->body_nbytes, run->data, nbytes);
    run->body_nbytes += nbytes;
    run->data += nbytes;
    run->size -= nbytes;
    switch (kind & 3) {
    case 0:
        return apr_bucket_heap_create(data, nbytes, NULL, alloc);
    case 1:
        return apr_bucket_transient_create(data, nbytes, alloc);
    case 2:
        return apr_bucket_immortal_create(data, nbytes, alloc);
    default:
        return apr_bucket_pool_create(apr_pmemdup(pool, data, nbytes + 1), nbytes, pool, alloc);
    }
}

static void add_got(run_t *run, const char *data, size_t nbytes)
{
    if (run->got_nbytes + nbytes > run->got_room) {
        run->got_room = 2 * (run->got_nbytes + nbytes);
        run->got = realloc(run->got, run->got_room);
        MUST(run->got);
    }
    memcpy(run->got + run->got_nbytes, data, nbytes);
    run->got_nbytes += nbytes;
}

#if defined(FUZZ_DEFLATE_OUT) || defined(FUZZ_BROTLI_OUT)
/* How much of the body what came decodes to; it must be the body's beginning. */
static size_t decoded(const run_t *run, int whole)
{
    size_t room = run->body_nbytes + 1, made = 0;
    uint8_t *back = malloc(room);

    MUST(back);
#ifdef FUZZ_BROTLI_OUT
    {
        BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
        const uint8_t *next_in = run->got;
        size_t avail_in = run->got_nbytes, avail_out = room;
        uint8_t *next_out = back;
        BrotliDecoderResult rv = BrotliDecoderDecompressStream(state, &avail_in, &next_in,
                                                               &avail_out, &next_out, NULL);

        made = room - avail_out;
        MUST(rv != BROTLI_DECODER_RESULT_ERROR);
        MUST(!whole || (rv == BROTLI_DECODER_RESULT_SUCCESS && avail_in == 0));
        BrotliDecoderDestroyInstance(state);
    }
#else
    if (run->got_nbytes > 0) {
        z_stream z = {0};
        int rv;

        MUST(inflateInit2(&z, 15 + 16) == Z_OK);
        z.next_in = run->got;
        z.avail_in = (uInt)run->got_nbytes;
        z.next_out = back;
        z.avail_out = (uInt)room;
        rv = inflate(&z, Z_SYNC_FLUSH);
        made = room - z.avail_out;
        MUST(rv == Z_OK || rv == Z_STREAM_END || rv == Z_BUF_ERROR);
        MUST(!whole || (rv == Z_STREAM_END && z.avail_in == 0));
        inflateEnd(&z);
    }
#endif
    MUST(made <= run->body_nbytes && (made == 0 || memcmp(back, run->body, made) == 0));
    MUST(!whole || made == run->body_nbytes);
    free(back);
    return made;
}
#endif

static apr_status_t take_output(ap_filter_t *f, apr_bucket_brigade *bb)
{
    run_t *run = f->ctx;
    apr_bucket *e;

    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t nbytes;

        if (APR_BUCKET_IS_EOS(e)) {
            MUST(!run->eos);
            run->eos = 1;
        } else if (!APR_BUCKET_IS_METADATA(e)) {
            MUST(!run->eos);
            MUST(apr_bucket_read(e, &data, &nbytes, APR_BLOCK_READ) == APR_SUCCESS);
            add_got(run, data, nbytes);
        }
    }
    apr_brigade_cleanup(bb);
    return APR_SUCCESS;
}

/* The body of a request, in the pieces that it arrives in. Then EOS. */
static apr_status_t give_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                               apr_read_type_e block, apr_off_t nbytes)
{
    run_t *run = f->ctx;
    unsigned how = next_byte(run);
    size_t most = how & 128 ? (how & 7) + 1 : 1 + 64 * (size_t)(how & 127);

    (void)mode;
    if (block == APR_NONBLOCK_READ && (how & 24) == 24) {
        return APR_EAGAIN;
    }
    if (run->size == 0) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(f->c->bucket_alloc));
        return APR_SUCCESS;
    }
    if ((apr_off_t)most > nbytes) {
        most = (size_t)nbytes;
    }
    APR_BRIGADE_INSERT_TAIL(bb, next_data(run, most, how >> 5, f->c->pool, f->c->bucket_alloc));
    if ((how & 24) == 8) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(f->c->bucket_alloc));
    }
    return APR_SUCCESS;
}

#ifdef FUZZ_DEFLATE_IN

static void run_filter(request_rec *r, run_t *run)
{
    static const char *const codings[] = {"gzip", "x-gzip", "br, gzip", "gzip, identity"};
    unsigned how = next_byte(run);
    apr_size_t total = 0;
    int calls;

    apr_table_setn(r->headers_in, "Content-Encoding", codings[how & 3]);
    r->method = "POST";
    r->method_number = M_POST;
    ap_add_input_filter(FILTER, NULL, r, r->connection);
    for (calls = 0; calls < 100000 && !run->eos; calls++) {
        apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
        apr_read_type_e block = how & 4 && calls % 3 ? APR_NONBLOCK_READ : APR_BLOCK_READ;
        apr_status_t rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, block,
                                         how & 8 ? 17 : 8192);
        apr_bucket *e;

        if (rv != APR_SUCCESS && !APR_STATUS_IS_EAGAIN(rv)) {
            break;
        }
        for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = APR_BUCKET_NEXT(e)) {
            run->eos |= APR_BUCKET_IS_EOS(e);
            total += APR_BUCKET_IS_METADATA(e) ? 0 : e->length;
        }
        apr_brigade_destroy(bb);
        MUST(total <= LIMIT + SLACK);
    }
}

#else

static void run_filter(request_rec *r, run_t *run)
{
    unsigned how = next_byte(run);
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, alloc);
    apr_status_t rv = APR_SUCCESS;
    int eos = 0;

#ifdef FUZZ_INFLATE_OUT
    apr_table_setn(r->headers_out, "Content-Encoding", how & 1 ? "gzip" : "br, gzip");
#else
    apr_table_setn(r->headers_in, "Accept-Encoding", how & 1 ? CODING : "x;q=0, " CODING ";q=1");
#endif
    if (how & 2) {
        apr_table_setn(r->headers_out, "ETag", how & 4 ? "\"v1\"" : "\"");
    }
    r->header_only = (how & 0xf0) == 0xf0;
    ap_add_output_filter(FILTER, NULL, r, r->connection);
    while (rv == APR_SUCCESS && !eos) {
        unsigned op = next_byte(run);
        int pass = op & 8;

        if (run->size == 0) {
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
            eos = pass = 1;
        } else if ((op & 7) == 7) {
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(alloc));
        } else {
            size_t most = op & 128 ? 64 * (size_t)next_byte(run) : (op & 7) + 1;

            APR_BRIGADE_INSERT_TAIL(bb, next_data(run, most, op >> 4, r->pool, alloc));
        }
        if (pass) {
            int flushes = !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_FLUSH(APR_BRIGADE_LAST(bb));

            rv = ap_pass_brigade(r->output_filters, bb);
            apr_brigade_cleanup(bb);
#ifndef FUZZ_INFLATE_OUT
            if (rv == APR_SUCCESS && flushes && !r->header_only
                && apr_table_get(r->headers_out, "Content-Encoding")) {
                MUST(decoded(run, 0) == run->body_nbytes);
            }
#else
            (void)flushes;
#endif
        }
    }
#ifndef FUZZ_INFLATE_OUT
    MUST(rv == APR_SUCCESS && run->eos);
    if (r->header_only) {
        return;
    }
    if (apr_table_get(r->headers_out, "Content-Encoding")) {
        decoded(run, 1);
    } else {
        MUST(run->got_nbytes == run->body_nbytes);
        MUST(run->got_nbytes == 0 || memcmp(run->got, run->body, run->got_nbytes) == 0);
    }
#endif
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_t run = {data, size, NULL, 0, NULL, 0, 0, 0};
    request_rec *r;

    if (!world.pool) {
        start();
    }
    run.body = malloc(size + 1);
    MUST(run.body);
    r = begin(&run);
    run_filter(r, &run);
    apr_pool_destroy(r->pool);
    free(run.body);
    free(run.got);
    return 0;
}
