/* zstd by libzstd (RFC 8878), encoded and decoded. All access to the library is in this file. */
#include "engines/library.h"

#include "engines/memory.h"

#include <stddef.h>
#include <stdlib.h>
/* For ZSTD_create…Ctx_advanced(): in every libzstd since 1.0, also in shared ones. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

/*
 * The window covers a body of up to 1 MB. That is far below the 8 MB beyond which browsers refuse a
 * frame (RFC 9659 §3).
 */
#define WINDOW_BITS_MIN 10 /* RFC 8878 §3.1.1.1.2 */
#define WINDOW_BITS_MAX 20

/*
 * The window of larger bodies and of those of unknown length, as for br: a stream keeps it in
 * memory, and the tables grow with it.
 */
#define WINDOW_BITS_STREAM 18

/*
 * The library's tables for these levels are meant for windows of megabytes: a stream at level 9
 * would have 13 MB. With these sizes bodies of up to 300 KB grow by at most 0.3 % and take less
 * time. Bodies of up to TABLES_OWN bytes have smaller tables anyway.
 */
#define TABLES_LEVEL_MIN 5
#define TABLES_OWN (128 * 1024)
#define HASH_BITS 18
#define CHAIN_BITS 17

/*
 * These levels are for the least bytes: their tables are the library's or, for a stream, as large
 * as its window can use.
 */
#define THOROUGH_LEVEL_MIN 13
#define THOROUGH_BITS (WINDOW_BITS_STREAM + 1)

/*
 * A decoder outputs nothing of a block before the block's last byte, and the library makes blocks
 * of 128 KB of text (RFC 8878 §3.1.1.2). Browsers should get the head of a page, with its style
 * sheets and scripts, from the first two segments, and half of the page after two thirds of the
 * segments. So blocks end early: the first after 5 KB, each next one after three times as much, and
 * one at five eighths of a body of known length. The rest is left to the library. 4 KB would do no
 * better, and 8 KB of HTML are more than two segments. Growth by two takes one more block, thus
 * more bytes; with growth by four too little has arrived at half of the time.
 */
#define BLOCK_FIRST ((uint64_t)5 * 1024)
#define BLOCK_GROWTH 3
#define BLOCK_MOST ((uint64_t)64 * 1024)
/*
 * Bodies of unknown length, or of more than 1 MB, have no early blocks after this: the next 128 KB
 * are a third of the text so far.
 */
#define BLOCKS_END ((uint64_t)256 * 1024)
#define LENGTH_COUNTS (4 * BLOCKS_END)
/*
 * Four segments arrive together. Bodies of up to 16 KB are seldom longer and get one block. Larger
 * ones that are expected to stay below AT_ONCE get only the first early block. With 24 KB, a fifth
 * of all responses of five segments and more had no text before their end; 10 KB would cost 0.2 %
 * of all bytes to help one response in a hundred.
 */
#define ONE_BLOCK ((uint64_t)16 * 1024)
#define AT_ONCE ((uint64_t)4 * 1448)
/*
 * Most pages are either nearly all in their dictionary or hardly at all. If nearly all is, a
 * block's own tables are costly: if the whole body is expected to take two segments, only one more
 * block follows. 16 KB of pages like others of their site would be three segments.
 */
#define DCZ_ONE_BLOCK ((uint64_t)24 * 1024)
#define DCZ_BLOCK_FIRST ((uint64_t)8 * 1024)
#define DCZ_AT_ONCE ((uint64_t)2 * 1448)

/* The blocks of a body. */
typedef struct {
    uint64_t size;    /* of the body; 0: unknown or ignored */
    uint64_t at_once; /* expected encoded bytes of a body that need no further block */
    uint64_t begin;   /* bytes of the body before the current block */
    uint64_t made;    /* encoded bytes of those */
    uint64_t block;   /* length of the block; UINT64_MAX: the rest, in the library's own blocks */
    uint64_t left;    /* bytes of the block still to come */
} blocks_t;

typedef struct {
    el_context_t base;
    ZSTD_CCtx *encoder;
    blocks_t blocks;
    el_head_t head; /* of dcz; empty for zstd */
} zstd_context_t;

/* Begins the block at `begin`, of `length` bytes or shorter. */
static void zstd_block_begin(blocks_t *blocks, uint64_t begin, uint64_t length)
{
    uint64_t size = blocks->size;
    bool last = size ? begin >= size / 2 || blocks->made * size < blocks->at_once * begin
                     : begin >= BLOCKS_END;

    if (size && begin + length > size / 8 * 5) {
        length = size / 8 * 5 - begin;
    }
    blocks->begin = begin;
    blocks->block = blocks->left = last ? UINT64_MAX : length;
}

