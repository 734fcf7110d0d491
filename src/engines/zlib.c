/* gzip by zlib (RFC 1952), encoded and decoded. All access to zlib goes through this file. */
#include "engines/library.h"

#include "engines/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

/* Added to the window bits: read and write gzip's header and trailer, no other format. */
#define GZIP 16

#define LEAST_WINDOW_BITS 9 /* zlib's smallest for encoding */

/* zlib's MIN_LOOKAHEAD: a window holds these bytes beside the body. */
#define LOOKAHEAD 262

/* zlib's default, for a full window. Larger tables take more time and save nothing. */
#define MEM_LEVEL_FULL 8

typedef struct {
    el_context_t base;
    z_stream z;
    int level;
} zlib_context_t;

/* A body needs no larger window than its length, and smaller tables are cleared faster. */
static void zlib_fit(const el_setup_t *setup, int *window_bits, int *mem_level)
{
    uint64_t needed = setup->size_hint + LOOKAHEAD;

    *window_bits = setup->window_bits ? setup->window_bits : MAX_WBITS;
    *mem_level = setup->mem_level ? setup->mem_level : MAX_MEM_LEVEL;
    while (setup->size_hint && *window_bits > LEAST_WINDOW_BITS && *mem_level > 1
           && UINT64_C(1) << (*window_bits - 1) >= needed) {
        --*window_bits;
        --*mem_level;
    }
    if (*window_bits == MAX_WBITS && !setup->mem_level) {
        *mem_level = MEM_LEVEL_FULL;
    }
}

static uint32_t zlib_key(const el_setup_t *setup)
{
    int window_bits, mem_level;

    zlib_fit(setup, &window_bits, &mem_level);
    return (uint32_t)window_bits << 8 | (uint32_t)mem_level;
}

static voidpf zlib_acquire_memory(voidpf account, uInt count, uInt nbytes)
{
    return el_memory_acquire(account, (size_t)count * nbytes);
}

