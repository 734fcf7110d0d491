/* br by libbrotlienc and libbrotlidec (RFC 7932). All access to them goes through this file. */
#include "engines/library.h"

#include "engines/memory.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * mod_brotli's default window. A larger one costs each decoder its size in memory and gains nothing
 * for bodies below 256 KB.
 */
#define WINDOW_BITS 18

/*
 * At qualities 0 and 1 the encoder ends a block with each call: pieces of 8 KB make a body twice as
 * large as pieces of GATHER_SIZE, and take longer. So input is gathered first.
 */
#define GATHER_QUALITY_MAX 1
#define GATHER_SIZE (64 * 1024)

/*
 * The library has no reset: each body takes a new encoder, in memory that the context keeps. An
 * encoder holds about ten pieces at a time, at the highest qualities twice as many.
 */
#define PIECES 64

typedef struct {
    void *memory;
    size_t nbytes;
    bool used;
} piece_t;

/*
 * As built by distributions, the library ends the process if an allocation fails. So a failing
 * allocation jumps out of the library instead; all of its memory is in the pieces.
 */
typedef struct {
    el_context_t base;
    BrotliEncoderState *encoder; /* NULL: none, or lost by a jump */
    jmp_buf escape;              /* set before each call of the library */
    int level;
    uint8_t *gathered;           /* allocated by the first stream that needs it */
    size_t filled;
    size_t taken;                /* of these, taken by the encoder */
    el_head_t head;              /* of dcb; empty for br */
    piece_t piece[PIECES];
} brotli_context_t;

/*
 * The library's allocator: jumps instead of returning NULL. Takes the smallest free piece that is
 * large enough and at most twice as large. Otherwise allocates a new one, in an empty place or in
 * place of a free piece, whose memory it frees.
 */
static void *brotli_acquire_memory(void *opaque, size_t nbytes)
{
    brotli_context_t *context = opaque;
    piece_t *best = NULL, *empty = NULL, *unused = NULL;

    for (piece_t *p = context->piece; p < context->piece + PIECES; p++) {
        if (!p->memory) {
            empty = empty ? empty : p;
        } else if (!p->used) {
            bool fits = p->nbytes >= nbytes && p->nbytes / 2 <= nbytes;

            unused = p;
            best = fits && (!best || p->nbytes < best->nbytes) ? p : best;
        }
    }
    if (!best) {
        best = empty ? empty : unused;
        if (best) {
            el_memory_release(&context->base.account, best->memory);
            best->memory = el_memory_acquire(&context->base.account, nbytes);
            best->nbytes = nbytes;
        }
        if (!best || !best->memory) {
            longjmp(context->escape, 1);
        }
    }
    best->used = true;
    return best->memory;
}

static void brotli_release_memory(void *opaque, void *memory)
{
    brotli_context_t *context = opaque;

    for (piece_t *p = context->piece; memory && p < context->piece + PIECES; p++) {
        if (p->memory == memory) {
            p->used = false;
        }
    }
}

/* After a jump the encoder must not be called, not even to be destroyed. */
static void brotli_abandon(brotli_context_t *context)
{
    context->encoder = NULL;
    for (piece_t *p = context->piece; p < context->piece + PIECES; p++) {
        p->used = false;
    }
}

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

/* Tables depend on the quality and the window, other memory on the length. */
static uint32_t brotli_key(const el_setup_t *setup)
{
    return (uint32_t)setup->level << 24 | (uint32_t)setup->window_bits << 16
           | (uint32_t)setup->block_bits << 8 | el_memory_class(setup->size_hint);
}

static el_context_t *brotli_create(const el_setup_t *setup)
{
    (void)setup;
    return el_context_allocate(sizeof(brotli_context_t));
}

static bool brotli_reset(el_context_t *base, const el_setup_t *setup)
{
    brotli_context_t *context = (brotli_context_t *)base;
    /* The hint has 32 bits; the encoder treats all larger bodies alike. */
    const uint32_t hint = setup->size_hint > UINT32_MAX ? UINT32_MAX : (uint32_t)setup->size_hint;
    const int window_bits = setup->window_bits ? setup->window_bits : WINDOW_BITS;

    if (context->encoder) {
        BrotliEncoderDestroyInstance(context->encoder);
    }
    context->level = setup->level;
    context->filled = context->taken = 0;
    context->encoder = NULL;
    if (setjmp(context->escape)) {
        brotli_abandon(context);
        return false;
    }
    context->encoder = BrotliEncoderCreateInstance(brotli_acquire_memory, brotli_release_memory,
                                                   context);
    return context->encoder
           && BrotliEncoderSetParameter(context->encoder, BROTLI_PARAM_QUALITY,
                                        (uint32_t)setup->level)
           && BrotliEncoderSetParameter(context->encoder, BROTLI_PARAM_LGWIN, (uint32_t)window_bits)
           && BrotliEncoderSetParameter(context->encoder, BROTLI_PARAM_LGBLOCK,
                                        (uint32_t)setup->block_bits)
           && BrotliEncoderSetParameter(context->encoder, BROTLI_PARAM_SIZE_HINT, hint);
}