/* Begins the block after the current one. */
static void zstd_block_next(blocks_t *blocks)
{
    uint64_t longer = blocks->block * BLOCK_GROWTH;

    zstd_block_begin(blocks, blocks->begin + blocks->block,
                     longer < BLOCK_MOST ? longer : BLOCK_MOST);
}

/* The blocks of a body of `size` bytes (0: unknown). */
static blocks_t zstd_blocks_of(uint64_t size, uint64_t one_block, uint64_t first, uint64_t at_once)
{
    blocks_t blocks = {.size = size <= LENGTH_COUNTS ? size : 0, .at_once = at_once};

    if (size && size <= one_block) {
        blocks.block = blocks.left = UINT64_MAX;
    } else {
        zstd_block_begin(&blocks, 0, first);
    }
    return blocks;
}

/* Tables depend on the level and, below a megabyte, on the length. */
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

static bool zstd_set(ZSTD_CCtx *encoder, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(encoder, parameter, value));
}

/*
 * Tells the library that body and output stay in place, so that it copies neither. Before 1.5.4 it
 * accepts that only for a body in one call.
 */
static bool zstd_set_in_place(ZSTD_CCtx *encoder, bool in_place)
{
    return (ZSTD_versionNumber() < 10504 || zstd_set(encoder, ZSTD_c_stableInBuffer, in_place))
           && zstd_set(encoder, ZSTD_c_stableOutBuffer, in_place);
}

static bool zstd_reset(el_context_t *base, const el_setup_t *setup)
{
    ZSTD_CCtx *encoder = ((zstd_context_t *)base)->encoder;
    uint64_t size = setup->size_hint;
    bool stream = !size || size > UINT64_C(1) << WINDOW_BITS_MAX;
    int hash_bits = 0, chain_bits = 0; /* 0: the library's choice */
    int window_bits = stream ? WINDOW_BITS_STREAM : WINDOW_BITS_MIN;

    /*
     * The smallest window that holds the body: the frame then needs no window of its own, and
     * decoders need little memory.
     */
    while (!stream && UINT64_C(1) << window_bits < size) {
        window_bits++;
    }
    if (setup->level >= THOROUGH_LEVEL_MIN) {
        hash_bits = chain_bits = stream ? THOROUGH_BITS : 0;
    } else if (setup->level >= TABLES_LEVEL_MIN && (stream || size > TABLES_OWN)) {
        hash_bits = HASH_BITS;
        chain_bits = CHAIN_BITS;
    }
    ((zstd_context_t *)base)->blocks = zstd_blocks_of(size, ONE_BLOCK, BLOCK_FIRST, AT_ONCE);
    return !ZSTD_isError(ZSTD_CCtx_reset(encoder, ZSTD_reset_session_only))
           && zstd_set_in_place(encoder, false)
           && zstd_set(encoder, ZSTD_c_compressionLevel, setup->level)
           && zstd_set(encoder, ZSTD_c_windowLog, window_bits)
           && zstd_set(encoder, ZSTD_c_hashLog, hash_bits)
           && zstd_set(encoder, ZSTD_c_chainLog, chain_bits)
           && zstd_set(encoder, ZSTD_c_contentSizeFlag, 1)
           && zstd_set(encoder, ZSTD_c_checksumFlag, 0)
           && !ZSTD_isError(
               ZSTD_CCtx_setPledgedSrcSize(encoder, size ? size : ZSTD_CONTENTSIZE_UNKNOWN));
}

static el_step_t zstd_step(el_context_t *base, el_op_t op, el_span_t *span)
{
    static const ZSTD_EndDirective operation[] = {
        [EL_RUN] = ZSTD_e_continue,
        [EL_FLUSH] = ZSTD_e_flush,
        [EL_FINISH] = ZSTD_e_end,
    };
    zstd_context_t *context = (zstd_context_t *)base;
    blocks_t *blocks = &context->blocks;

    if (!el_head_put(&context->head, span)) {
        return EL_STEP_MORE;
    }
    for (;;) {
        /* Not if the body may end with the block: its end would need one more block. */
        bool ends_block = blocks->left < span->in_nbytes;
        ZSTD_EndDirective directive = ends_block ? ZSTD_e_flush : operation[op];
        ZSTD_inBuffer in = {span->in, ends_block ? (size_t)blocks->left : span->in_nbytes, 0};
        ZSTD_outBuffer out = {span->out, span->out_nbytes_avail, 0};
        size_t held = ZSTD_compressStream2(context->encoder, &out, &in, directive);
        bool done = in.pos == in.size && (directive == ZSTD_e_continue || held == 0);

        if (ZSTD_isError(held)) {
            return EL_STEP_ERROR;
        }
        el_span_advance(span, in.pos, out.pos);
        blocks->left -= in.pos;
        blocks->made += out.pos;
        if (done && ends_block) {
            zstd_block_next(blocks);
        } else if (done) {
            return EL_STEP_OK;
        } else if (span->out_nbytes_avail == 0) {
            return EL_STEP_MORE;
        }
    }
}

