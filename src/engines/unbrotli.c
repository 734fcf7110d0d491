/* br undone by libbrotlidec (RFC 7932): all access to the library goes through this file. */
#include "engines/unbrotli.h"

#include "engines/memory.h"

#include <brotli/decode.h>

/* The library's state is the whole of a decoding. */
static BrotliDecoderState *state_of(el_decoding_t *decoding)
{
    return (BrotliDecoderState *)decoding;
}

static el_decoding_t *unbrotli_open(el_account_t *account)
{
    /* Large windows, which RFC 7932 does not know, stay off: a body may ask for 16 MB at most. */
    return (el_decoding_t *)BrotliDecoderCreateInstance(el_memory_acquire, el_memory_release,
                                                        account);
}

static el_decode_t failure(const BrotliDecoderState *state)
{
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);

    /* The codes from the one to the other are all of memory. */
    return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES
                   && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
               ? EL_DECODE_NO_MEMORY
               : EL_DECODE_DAMAGED;
}

static el_decode_t unbrotli_step(el_decoding_t *decoding, el_span_t *span)
{
    BrotliDecoderState *state = state_of(decoding);

    switch (BrotliDecoderDecompressStream(state, &span->in_nbytes, &span->in,
                                          &span->out_nbytes_avail, &span->out, NULL)) {
    case BROTLI_DECODER_RESULT_SUCCESS:
        return EL_DECODE_ENDED;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return EL_DECODE_FULL;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        /* It says so too where it has output left for which there was no room. */
        return BrotliDecoderHasMoreOutput(state) ? EL_DECODE_FULL : EL_DECODE_NEED_INPUT;
    default:
        return failure(state);
    }
}

static void unbrotli_close(el_decoding_t *decoding)
{
    BrotliDecoderDestroyInstance(state_of(decoding));
}

const el_decoder_t el_decoder_brotli = {
    .name = "brotli",
    .coding = EL_BR,
    .open = unbrotli_open,
    .step = unbrotli_step,
    .close = unbrotli_close,
};
