#include "httpd/body/encoder.h"

#include "httpd/body/body.h"
#include "httpd/shared/shared.h"

#include "engines/memory.h"
#include "engines/engines.h"
#include "host/process.h"

#include "http_log.h"
#include "http_protocol.h"

#include <unistd.h>

EL_USE_LOG;

/*
 * 2^32 × (√2 − 1), rounded to an odd number. Its multiples modulo 2^32 spread evenly, so that each
 * page of a periodic load gets sampled. It must differ from the number that mixes two setups, or
 * only one of the setups would be sampled.
 */
#define SPREAD 1779033703u

el_meter_t el_meter_create(void)
{
    static _Atomic uint32_t responses;
    uint32_t count = atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);

    return (el_meter_t){.used.sampled = count * SPREAD < UINT32_MAX / EL_STATS_EVERY};
}

/*
 * Measures elapsed time inside the CPU time: the kernel may run other threads when a system call
 * returns, and that would inflate the elapsed time of sampled responses.
 */
void el_meter_start(el_meter_t *meter)
{
    if (meter->used.sampled) {
        meter->began_cpu = el_clock_cpu_nsec();
    }
    meter->began_elapsed = el_clock_nsec();
}

void el_meter_stop(el_meter_t *meter)
{
    meter->used.elapsed_nsec += el_clock_nsec() - meter->began_elapsed;
    if (meter->used.sampled) {
        meter->used.cpu_nsec += el_clock_cpu_nsec() - meter->began_cpu;
    }
}

/* A whole body's output, and its memory. */
typedef struct {
    void *buffer;
    const uint8_t *data; /* within `buffer` */
    size_t nbytes;
    void (*release)(void *buffer);
} output_t;

/*
 * Makes a bucket of a whole body's output. With `spare`, output that fits into an httpd block is
 * copied there, which frees the buffer for the next body. Otherwise, or if that fails, the buffer
 * itself is sent, and released afterwards.
 */
static void encoder_ship(el_encoder_t *encoder, const output_t *output, bool spare)
{
    apr_bucket_alloc_t *alloc = encoder->brigade->bucket_alloc;
    size_t before = (size_t)(output->data - (const uint8_t *)output->buffer);
    apr_bucket *bucket = NULL;

    if (spare && output->nbytes <= EL_BODY_BLOCK) {
        bucket = apr_bucket_heap_create((const char *)output->data, output->nbytes, NULL, alloc);
    }
    if (bucket) {
        output->release(output->buffer);
    } else {
        bucket = apr_bucket_heap_create(output->buffer, before + output->nbytes, output->release,
                                        alloc);
        bucket->start = (apr_off_t)before;
        bucket->length = output->nbytes;
    }
    APR_BRIGADE_INSERT_TAIL(encoder->brigade, bucket);
    encoder->meter.used.out += output->nbytes;
}

/* An encoded whole body. */
typedef struct {
    uint8_t *buffer; /* from the pool; NULL: encoding failed */
    size_t room;     /* its size in bytes */
    size_t nbytes;   /* of the encoded body */
    bool fresh;      /* the context was new */
} whole_t;

static whole_t encoder_encode(const el_plan_t *plan, const char *data, size_t len)
{
    size_t room = 0;
    uint8_t *buffer = el_pool_buffer_acquire(el_engine_bound(len), &room);
    el_context_t *context = buffer ? el_pool_acquire(plan) : NULL;
    el_span_t span = {(const uint8_t *)data, len, buffer, room};
    whole_t whole = {.buffer = buffer, .room = room, .fresh = context && !context->kept};

    if (context && el_engine_encode(context, &span) == EL_STEP_OK) {
        whole.nbytes = room - span.out_nbytes_avail;
    }
    el_pool_release(context);
    if (whole.nbytes == 0) {
        el_pool_buffer_release(buffer);
        whole.buffer = NULL;
    }
    return whole;
}