static el_context_t *zlib_create(const el_setup_t *setup)
{
    zlib_context_t *context = el_context_allocate(sizeof(*context));
    int window_bits, mem_level;

    if (!context) {
        return NULL;
    }
    zlib_fit(setup, &window_bits, &mem_level);
    context->level = setup->level;
    context->z = (z_stream){.zalloc = zlib_acquire_memory, .zfree = el_memory_release,
                            .opaque = &context->base.account};
    if (deflateInit2(&context->z, setup->level, Z_DEFLATED, window_bits + GZIP, mem_level,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        el_context_deallocate(&context->base);
        return NULL;
    }
    return &context->base;
}

/* Sets no input, and an output that is discarded. */
static void zlib_write_nowhere(z_stream *z)
{
    static _Thread_local Bytef nowhere[512];

    z->avail_in = 0;
    z->next_out = nowhere;
    z->avail_out = sizeof(nowhere);
}

static bool zlib_reset(el_context_t *base, const el_setup_t *setup)
{
    zlib_context_t *context = (zlib_context_t *)base;
    z_stream *z = &context->z;

    /* If a body was left midway, zlib-ng 2.2 at level 1 keeps its block open even after a reset. */
    do {
        zlib_write_nowhere(z);
    } while (z->total_in > 0 && deflate(z, Z_BLOCK) == Z_OK && z->avail_out == 0);
    if (deflateReset(z) != Z_OK) {
        return false;
    }
    if (context->level == setup->level) {
        return true;
    }
    /*
     * If the levels use different functions, zlib 1.2.9 to 1.2.11 write the new body's header here.
     * Another reset makes zlib write it again.
     */
    zlib_write_nowhere(z);
    if (deflateParams(z, setup->level, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    context->level = setup->level;
    return z->total_out == 0 || deflateReset(z) == Z_OK;
}

/*
 * Calls deflate() or inflate() once, with as much of the span as zlib can count; `flush` applies to
 * the last piece of the input. Returns zlib's code.
 */
static int zlib_call(int (*function)(z_stream *, int), z_stream *z, int flush, el_span_t *span)
{
    uInt in = span->in_nbytes > UINT_MAX ? UINT_MAX : (uInt)span->in_nbytes;
    uInt out = span->out_nbytes_avail > UINT_MAX ? UINT_MAX : (uInt)span->out_nbytes_avail;
    int rc;

    /* zlib never writes to its input, though next_in is not const by default. */
    z->next_in = (Bytef *)(uintptr_t)span->in;
    z->avail_in = in;
    z->next_out = span->out;
    z->avail_out = out;
    rc = function(z, in < span->in_nbytes ? Z_NO_FLUSH : flush);
    el_span_advance(span, in - z->avail_in, out - z->avail_out);
    return rc;
}

static el_step_t zlib_step(el_context_t *base, el_op_t op, el_span_t *span)
{
    static const int flush[] = {
        [EL_RUN] = Z_NO_FLUSH,
        [EL_FLUSH] = Z_SYNC_FLUSH,
        [EL_FINISH] = Z_FINISH,
    };

    for (;;) {
        int rc = zlib_call(deflate, &((zlib_context_t *)base)->z, flush[op], span);

        if (rc == Z_STREAM_END) {
            return EL_STEP_OK;
        }
        /* Z_BUF_ERROR means nothing to do, as in a flush right after a flush. */
        if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return EL_STEP_ERROR;
        }
        if (span->out_nbytes_avail == 0) {
            return EL_STEP_MORE;
        }
        if (span->in_nbytes == 0 && op != EL_FINISH) {
            return EL_STEP_OK;
        }
        if (rc == Z_BUF_ERROR) {
            return EL_STEP_ERROR;
        }
    }
}

static void zlib_free(el_context_t *base)
{
    deflateEnd(&((zlib_context_t *)base)->z);
    el_context_deallocate(base);
}

const el_engine_t el_engine_zlib = {
    .name = "zlib",
    .coding = EL_GZIP,
    .level_min = Z_BEST_SPEED,
    .level_max = Z_BEST_COMPRESSION,
    .costs = el_costs_zlib,
    .version = zlibVersion,
    .key = zlib_key,
    .create = zlib_create,
    .reset = zlib_reset,
    .step = zlib_step,
    .free = zlib_free,
};

/* The beginning of a gzip member (RFC 1952 §2.3.1). */
static const uint8_t magic[] = {0x1f, 0x8b};

struct el_decoding {
    z_stream z;
    bool ended;  /* after a member, and before another one's magic number */
    size_t seen; /* bytes of the next magic number */
};

static el_decoding_t *zlib_gunzip_open(el_account_t *account)
{
    el_decoding_t *decoding = calloc(1, sizeof(*decoding));

    if (!decoding) {
        return NULL;
    }
    decoding->z = (z_stream){.zalloc = zlib_acquire_memory, .zfree = el_memory_release,
                             .opaque = account};
    /* RFC 1951's largest window, 32 KB. */
    if (inflateInit2(&decoding->z, MAX_WBITS + GZIP) != Z_OK) {
        free(decoding);
        return NULL;
    }
    return decoding;
}

/* After a member: begins the next one if its magic number follows. */
static bool zlib_begin_member(el_decoding_t *decoding, el_span_t *span)
{
    uint8_t nothing;
    el_span_t begin = {magic, sizeof(magic), &nothing, 0};

    while (decoding->seen < sizeof(magic) && span->in_nbytes > 0
           && *span->in == magic[decoding->seen]) {
        el_span_advance(span, 1, 0);
        decoding->seen++;
    }
    if (decoding->seen < sizeof(magic)) {
        return false;
    }
    /* Neither can fail: the stream is valid, and so is the magic number. */
    inflateReset(&decoding->z);
    zlib_call(inflate, &decoding->z, Z_NO_FLUSH, &begin);
    decoding->ended = false;
    decoding->seen = 0;
    return true;
}

/* Decodes all members; skips header fields and verifies trailers. */
static el_decode_t zlib_gunzip_step(el_decoding_t *decoding, el_span_t *span)
{
    for (;;) {
        int rc;

        if (decoding->ended && !zlib_begin_member(decoding, span)) {
            return decoding->seen > 0 && span->in_nbytes == 0 ? EL_DECODE_NEED_INPUT
                                                              : EL_DECODE_ENDED;
        }
        rc = zlib_call(inflate, &decoding->z, Z_NO_FLUSH, span);
        if (rc == Z_STREAM_END) {
            decoding->ended = true;
            continue;
        }
        if (rc == Z_MEM_ERROR) {
            return EL_DECODE_NO_MEMORY;
        }
        /* Z_BUF_ERROR means no progress: no input, or no room. */
        if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return EL_DECODE_DAMAGED;
        }
        if (span->out_nbytes_avail == 0) {
            return EL_DECODE_FULL;
        }
        if (span->in_nbytes == 0) {
            return EL_DECODE_NEED_INPUT;
        }
    }
}

static void zlib_gunzip_close(el_decoding_t *decoding)
{
    if (decoding) {
        inflateEnd(&decoding->z);
        free(decoding);
    }
}

const el_decoder_t el_decoder_zlib = {
    .name = "zlib",
    .coding = EL_GZIP,
    .open = zlib_gunzip_open,
    .step = zlib_gunzip_step,
    .close = zlib_gunzip_close,
};
