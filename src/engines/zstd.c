/* zstd by libzstd (RFC 8878): all access to the library goes through this file. */
#include "engines/zstd.h"

#include "engines/costs.h"
#include "engines/library.h"
#include "engines/memory.h"

/* For ZSTD_createCCtx_advanced(): every libzstd since 1.0 has it, shared ones, too. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

/*
 * Bodies of up to 1 MB are their own window. That is far below the 8 MB beyond which browsers
 * refuse a frame (RFC 9659 §3).
 */
#define WINDOW_BITS_MIN 10 /* RFC 8878 §3.1.1.1.2 */
#define WINDOW_BITS_MAX 20

/*
 * The window of larger bodies, and of those of unknown length, as that of br: a stream holds it in
 * memory, beside tables that grow with it.
 */
#define WINDOW_BITS_STREAM 18

/*
 * The library's tables of these levels are for windows of several megabytes: a stream of level 9
 * would have 13 MB of them. With tables of these sizes bodies of up to 300 KB grow by 0.3 % at
 * most, in less time; those of up to TABLES_OWN bytes have smaller ones already.
 */
#define TABLES_LEVEL_MIN 5
#define TABLES_OWN (128 * 1024)
#define HASH_BITS 18
#define CHAIN_BITS 17

/*
 * These levels are for the fewest bytes: their tables are the library's, or for a stream as large
 * as its window can use.
 */
#define THOROUGH_LEVEL_MIN 13
#define THOROUGH_BITS (WINDOW_BITS_STREAM + 1)

typedef struct {
    el_context_t base;
    ZSTD_CCtx *encoder;
} zstd_context_t;

/* Tables follow from the level and, below a megabyte, from the length. */
static uint32_t zstd_key(const el_setup_t *setup)
{
    return (uint32_t)setup->level << 8 | el_memory_class(setup->size_hint);
}

static el_context_t *zstd_create(const el_setup_t *setup)
{
    zstd_context_t *context = el_context_allocate(sizeof(*context));

    (void)setup;
    if (!context) {
        return NULL;
    }
    context->encoder = ZSTD_createCCtx_advanced(
        (ZSTD_customMem){el_memory_acquire, el_memory_release, &context->base.account});
    if (!context->encoder) {
        el_context_deallocate(&context->base);
        return NULL;
    }
    return &context->base;
}

static bool window_is_streams(uint64_t size_hint)
{
    return !size_hint || size_hint > UINT64_C(1) << WINDOW_BITS_MAX;
}

/* As small as holds the body: then the frame needs no window at all, and no decoder much memory. */
static int window_bits(uint64_t size_hint)
{
    int bits = WINDOW_BITS_MIN;

    if (window_is_streams(size_hint)) {
        return WINDOW_BITS_STREAM;
    }
    while (UINT64_C(1) << bits < size_hint) {
        bits++;
    }
    return bits;
}

static bool set(ZSTD_CCtx *encoder, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, parameter, value));
}

/* 0 is the library's own choice. */
static void table_bits(const el_setup_t *setup, int *hash_bits, int *chain_bits)
{
    bool long_stream = window_is_streams(setup->size_hint);

    *hash_bits = *chain_bits = 0;
    if (setup->level >= THOROUGH_LEVEL_MIN) {
        *hash_bits = *chain_bits = long_stream ? THOROUGH_BITS : 0;
    } else if (setup->level >= TABLES_LEVEL_MIN
               && (long_stream || setup->size_hint > TABLES_OWN)) {
        *hash_bits = HASH_BITS;
        *chain_bits = CHAIN_BITS;
    }
}

static bool zstd_reset(el_context_t *base, const el_setup_t *setup)
{
    ZSTD_CCtx *encoder = ((zstd_context_t *)base)->encoder;
    unsigned long long size = setup->size_hint ? setup->size_hint : ZSTD_CONTENTSIZE_UNKNOWN;
    int hash_bits, chain_bits;

    table_bits(setup, &hash_bits, &chain_bits);
    return !ZSTD_isError(ZSTD_CCtx_reset(encoder, ZSTD_reset_session_only))
           && set(encoder, ZSTD_c_compressionLevel, setup->level)
           && set(encoder, ZSTD_c_windowLog, window_bits(setup->size_hint))
           && set(encoder, ZSTD_c_hashLog, hash_bits) && set(encoder, ZSTD_c_chainLog, chain_bits)
           && set(encoder, ZSTD_c_contentSizeFlag, 1) && set(encoder, ZSTD_c_checksumFlag, 0)
           && !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(encoder, size));
}

static el_step_t zstd_step(el_context_t *base, el_op_t op, el_span_t *span)
{
    static const ZSTD_EndDirective operation[] = {
        [EL_RUN] = ZSTD_e_continue,
        [EL_FLUSH] = ZSTD_e_flush,
        [EL_FINISH] = ZSTD_e_end,
    };
    ZSTD_CCtx *encoder = ((zstd_context_t *)base)->encoder;
    ZSTD_inBuffer in = {span->in, span->in_nbytes, 0};
    ZSTD_outBuffer out = {span->out, span->out_nbytes_avail, 0};
    size_t left;

    do {
        left = ZSTD_compressStream2(encoder, &out, &in, operation[op]);
        if (ZSTD_isError(left)) {
            return EL_STEP_ERROR;
        }
    } while (out.pos < out.size && (in.pos < in.size || (op != EL_RUN && left > 0)));
    el_span_advance(span, in.pos, out.pos);
    return in.pos < in.size || (op != EL_RUN && left > 0) ? EL_STEP_MORE : EL_STEP_OK;
}

static el_step_t zstd_encode(el_context_t *base, el_span_t *span)
{
    ZSTD_CCtx *encoder = ((zstd_context_t *)base)->encoder;
    size_t nbytes = ZSTD_compress2(encoder, span->out, span->out_nbytes_avail, span->in,
                                   span->in_nbytes);

    if (ZSTD_isError(nbytes)) {
        return ZSTD_getErrorCode(nbytes) == ZSTD_error_dstSize_tooSmall ? EL_STEP_MORE
                                                                        : EL_STEP_ERROR;
    }
    el_span_advance(span, span->in_nbytes, nbytes);
    return EL_STEP_OK;
}

static void zstd_free(el_context_t *base)
{
    ZSTD_freeCCtx(((zstd_context_t *)base)->encoder);
    el_context_deallocate(base);
}

const el_engine_t el_engine_zstd = {
    .name = "zstd",
    .coding = EL_ZSTD,
    .level_min = 1,
    .level_max = 19, /* those above want windows that browsers refuse */
    .costs = el_costs_zstd,
    .version = ZSTD_versionString,
    .key = zstd_key,
    .create = zstd_create,
    .reset = zstd_reset,
    .step = zstd_step,
    .encode = zstd_encode,
    .free = zstd_free,
};