static el_step_t brotli_run(brotli_context_t *context, el_op_t op, el_span_t *span)
{
    static const BrotliEncoderOperation operation[] = {
        [EL_RUN] = BROTLI_OPERATION_PROCESS,
        [EL_FLUSH] = BROTLI_OPERATION_FLUSH,
        [EL_FINISH] = BROTLI_OPERATION_FINISH,
    };
    BrotliEncoderState *encoder = context->encoder;

    if (!encoder) {
        return EL_STEP_ERROR;
    }
    if (setjmp(context->escape)) {
        brotli_abandon(context);
        return EL_STEP_ERROR;
    }
    do {
        if (!BrotliEncoderCompressStream(encoder, operation[op], &span->in_nbytes, &span->in,
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

/* Passes the gathered bytes to the encoder; `op` applies after the last of them. */
static el_step_t brotli_encode_gathered(brotli_context_t *context, el_op_t op, el_span_t *span)
{
    el_span_t inner = *span;
    el_step_t result;

    inner.in = context->gathered + context->taken;
    inner.in_nbytes = context->filled - context->taken;
    result = brotli_run(context, op, &inner);
    context->taken = context->filled - inner.in_nbytes;
    span->out = inner.out;
    span->out_nbytes_avail = inner.out_nbytes_avail;
    if (result == EL_STEP_OK) {
        context->filled = context->taken = 0;
    }
    return result;
}

static el_step_t brotli_step(el_context_t *base, el_op_t op, el_span_t *span)
{
    brotli_context_t *context = (brotli_context_t *)base;
    el_step_t result = EL_STEP_OK;

    if (!el_head_put(&context->head, span)) {
        return EL_STEP_MORE;
    }
    if (context->level > GATHER_QUALITY_MAX) {
        return brotli_run(context, op, span);
    }
    if (!context->gathered) {
        context->gathered = el_memory_acquire(&base->account, GATHER_SIZE);
        result = context->gathered ? EL_STEP_OK : EL_STEP_ERROR;
    }
    while (result == EL_STEP_OK) {
        /* Do not add bytes while the encoder has taken only a part. */
        if (context->taken == 0 && span->in_nbytes > 0) {
            size_t room = GATHER_SIZE - context->filled;
            size_t nbytes = span->in_nbytes < room ? span->in_nbytes : room;

            memcpy(context->gathered + context->filled, span->in, nbytes);
            context->filled += nbytes;
            el_span_advance(span, nbytes, 0);
        }
        if (span->in_nbytes == 0 && (op != EL_RUN || context->filled < GATHER_SIZE)) {
            return op == EL_RUN ? EL_STEP_OK : brotli_encode_gathered(context, op, span);
        }
        result = brotli_encode_gathered(context, EL_RUN, span);
    }
    return result;
}

/* A whole body needs no gathering. */
static el_step_t brotli_encode(el_context_t *base, el_span_t *span)
{
    return brotli_run((brotli_context_t *)base, EL_FINISH, span);
}

static void brotli_free(el_context_t *base)
{
    brotli_context_t *context = (brotli_context_t *)base;

    if (context->encoder) {
        BrotliEncoderDestroyInstance(context->encoder);
    }
    for (size_t i = 0; i < PIECES; i++) {
        el_memory_release(&base->account, context->piece[i].memory);
    }
    el_memory_release(&base->account, context->gathered);
    el_context_deallocate(base);
}

const el_engine_t el_engine_brotli = {
    .name = "brotli",
    .coding = EL_BR,
    .level_min = BROTLI_MIN_QUALITY,
    .level_max = BROTLI_MAX_QUALITY,
    .costs = el_costs_brotli,
    .version = brotli_version,
    .key = brotli_key,
    .create = brotli_create,
    .reset = brotli_reset,
    .step = brotli_step,
    .encode = brotli_encode,
    .free = brotli_free,
};

#ifdef ELASTIC_WITH_DCB
/* Lower qualities do not search dictionaries; higher ones take far more time. */
#define DCB_QUALITY_MIN 5
#define DCB_QUALITY_MAX 9

/* Blocks that the library allocates while it prepares a dictionary, plus one. */
#define DCB_BLOCKS 4

/* The library keeps pointers into `bytes`. */
typedef struct {
    BrotliEncoderPreparedDictionary *dictionary;
    el_account_t *account;
    jmp_buf escape; /* as in brotli_context_t */
    void *block[DCB_BLOCKS];
    uint8_t bytes[];
} dcb_prepared_t;

/* The library's allocator: jumps instead of returning NULL. */
static void *brotli_acquire_block(void *opaque, size_t nbytes)
{
    dcb_prepared_t *prepared = opaque;

    for (size_t i = 0; i < DCB_BLOCKS; i++) {
        if (!prepared->block[i]) {
            prepared->block[i] = el_memory_acquire(prepared->account, nbytes);
            if (prepared->block[i]) {
                return prepared->block[i];
            }
            break;
        }
    }
    longjmp(prepared->escape, 1);
}

static void brotli_release_block(void *opaque, void *memory)
{
    dcb_prepared_t *prepared = opaque;

    for (size_t i = 0; memory && i < DCB_BLOCKS; i++) {
        if (prepared->block[i] == memory) {
            el_memory_release(prepared->account, memory);
            prepared->block[i] = NULL;
        }
    }
}

static void brotli_dcb_discard(el_dictionary_t *dictionary)
{
    dcb_prepared_t *prepared = dictionary->prepared;

    for (size_t i = 0; i < DCB_BLOCKS; i++) {
        el_memory_release(prepared->account, prepared->block[i]);
    }
    el_memory_release(prepared->account, prepared);
    dictionary->prepared = NULL;
}

static bool brotli_dcb_prepare(el_dictionary_t *dictionary, const uint8_t *bytes)
{
    size_t nbytes = dictionary->nbytes;
    dcb_prepared_t *prepared = el_memory_acquire(&dictionary->account, sizeof(*prepared) + nbytes);

    if (!prepared) {
        return false;
    }
    memset(prepared, 0, sizeof(*prepared));
    memcpy(prepared->bytes, bytes, nbytes);
    prepared->account = &dictionary->account;
    dictionary->prepared = prepared;
    if (!setjmp(prepared->escape)) {
        prepared->dictionary = BrotliEncoderPrepareDictionary(
            BROTLI_SHARED_DICTIONARY_RAW, nbytes, prepared->bytes, DCB_QUALITY_MIN,
            brotli_acquire_block, brotli_release_block, prepared);
    }
    if (!prepared->dictionary) {
        brotli_dcb_discard(dictionary);
    }
    return dictionary->prepared != NULL;
}

/* The bytes, four more for each of them, and the library's table of positions. */
static size_t brotli_dcb_prepared_nbytes(size_t nbytes, int level)
{
    size_t places = (size_t)1 << 17, head = 64 * 1024;

    (void)level;
    while (places * 16 < nbytes && places < (size_t)1 << 22) {
        places *= 2;
    }
    return sizeof(dcb_prepared_t) + head + nbytes * 5 + places * 2;
}

static bool brotli_dcb_reset(el_context_t *base, const el_setup_t *setup)
{
    brotli_context_t *context = (brotli_context_t *)base;
    const dcb_prepared_t *prepared = setup->dictionary->prepared;

    context->head = el_head_of(EL_DCB, setup);
    return brotli_reset(base, setup)
           && BrotliEncoderAttachPreparedDictionary(context->encoder, prepared->dictionary);
}

const el_engine_t el_engine_dcb = {
    .name = "brotli",
    .coding = EL_DCB,
    .level_min = DCB_QUALITY_MIN,
    .level_max = DCB_QUALITY_MAX,
    .costs = el_costs_brotli + DCB_QUALITY_MIN, /* if nothing is in the dictionary */
    .version = brotli_version,
    .key = brotli_key,
    .create = brotli_create,
    .reset = brotli_dcb_reset,
    .step = brotli_step,
    .free = brotli_free,
    .prepare = brotli_dcb_prepare,
    .prepared_nbytes = brotli_dcb_prepared_nbytes,
    .discard = brotli_dcb_discard,
};
#endif

/* A decoding is just the library's state. */
static el_decoding_t *brotli_decoder_open(el_account_t *account)
{
    /* Large windows stay off: RFC 7932 does not have them. The largest window is 16 MB. */
    return (el_decoding_t *)BrotliDecoderCreateInstance(el_memory_acquire, el_memory_release,
                                                        account);
}

static el_decode_t brotli_decoder_step(el_decoding_t *decoding, el_span_t *span)
{
    BrotliDecoderState *state = (BrotliDecoderState *)decoding;
    BrotliDecoderErrorCode code;

    switch (BrotliDecoderDecompressStream(state, &span->in_nbytes, &span->in,
                                          &span->out_nbytes_avail, &span->out, NULL)) {
    case BROTLI_DECODER_RESULT_SUCCESS:
        return EL_DECODE_ENDED;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return EL_DECODE_FULL;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        /* The library also returns this if the output is full. */
        return BrotliDecoderHasMoreOutput(state) ? EL_DECODE_FULL : EL_DECODE_NEED_INPUT;
    default:
        code = BrotliDecoderGetErrorCode(state);
        /* The codes in this range all mean lack of memory. */
        return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES
                       && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
                   ? EL_DECODE_NO_MEMORY
                   : EL_DECODE_DAMAGED;
    }
}

static void brotli_decoder_close(el_decoding_t *decoding)
{
    BrotliDecoderDestroyInstance((BrotliDecoderState *)decoding);
}

const el_decoder_t el_decoder_brotli = {
    .name = "brotli",
    .coding = EL_BR,
    .open = brotli_decoder_open,
    .step = brotli_decoder_step,
    .close = brotli_decoder_close,
};
