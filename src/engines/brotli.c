/* br by libbrotlienc (RFC 7932): all access to the library goes through this file. */
#include "engines.h"

#include <brotli/encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The window, as mod_brotli's default has it. Every larger one costs each decoder its size in
 * memory and buys nothing for bodies below 256 KB.
 */
#define WINDOW_BITS 18

/*
 * At qualities 0 and 1 the encoder closes a block with each call, however little it was given:
 * pieces of 8 KB make a body twice as large as pieces of this size, and take longer. They are
 * gathered first.
 */
#define GATHER_QUALITY_MAX 1
#define GATHER_SIZE (64 * 1024)

struct el_stream {
    BrotliEncoderState *encoder;
    uint8_t *gathered; /* NULL where the quality needs no gathering */
    size_t filled;
    size_t taken; /* of what is filled, by the encoder */
};

static const char *brotli_version(void)
{
    static _Thread_local char text[16];
    uint32_t version = BrotliEncoderVersion();

    if (!text[0]) {
        snprintf(text, sizeof(text), "%u.%u.%u", (unsigned)(version >> 24),
                 (unsigned)(version >> 12) & 0xfff, (unsigned)version & 0xfff);
    }
    return text;
}

static void brotli_close(el_stream_t *stream)
{
    if (stream) {
        BrotliEncoderDestroyInstance(stream->encoder);
        free(stream->gathered);
        free(stream);
    }
}

static bool set_parameters(BrotliEncoderState *encoder, const el_setup_t *setup)
{
    int window_bits = setup->window_bits ? setup->window_bits : WINDOW_BITS;
    /* The hint is 32 bits wide; anything that large is only "large" to the encoder. */
    uint64_t hint = setup->size_hint > UINT32_MAX ? UINT32_MAX : setup->size_hint;

    return BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, (uint32_t)setup->level)
           && BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, (uint32_t)window_bits)
           && BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGBLOCK, (uint32_t)setup->block_bits)
           && BrotliEncoderSetParameter(encoder, BROTLI_PARAM_SIZE_HINT, (uint32_t)hint);
}

static el_stream_t *brotli_open(const el_setup_t *setup)
{
    el_stream_t *stream = calloc(1, sizeof(*stream));

    if (!stream) {
        return NULL;
    }
    stream->encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);
    if (!stream->encoder) {
        free(stream);
        return NULL;
    }
    if (!set_parameters(stream->encoder, setup)) {
        brotli_close(stream);
        return NULL;
    }
    if (setup->level <= GATHER_QUALITY_MAX) {
        stream->gathered = malloc(GATHER_SIZE);
        if (!stream->gathered) {
            brotli_close(stream);
            return NULL;
        }
    }
    return stream;
}

static BrotliEncoderOperation brotli_operation(el_op_t op)
{
    switch (op) {
    case EL_FLUSH:
        return BROTLI_OPERATION_FLUSH;
    case EL_FINISH:
        return BROTLI_OPERATION_FINISH;
    default:
        return BROTLI_OPERATION_PROCESS;
    }
}

static el_step_t encode(BrotliEncoderState *encoder, el_op_t op, el_span_t *span)
{
    do {
        if (!BrotliEncoderCompressStream(encoder, brotli_operation(op), &span->in_nbytes, &span->in,
                                         &span->out_nbytes_avail, &span->out, NULL)) {
            return EL_STEP_ERROR;
        }
        if (op == EL_FINISH ? BrotliEncoderIsFinished(encoder)
                            : span->in_nbytes == 0 && !BrotliEncoderHasMoreOutput(encoder)) {
            return EL_STEP_OK;
        }
    } while (span->out_nbytes_avail > 0);
    return EL_STEP_MORE;
}

static void gather(el_stream_t *stream, el_span_t *span)
{
    size_t room = GATHER_SIZE - stream->filled;
    size_t nbytes = span->in_nbytes < room ? span->in_nbytes : room;

    if (nbytes > 0) {
        memcpy(stream->gathered + stream->filled, span->in, nbytes);
        stream->filled += nbytes;
        span->in += nbytes;
        span->in_nbytes -= nbytes;
    }
}

/* Gives the encoder what was gathered; `op` is for the last of it. */
static el_step_t encode_gathered(el_stream_t *stream, el_op_t op, el_span_t *span)
{
    el_span_t inner = *span;
    el_step_t result;

    inner.in = stream->gathered + stream->taken;
    inner.in_nbytes = stream->filled - stream->taken;
    result = encode(stream->encoder, op, &inner);
    stream->taken = stream->filled - inner.in_nbytes;
    span->out = inner.out;
    span->out_nbytes_avail = inner.out_nbytes_avail;
    if (result == EL_STEP_OK) {
        stream->filled = stream->taken = 0;
    }
    return result;
}

static el_step_t brotli_step(el_stream_t *stream, el_op_t op, el_span_t *span)
{
    el_step_t result = EL_STEP_OK;

    if (!stream->gathered) {
        return encode(stream->encoder, op, span);
    }
    while (result == EL_STEP_OK) {
        /* Once the encoder has begun with the gathered bytes, none may be added. */
        if (stream->taken == 0) {
            gather(stream, span);
        }
        if (span->in_nbytes == 0 && (op != EL_RUN || stream->filled < GATHER_SIZE)) {
            return op == EL_RUN ? EL_STEP_OK : encode_gathered(stream, op, span);
        }
        result = encode_gathered(stream, EL_RUN, span);
    }
    return result;
}

const el_engine_t el_engine_brotli = {
    .name = "brotli",
    .coding = EL_BR,
    .level_min = BROTLI_MIN_QUALITY,
    .level_max = BROTLI_MAX_QUALITY,
    .version = brotli_version,
    .open = brotli_open,
    .step = brotli_step,
    .close = brotli_close,
};