bool el_encoder_whole(el_encoder_t *encoder, const char *data, size_t len)
{
    whole_t whole;

    el_holders_begin();
    el_meter_start(&encoder->meter);
    whole = encoder_encode(&encoder->plan, data, len);
    if (whole.buffer) {
        uint8_t *sent = whole.buffer, *smaller = NULL;
        size_t held;

        /*
         * A slow client holds its output for long. If the output fills less than half of the
         * buffer, send it in a smaller one.
         */
        if (whole.nbytes > EL_BODY_BLOCK && whole.nbytes <= whole.room / 2) {
            smaller = el_pool_buffer_acquire(whole.nbytes, &held);
        }
        if (smaller) {
            memcpy(smaller, whole.buffer, whole.nbytes);
            el_pool_buffer_release(whole.buffer);
            sent = smaller;
        }
        encoder_ship(encoder, &(output_t){sent, sent, whole.nbytes, el_pool_buffer_release}, true);
        encoder->meter.used.in += len;
        encoder->meter.used.fresh = whole.fresh;
    }
    el_meter_stop(&encoder->meter);
    el_holders_end();
    return whole.buffer != NULL;
}

void el_encoder_found(el_encoder_t *encoder, el_found_t *found, const el_meter_t *meter,
                      const request_rec *r)
{
    *encoder = (el_encoder_t){
        .plan.engine = el_engine_for(found->entry.coding),
        .level = found->entry.level,
        .meter = *meter,
        .pool = r->pool,
        .brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc),
    };
    encoder->meter.used.in = found->entry.in;
    encoder_ship(encoder, &(output_t){found->buffer, found->entry.data, found->entry.nbytes,
                                    found->release}, false);
    found->buffer = NULL;
}

el_measured_t el_encoder_try(const el_plan_t *plan, const char *data, size_t len)
{
    uint64_t began = el_clock_cpu_nsec();
    whole_t whole = encoder_encode(plan, data, len);

    el_pool_buffer_release(whole.buffer);
    return (el_measured_t){len, whole.nbytes, el_clock_cpu_nsec() - began, whole.fresh};
}

static void encoder_close(el_encoder_t *encoder)
{
    el_pool_release(encoder->context);
    encoder->context = NULL;
    if (encoder->block) {
        apr_bucket_free(encoder->block);
        encoder->block = NULL;
    }
}

/* A forked process runs the cleanups of open streams too, but must not change the count. */
static apr_status_t encoder_clean_up(void *encoder)
{
    encoder_close(encoder);
    if ((unsigned)getpid() == el_shared.process) {
        el_holders_end();
    }
    return APR_SUCCESS;
}

bool el_encoder_open(el_encoder_t *encoder)
{
    el_meter_start(&encoder->meter);
    encoder->context = el_pool_acquire(&encoder->plan);
    el_meter_stop(&encoder->meter);
    if (!encoder->context) {
        return false;
    }
    encoder->meter.used.fresh = !encoder->context->kept;
    el_holders_begin();
    apr_pool_cleanup_register(encoder->pool, encoder, encoder_clean_up, apr_pool_cleanup_null);
    return true;
}

el_reason_t el_encoder_failure(void)
{
    return el_budget_take_refusal() ? EL_REASON_MEMORY : EL_REASON_ERROR;
}

void el_encoder_close(el_encoder_t *encoder)
{
    if (encoder->context) {
        apr_pool_cleanup_kill(encoder->pool, encoder, encoder_clean_up);
        encoder_close(encoder);
        el_holders_end();
    }
}

bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len)
{
    el_span_t span = {.in = (const uint8_t *)data, .in_nbytes = len};
    el_step_t result;

    el_meter_start(&encoder->meter);
    do {
        if (!encoder->block) {
            encoder->block = apr_bucket_alloc(EL_BODY_BLOCK, encoder->brigade->bucket_alloc);
        }
        if (!encoder->block) {
            result = EL_STEP_ERROR;
            break;
        }
        span.out = encoder->block + encoder->used;
        span.out_nbytes_avail = EL_BODY_BLOCK - encoder->used;
        result = encoder->context->engine->step(encoder->context, op, &span);
        encoder->used = EL_BODY_BLOCK - span.out_nbytes_avail;
        if (encoder->used == EL_BODY_BLOCK || (encoder->used > 0 && op != EL_RUN)) {
            el_body_append_block(&encoder->block, encoder->used, encoder->brigade);
            encoder->meter.used.out += encoder->used;
            encoder->used = 0;
        }
    } while (result == EL_STEP_MORE);
    el_meter_stop(&encoder->meter);
    encoder->meter.used.in += len;
    return result == EL_STEP_OK;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* The size of pieces that are passed on. From 64 KB on, httpd blocks for a slow client. */
#define PASS_SIZE (32 * 1024)

static void stream_forget_kept(el_stream_t *stream)
{
    stream->fallback = NULL;
    if (stream->kept) {
        apr_brigade_cleanup(stream->kept);
    }
}

/* Ends the possibility to fall back: the body is sent as decided, or ends in error. */
static void stream_commit(ap_filter_t *f, el_stream_t *stream)
{
    if (stream->fallback) {
        stream->fallback->begin(f, stream->owner);
        stream_forget_kept(stream);
    }
}

apr_status_t el_stream_pass(ap_filter_t *f, el_stream_t *stream)
{
    apr_status_t rv;

    stream->passed_at = *stream->made;
    if (APR_BRIGADE_EMPTY(stream->out)) {
        return APR_SUCCESS;
    }
    stream->passed = true;
    stream_commit(f, stream);
    rv = ap_pass_brigade(f->next, stream->out);
    apr_brigade_cleanup(stream->out);
    return rv;
}

apr_status_t el_stream_break_off(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                 apr_status_t rv, const char *what)
{
    request_rec *r = f->r;
    int status = stream->passed ? HTTP_BAD_GATEWAY : stream->error_status;
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;

    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "elastic: the response to %s ends in error: %s",
                  r->uri, what);
    stream->ops->abandon(f, stream->owner);
    stream->broken = true;
    stream_forget_kept(stream);
    /* mod_cache would store the partial response as a complete one. */
    r->no_cache = 1;
    if (stream->out) {
        apr_brigade_cleanup(stream->out);
    }
    apr_brigade_cleanup(bb);
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_error_create(status, NULL, r->pool, alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    ap_pass_brigade(f->next, bb);
    apr_brigade_cleanup(bb);
    return rv != APR_SUCCESS ? rv : APR_EGENERAL;
}

/* Flushes the filter's output, and passes it on with `bucket`, a FLUSH. */
static apr_status_t stream_flush(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket)
{
    apr_status_t rv = APR_SUCCESS;

    if (stream->dirty && stream->ops->flush) {
        rv = stream->ops->flush(f, stream->owner);
    }
    stream->dirty = false;
    APR_BRIGADE_INSERT_TAIL(stream->out, bucket);
    return rv == APR_SUCCESS ? el_stream_pass(f, stream) : rv;
}

/* Reads `bucket`. If it has to wait, first sends the client all there is. */
static apr_status_t stream_read(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket,
                                const char **data, apr_size_t *len)
{
    apr_status_t rv = el_body_read(bucket, data, len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        if (stream->dirty || !stream->passed || !APR_BRIGADE_EMPTY(stream->out)) {
            rv = stream_flush(f, stream, apr_bucket_flush_create(f->r->connection->bucket_alloc));
            if (rv != APR_SUCCESS) {
                return rv;
            }
        }
        rv = el_body_read(bucket, data, len, APR_BLOCK_READ);
    }
    if (rv != APR_SUCCESS) {
        stream->error = "the body cannot be read";
    }
    return rv;
}

/*
 * Takes the data of `bucket`, and deletes the bucket, or keeps it while the filter can fall back.
 * Reading a file bucket turns its beginning into memory, so for a file a reference is kept.
 */
static apr_status_t stream_take(ap_filter_t *f, el_stream_t *stream, apr_bucket *bucket)
{
    apr_bucket *reference = NULL;
    const char *data;
    apr_size_t len;
    apr_status_t rv;

    if (stream->fallback && APR_BUCKET_IS_FILE(bucket)) {
        apr_bucket_copy(bucket, &reference);
    }
    rv = stream_read(f, stream, bucket, &data, &len);
    if (rv == APR_SUCCESS) {
        stream->dirty = stream->dirty || len > 0;
        rv = stream->ops->data(f, stream->owner, data, len);
    }
    /* The fallback has ended because output was passed on, or the body cannot go on. */
    if (rv != APR_SUCCESS || !stream->fallback) {
        if (reference) {
            apr_bucket_destroy(reference);
        }
        if (rv == APR_SUCCESS) {
            apr_bucket_delete(bucket);
        }
        return rv;
    }
    if (!stream->kept) {
        stream->kept = apr_brigade_create(f->r->pool, f->r->connection->bucket_alloc);
    }
    if (reference) {
        reference->length = bucket->length;
        apr_bucket_delete(bucket);
        APR_BRIGADE_INSERT_TAIL(stream->kept, reference);
    } else {
        stream->kept_nbytes += bucket->length;
        APR_BUCKET_REMOVE(bucket);
        APR_BRIGADE_INSERT_TAIL(stream->kept, bucket);
    }
    return APR_SUCCESS;
}

/*
 * The body cannot go on. If all of it is still there and nothing was passed on, the filter falls
 * back. `out` may hold metadata buckets; their place before EOS does not matter.
 */
static apr_status_t stream_stop(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb,
                                apr_status_t rv)
{
    if (!stream->unchanged || !stream->fallback) {
        return el_stream_break_off(f, stream, bb, rv, stream->error);
    }
    el_body_drop(stream->out);
    APR_BRIGADE_PREPEND(bb, stream->out);
    if (stream->kept) {
        APR_BRIGADE_PREPEND(bb, stream->kept);
    }
    return stream->fallback->fall_back(f, stream->owner, bb);
}

apr_status_t el_stream_run(ap_filter_t *f, el_stream_t *stream, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *bucket = APR_BRIGADE_FIRST(bb);

        if (APR_BUCKET_IS_EOS(bucket)) {
            rv = stream->ops->end(f, stream->owner);
            if (rv != APR_SUCCESS) {
                return stream_stop(f, stream, bb, rv);
            }
            APR_BRIGADE_CONCAT(stream->out, bb);
            ap_remove_output_filter(f);
            return el_stream_pass(f, stream);
        }
        if (!APR_BUCKET_IS_METADATA(bucket)) {
            rv = stream_take(f, stream, bucket);
        } else {
            APR_BUCKET_REMOVE(bucket);
            if (APR_BUCKET_IS_FLUSH(bucket)) {
                rv = stream_flush(f, stream, bucket);
            } else {
                stream->failed = stream->failed || AP_BUCKET_IS_ERROR(bucket);
                APR_BRIGADE_INSERT_TAIL(stream->out, bucket);
            }
        }
        if (rv == APR_SUCCESS
            && ((stream->eager && !stream->passed && *stream->made > 0)
                || *stream->made - stream->passed_at >= PASS_SIZE)) {
            rv = el_stream_pass(f, stream);
        }
        if (stream->kept_nbytes > EL_STREAM_COPIED) {
            stream_commit(f, stream);
        }
    }
    if (stream->error) {
        return stream_stop(f, stream, bb, rv);
    }
    if (rv == APR_SUCCESS) {
        rv = el_stream_pass(f, stream);
    }
    /* Kept data must survive this call; a kept file may be closed, so it ends the fallback. */
    if (stream->kept && el_body_set_aside(stream->kept, f->r->pool, 0) != APR_SUCCESS) {
        stream_commit(f, stream);
    }
    apr_brigade_cleanup(bb);
    return rv;
}
