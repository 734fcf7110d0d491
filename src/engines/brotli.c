/* br by libbrotlienc (RFC 7932): all access to the library goes through this file. */
#include "engines.h"

#include <brotli/encode.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The window, as mod_brotli's default has it. Every larger one costs each decoder its size in memory and
 * buys nothing for bodies below 256 KB.
 */
#define WINDOW_BITS 18

struct el_stream {
    BrotliEncoderState *encoder;
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
        free(stream);
    }
}

static el_stream_t *brotli_open(int level, uint64_t size_hint)
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
    /* The hint is 32 bits wide; anything that large is only "large" to the encoder. */
    if (size_hint > UINT32_MAX) {
        size_hint = UINT32_MAX;
    }
    if (!BrotliEncoderSetParameter(stream->encoder, BROTLI_PARAM_QUALITY, (uint32_t)level)
        || !BrotliEncoderSetParameter(stream->encoder, BROTLI_PARAM_LGWIN, WINDOW_BITS)
        || !BrotliEncoderSetParameter(stream->encoder, BROTLI_PARAM_SIZE_HINT,
                                      (uint32_t)size_hint)) {
        brotli_close(stream);
        return NULL;
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

static el_step_t brotli_step(el_stream_t *stream, el_op_t op, el_span_t *span)
{
    BrotliEncoderState *encoder = stream->encoder;

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