static el_step_t zstd_encode(el_context_t *base, el_span_t *span)
{
    zstd_context_t *context = (zstd_context_t *)base;
    blocks_t *blocks = &context->blocks;
    ZSTD_inBuffer in = {span->in, span->in_nbytes, 0};
    ZSTD_outBuffer out;
    size_t held = 0; /* bytes that the library still holds, or an error */

    if (!el_head_put(&context->head, span)) {
        return EL_STEP_MORE;
    }
    if (!zstd_set_in_place(context->encoder, true)) {
        return EL_STEP_ERROR;
    }
    out = (ZSTD_outBuffer){span->out, span->out_nbytes_avail, 0};
    while (!ZSTD_isError(held) && blocks->left < span->in_nbytes - in.pos) {
        in.size = in.pos + (size_t)blocks->left;
        held = ZSTD_compressStream2(context->encoder, &out, &in, ZSTD_e_flush);
        blocks->made = out.pos;
        zstd_block_next(blocks);
    }
    in.size = span->in_nbytes;
    if (!ZSTD_isError(held)) {
        held = ZSTD_compressStream2(context->encoder, &out, &in, ZSTD_e_end);
    }
    if (ZSTD_isError(held)) {
        return ZSTD_getErrorCode(held) == ZSTD_error_dstSize_tooSmall ? EL_STEP_MORE
                                                                      : EL_STEP_ERROR;
    }
    el_span_advance(span, in.pos, out.pos);
    return held == 0 ? EL_STEP_OK : EL_STEP_MORE;
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
    .level_max = 19, /* higher ones use windows that browsers refuse */
    .costs = el_costs_zstd,
    .version = ZSTD_versionString,
    .key = zstd_key,
    .create = zstd_create,
    .reset = zstd_reset,
    .step = zstd_step,
    .encode = zstd_encode,
    .free = zstd_free,
};

/* Higher levels take three times the time for one percent fewer bytes. */
#define DCZ_LEVEL_MAX 9

/*
 * RFC 9842 §5: decoders support a window of 8 MB or, if that is more, of 1.25 times the dictionary,
 * up to 128 MB.
 */
#define DCZ_WINDOW_BITS 23
#define DCZ_WINDOW_BITS_MAX 27

/*
 * The tables depend on the level and the dictionary's length. The library's own fit the body as
 * well, and at level 9 they are twenty times as large as a dictionary of 800 KB. Tables with half
 * as many places as the dictionary has bytes make a page at most 1 % larger in the same time.
 */
static ZSTD_compressionParameters zstd_dcz_tables(size_t nbytes, int level)
{
    ZSTD_compressionParameters tables = ZSTD_getCParams(level, ZSTD_CONTENTSIZE_UNKNOWN, nbytes);
    unsigned most = ZSTD_HASHLOG_MIN;

    while ((size_t)2 << most < nbytes) {
        most++;
    }
    tables.hashLog = tables.hashLog < most ? tables.hashLog : most;
    tables.chainLog = tables.chainLog < most ? tables.chainLog : most;
    return tables;
}

typedef struct {
    const ZSTD_CDict *dictionary;        /* in the workspace */
    _Alignas(max_align_t) uint8_t workspace[];
} dcz_prepared_t;

static size_t zstd_dcz_prepared_nbytes(size_t nbytes, int level)
{
    return sizeof(dcz_prepared_t)
           + ZSTD_estimateCDictSize_advanced(nbytes, zstd_dcz_tables(nbytes, level),
                                             ZSTD_dlm_byCopy);
}

static void zstd_dcz_discard(el_dictionary_t *dictionary)
{
    el_memory_release(&dictionary->account, dictionary->prepared);
    dictionary->prepared = NULL;
}

