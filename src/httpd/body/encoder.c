#include "httpd/body/encoder.h"

#include "httpd/body/body.h"
#include "httpd/shared/shared.h"

#include "engines/memory.h"
#include "engines/engines.h"
#include "host/process.h"

#include <unistd.h>

/*
 * 2^32 times √2 - 1, to the nearest odd number. Its multiples, modulo 2^32, are spread evenly and
 * without a period: a site whose requests come in rounds has each of them sampled. It is not the
 * number that mixes two setups, or only one of them would be.
 */
#define SPREAD 1779033703u

el_meter_t el_meter_create(void)
{
    static _Atomic uint32_t responses;
    uint32_t count = atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);

    return (el_meter_t){.used.sampled = count * SPREAD < UINT32_MAX / EL_STATS_EVERY};
}

/*
 * The time elapsed lies inside of the CPU time: a kernel lets others run when a system call
 * returns, and in a busy process the sampled responses would seem to take many times longer.
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

void el_meter_go_on(el_meter_t *meter, const el_meter_t *before)
{
    meter->used.sampled = before->used.sampled;
    meter->used.elapsed_nsec = before->used.elapsed_nsec;
    meter->used.looked_nsec = before->used.cpu_nsec;
}

void el_encoder_plan(el_encoder_t *encoder, el_coding_t coding, const el_setup_t *setup, bool whole,
                     const request_rec *r)
{
    el_budget_take_refusal();
    *encoder = (el_encoder_t){
        .plan = el_engine_plan(coding, setup, whole),
        .level = setup->level,
        .meter = el_meter_create(),
        .pool = r->pool,
        .brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc),
    };
}

/* Output of a whole body, and whose memory it lies in. */
typedef struct {
    void *buffer;
    const uint8_t *data; /* within `buffer` */
    size_t nbytes;
    void (*release)(void *buffer);
} output_t;

/*
 * The output of a whole body becomes a bucket. With `spare`, what fits into a block of httpd's own
 * is copied, so that the buffer serves the next body at once; otherwise it goes out in the buffer
 * itself, which is released when it is sent, and so does what there is no memory to copy.
 */
static void ship_whole(el_encoder_t *encoder, const output_t *output, bool spare)
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

/*
 * A client that is slow to read holds the output for long: what goes out in its own buffer has one
 * of its size, where that is half as large or less and can be had.
 */
static uint8_t *fit_buffer(uint8_t *buffer, size_t room, size_t nbytes)
{
    bool half = nbytes > EL_BODY_BLOCK && nbytes <= room / 2;
    size_t held;
    uint8_t *smaller = half ? el_pool_buffer_acquire(nbytes, &held) : NULL;

    if (!smaller) {
        return buffer;
    }
    memcpy(smaller, buffer, nbytes);
    el_pool_buffer_release(buffer);
    return smaller;
}

/* A whole body, encoded. */
typedef struct {
    uint8_t *buffer; /* of the pool; NULL where that failed */
    size_t room;     /* bytes that it has */
    size_t nbytes;   /* of the body */
    bool fresh;      /* the context was new */
} whole_t;

static whole_t encode_whole(const el_plan_t *plan, const char *data, size_t len)
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
    whole = encode_whole(&encoder->plan, data, len);
    if (whole.buffer) {
        uint8_t *sent = fit_buffer(whole.buffer, whole.room, whole.nbytes);

        ship_whole(encoder, &(output_t){sent, sent, whole.nbytes, el_pool_buffer_release}, true);
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
    ship_whole(encoder, &(output_t){found->buffer, found->entry.data, found->entry.nbytes,
                                    found->release}, false);
    found->buffer = NULL;
}

el_measured_t el_encoder_try(const el_plan_t *plan, const char *data, size_t len)
{
    uint64_t began = el_clock_cpu_nsec();
    whole_t whole = encode_whole(plan, data, len);

    el_pool_buffer_release(whole.buffer);
    return (el_measured_t){len, whole.nbytes, el_clock_cpu_nsec() - began, whole.fresh};
}

static void close_stream(el_encoder_t *encoder)
{
    el_pool_release(encoder->context);
    encoder->context = NULL;
    if (encoder->block) {
        apr_bucket_free(encoder->block);
        encoder->block = NULL;
    }
}

/* A copy that this process forks runs the cleanups of what is in use here, and must not count. */
static apr_status_t clean_up(void *encoder)
{
    close_stream(encoder);
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
    apr_pool_cleanup_register(encoder->pool, encoder, clean_up, apr_pool_cleanup_null);
    return true;
}

void el_encoder_commit(el_encoder_t *encoder)
{
    if (encoder->context) {
        encoder->context->account.committed = true;
    }
}

el_reason_t el_encoder_failure(void)
{
    return el_budget_take_refusal() ? EL_REASON_MEMORY : EL_REASON_ERROR;
}

void el_encoder_close(el_encoder_t *encoder)
{
    if (encoder->context) {
        apr_pool_cleanup_kill(encoder->pool, encoder, clean_up);
        close_stream(encoder);
        el_holders_end();
    }
}

static el_step_t step(el_encoder_t *encoder, el_op_t op, el_span_t *span)
{
    el_step_t result;

    if (!encoder->block) {
        encoder->block = apr_bucket_alloc(EL_BODY_BLOCK, encoder->brigade->bucket_alloc);
        if (!encoder->block) {
            return EL_STEP_ERROR;
        }
    }
    span->out = encoder->block + encoder->used;
    span->out_nbytes_avail = EL_BODY_BLOCK - encoder->used;
    result = encoder->context->engine->step(encoder->context, op, span);
    encoder->used = EL_BODY_BLOCK - span->out_nbytes_avail;
    if (encoder->used == EL_BODY_BLOCK || (encoder->used > 0 && op != EL_RUN)) {
        el_body_append_block(&encoder->block, encoder->used, encoder->brigade);
        encoder->meter.used.out += encoder->used;
        encoder->used = 0;
    }
    return result;
}

bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len)
{
    el_span_t span = {.in = (const uint8_t *)data, .in_nbytes = len};
    el_step_t result;

    el_meter_start(&encoder->meter);
    do {
        result = step(encoder, op, &span);
    } while (result == EL_STEP_MORE);
    el_meter_stop(&encoder->meter);
    encoder->meter.used.in += len;
    return result == EL_STEP_OK;
}
