#include "encoder.h"

/*
 * A bucket's size: what httpd's own buckets hold, so that the allocator's 8 KB blocks are reused
 * and a slow client pins no more than it would without us.
 */
#define BLOCK_SIZE APR_BUCKET_BUFF_SIZE

static apr_status_t close_stream(void *data)
{
    el_encoder_t *encoder = data;

    if (encoder->stream) {
        encoder->engine->close(encoder->stream);
        encoder->stream = NULL;
    }
    if (encoder->block) {
        apr_bucket_free(encoder->block);
        encoder->block = NULL;
    }
    return APR_SUCCESS;
}

bool el_encoder_open(el_encoder_t *encoder, const el_engine_t *engine, const el_setup_t *setup,
                     apr_pool_t *pool, apr_bucket_alloc_t *alloc)
{
    *encoder = (el_encoder_t){.engine = engine, .setup = *setup, .usage = el_usage_new()};
    el_usage_start(&encoder->usage);
    encoder->stream = engine->open(setup);
    el_usage_stop(&encoder->usage);
    if (!encoder->stream) {
        return false;
    }
    encoder->brigade = apr_brigade_create(pool, alloc);
    apr_pool_cleanup_register(pool, encoder, close_stream, apr_pool_cleanup_null);
    return true;
}

void el_encoder_close(el_encoder_t *encoder, apr_pool_t *pool)
{
    apr_pool_cleanup_run(pool, encoder, close_stream);
}

/*
 * The block becomes a bucket that owns it, without a copy; but for a few bytes of a flush, of which
 * a client that is slow to read would otherwise pin a block each.
 */
static void ship_block(el_encoder_t *encoder)
{
    bool few = encoder->used < BLOCK_SIZE / 4;
    apr_bucket *bucket = apr_bucket_heap_create((const char *)encoder->block, encoder->used,
                                                few ? NULL : apr_bucket_free,
                                                encoder->brigade->bucket_alloc);

    APR_BRIGADE_INSERT_TAIL(encoder->brigade, bucket);
    encoder->usage.out += encoder->used;
    encoder->used = 0;
    if (!few) {
        encoder->block = NULL;
    }
}

static el_step_t step(el_encoder_t *encoder, el_op_t op, el_span_t *span)
{
    el_step_t result;

    if (!encoder->block) {
        encoder->block = apr_bucket_alloc(BLOCK_SIZE, encoder->brigade->bucket_alloc);
        if (!encoder->block) {
            return EL_STEP_ERROR;
        }
    }
    span->out = encoder->block + encoder->used;
    span->out_nbytes_avail = BLOCK_SIZE - encoder->used;
    result = encoder->engine->step(encoder->stream, op, span);
    encoder->used = BLOCK_SIZE - span->out_nbytes_avail;
    if (encoder->used == BLOCK_SIZE || (encoder->used > 0 && op != EL_RUN)) {
        ship_block(encoder);
    }
    return result;
}

bool el_encoder_put(el_encoder_t *encoder, el_op_t op, const char *data, size_t len)
{
    el_span_t span = {.in = (const uint8_t *)data, .in_nbytes = len};
    el_step_t result;

    el_usage_start(&encoder->usage);
    do {
        result = step(encoder, op, &span);
    } while (result == EL_STEP_MORE);
    el_usage_stop(&encoder->usage);
    encoder->usage.in += len;
    encoder->dirty = op == EL_RUN && (encoder->dirty || len > 0);
    return result == EL_STEP_OK;
}