/*
 * As raw content: the library would interpret its own format of dictionaries otherwise. In memory
 * allocated here: up to 1.5.4 the library does not notice when its own allocation fails.
 */
static bool zstd_dcz_prepare(el_dictionary_t *dictionary, const uint8_t *bytes)
{
    size_t nbytes = dictionary->nbytes;
    size_t room = zstd_dcz_prepared_nbytes(nbytes, dictionary->level);
    dcz_prepared_t *prepared = el_memory_acquire(&dictionary->account, room);

    if (!prepared) {
        return false;
    }
    dictionary->prepared = prepared;
    prepared->dictionary =
        ZSTD_initStaticCDict(prepared->workspace, room - sizeof(*prepared), bytes, nbytes,
                             ZSTD_dlm_byCopy, ZSTD_dct_rawContent,
                             zstd_dcz_tables(nbytes, dictionary->level));
    if (!prepared->dictionary) {
        zstd_dcz_discard(dictionary);
    }
    return dictionary->prepared != NULL;
}

/*
 * Uses the dictionary's tables in place: copying them, as the library does for longer bodies, takes
 * two thirds of the time of a page that resembles its dictionary. The checksum is the only way for
 * a decoder to notice a wrong dictionary.
 */
static bool zstd_dcz_reset(el_context_t *base, const el_setup_t *setup)
{
    zstd_context_t *context = (zstd_context_t *)base;
    ZSTD_CCtx *encoder = context->encoder;
    unsigned long long size = setup->size_hint ? setup->size_hint : ZSTD_CONTENTSIZE_UNKNOWN;
    const dcz_prepared_t *prepared = setup->dictionary->prepared;
    uint64_t dictionary = setup->dictionary->nbytes;
    uint64_t wanted = setup->size_hint ? setup->size_hint : dictionary;
    int window = setup->size_hint ? WINDOW_BITS_MIN : WINDOW_BITS_STREAM, most = DCZ_WINDOW_BITS;

    /*
     * The dictionary is in reach until a window of the body has passed. So the window is as large
     * as the body; a body of unknown length is assumed to be as long as the dictionary.
     */
    while (most < DCZ_WINDOW_BITS_MAX && UINT64_C(2) << most <= dictionary + dictionary / 4) {
        most++;
    }
    while (window < most && UINT64_C(1) << window < wanted) {
        window++;
    }
    context->head = el_head_of(EL_DCZ, setup);
    context->blocks = zstd_blocks_of(setup->size_hint, DCZ_ONE_BLOCK, DCZ_BLOCK_FIRST, DCZ_AT_ONCE);
    return !ZSTD_isError(ZSTD_CCtx_reset(encoder, ZSTD_reset_session_only))
           && zstd_set_in_place(encoder, false) && zstd_set(encoder, ZSTD_c_windowLog, window)
           && zstd_set(encoder, ZSTD_c_contentSizeFlag, 1)
           && zstd_set(encoder, ZSTD_c_checksumFlag, 1)
           && zstd_set(encoder, ZSTD_c_forceAttachDict, ZSTD_dictForceAttach)
           && !ZSTD_isError(ZSTD_CCtx_refCDict(encoder, prepared->dictionary))
           && !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(encoder, size));
}

const el_engine_t el_engine_dcz = {
    .name = "zstd",
    .coding = EL_DCZ,
    .level_min = 1,
    .level_max = DCZ_LEVEL_MAX,
    .costs = el_costs_zstd, /* for a body with nothing in common with its dictionary */
    .version = ZSTD_versionString,
    .key = zstd_key,
    .create = zstd_create,
    .reset = zstd_dcz_reset,
    .step = zstd_step,
    .encode = zstd_encode,
    .free = zstd_free,
    .prepare = zstd_dcz_prepare,
    .by_level = true,
    .prepared_nbytes = zstd_dcz_prepared_nbytes,
    .discard = zstd_dcz_discard,
};

/* if nothing is in the dictionary */
#define DECODED_WINDOW_BITS 23

/*
 * The longest header of a frame (RFC 8878 §3.1.1.1). The library gets a header byte by byte,
 * because it decodes a small frame that it gets whole without checking the window.
 */
#define HEADER_MOST 18

/* Magic numbers in little-endian order: of a frame, and the lowest of skippable frames. */
static const uint8_t frame_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
static const uint8_t skipped_magic[] = {0x50, 0x2a, 0x4d, 0x18};

typedef struct {
    ZSTD_DCtx *decoder;
    size_t taken; /* bytes of the frame, counted up to HEADER_MOST */
    bool skips;   /* the frame is skippable */
    bool ended;   /* a frame has ended, and no other has begun */
    bool whole;   /* at least one frame has ended */
    bool full;    /* the output was full: there may be more */
} unzstd_t;

static el_decoding_t *zstd_unzstd_open(el_account_t *account)
{
    unzstd_t *unzstd = calloc(1, sizeof(*unzstd));

    if (!unzstd) {
        return NULL;
    }
    unzstd->decoder = ZSTD_createDCtx_advanced(
        (ZSTD_customMem){el_memory_acquire, el_memory_release, account});
    if (!unzstd->decoder
        || ZSTD_isError(ZSTD_DCtx_setParameter(unzstd->decoder, ZSTD_d_windowLogMax,
                                               DECODED_WINDOW_BITS))) {
        ZSTD_freeDCtx(unzstd->decoder);
        free(unzstd);
        return NULL;
    }
    return (el_decoding_t *)unzstd;
}

/*
 * True if a frame may begin or continue with `byte`. The library also knows formats older than RFC
 * 8878, and notices late that a body has none of them.
 */
static bool zstd_is_frames(unzstd_t *unzstd, uint8_t byte)
{
    if (unzstd->taken == 0) {
        unzstd->skips = (byte & 0xf0) == skipped_magic[0];
        return unzstd->skips || byte == frame_magic[0];
    }
    return unzstd->taken >= sizeof(frame_magic)
           || byte == (unzstd->skips ? skipped_magic : frame_magic)[unzstd->taken];
}

/*
 * Passes the next input to the library: one byte of a frame's header, nothing while output is
 * pending, otherwise everything. Returns the library's error code.
 */
static ZSTD_ErrorCode zstd_decode_portion(unzstd_t *unzstd, el_span_t *span)
{
    bool nothing = unzstd->full || span->in_nbytes == 0;
    size_t portion = nothing ? 0 : unzstd->taken < HEADER_MOST ? 1 : span->in_nbytes;
    ZSTD_inBuffer in = {span->in, portion, 0};
    ZSTD_outBuffer out = {span->out, span->out_nbytes_avail, 0};
    size_t left = ZSTD_decompressStream(unzstd->decoder, &out, &in);

    if (ZSTD_isError(left)) {
        return ZSTD_getErrorCode(left);
    }
    el_span_advance(span, in.pos, out.pos);
    unzstd->ended = left == 0;
    unzstd->whole = unzstd->whole || unzstd->ended;
    unzstd->full = !unzstd->ended && span->out_nbytes_avail == 0;
    if (unzstd->ended) {
        unzstd->taken = 0;
    } else if (unzstd->taken < HEADER_MOST) {
        unzstd->taken += in.pos;
    }
    return ZSTD_error_no_error;
}

/* Decodes successive frames (RFC 8878 §3); drops skippable ones, and verifies checksums. */
static el_decode_t zstd_unzstd_step(el_decoding_t *decoding, el_span_t *span)
{
    unzstd_t *unzstd = (unzstd_t *)decoding;

    while (span->in_nbytes > 0 || unzstd->full) {
        ZSTD_ErrorCode code;

        if (!unzstd->full && !zstd_is_frames(unzstd, *span->in)) {
            return unzstd->whole ? EL_DECODE_ENDED : EL_DECODE_DAMAGED;
        }
        code = zstd_decode_portion(unzstd, span);
        if (code != ZSTD_error_no_error) {
            return code == ZSTD_error_memory_allocation ? EL_DECODE_NO_MEMORY
                   : code == ZSTD_error_frameParameter_windowTooLarge ? EL_DECODE_UNSUPPORTED
                                                                      : EL_DECODE_DAMAGED;
        }
        if (unzstd->full) {
            return EL_DECODE_FULL;
        }
    }
    return unzstd->ended ? EL_DECODE_ENDED : EL_DECODE_NEED_INPUT;
}

static void zstd_unzstd_close(el_decoding_t *decoding)
{
    unzstd_t *unzstd = (unzstd_t *)decoding;

    if (unzstd) {
        ZSTD_freeDCtx(unzstd->decoder);
        free(unzstd);
    }
}

const el_decoder_t el_decoder_zstd = {
    .name = "zstd",
    .coding = EL_ZSTD,
    .open = zstd_unzstd_open,
    .step = zstd_unzstd_step,
    .close = zstd_unzstd_close,
};
