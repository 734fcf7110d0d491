#include "decode.h"

#include <brotli/decode.h>
#include <string.h>
#include <zlib.h>
#ifdef ELASTIC_WITH_ZSTD
#include <zstd.h>
#endif

static decoded_t decode_gzip(const uint8_t *in, size_t in_nbytes, uint8_t *out, size_t out_nbytes)
{
    z_stream z;
    decoded_t decoded = {0};
    int rc;

    memset(&z, 0, sizeof(z));
    if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK) {
        decoded.failed = true;
        return decoded;
    }
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)in_nbytes;
    z.next_out = out;
    z.avail_out = (uInt)out_nbytes;
    rc = inflate(&z, Z_SYNC_FLUSH);
    decoded.nbytes = out_nbytes - z.avail_out;
    decoded.ended = rc == Z_STREAM_END && z.avail_in == 0;
    decoded.failed = rc != Z_STREAM_END && rc != Z_OK && rc != Z_BUF_ERROR;
    inflateEnd(&z);
    return decoded;
}

static decoded_t run_brotli(BrotliDecoderState *decoder, const uint8_t *in, size_t in_nbytes,
                            uint8_t *out, size_t out_nbytes)
{
    size_t room = out_nbytes;
    decoded_t decoded = {0};
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder, &in_nbytes, &in, &room, &out, NULL);

    decoded.nbytes = out_nbytes - room;
    decoded.ended = result == BROTLI_DECODER_RESULT_SUCCESS && in_nbytes == 0;
    decoded.failed = result == BROTLI_DECODER_RESULT_ERROR;
    BrotliDecoderDestroyInstance(decoder);
    return decoded;
}

static decoded_t decode_br(const uint8_t *in, size_t in_nbytes, uint8_t *out, size_t out_nbytes)
{
    return run_brotli(BrotliDecoderCreateInstance(NULL, NULL, NULL), in, in_nbytes, out,
                      out_nbytes);
}

#ifdef ELASTIC_WITH_DCB
static decoded_t decode_dcb(const against_t *difference, const uint8_t *in, size_t in_nbytes,
                            uint8_t *out, size_t out_nbytes)
{
    BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);

    BrotliDecoderAttachDictionary(decoder, BROTLI_SHARED_DICTIONARY_RAW,
                                  difference->dictionary_nbytes, difference->dictionary);
    return run_brotli(decoder, in, in_nbytes, out, out_nbytes);
}
#endif

#ifdef ELASTIC_WITH_ZSTD
static decoded_t run_zstd(ZSTD_DCtx *decoder, ZSTD_inBuffer input, ZSTD_outBuffer output)
{
    decoded_t decoded = {0};
    size_t left = 1;
    size_t before;

    do {
        before = output.pos + input.pos;
        left = ZSTD_decompressStream(decoder, &output, &input);
    } while (!ZSTD_isError(left) && left > 0 && output.pos + input.pos > before);
    decoded.nbytes = output.pos;
    decoded.failed = ZSTD_isError(left);
    decoded.ended = left == 0 && input.pos == input.size;
    ZSTD_freeDCtx(decoder);
    return decoded;
}

/* With no larger window than browsers take (RFC 9659 §3). */
static decoded_t decode_zstd(const uint8_t *in, size_t in_nbytes, uint8_t *out, size_t out_nbytes)
{
    ZSTD_DCtx *decoder = ZSTD_createDCtx();

    ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, 23);
    return run_zstd(decoder, (ZSTD_inBuffer){in, in_nbytes, 0},
                    (ZSTD_outBuffer){out, out_nbytes, 0});
}

/* The largest window that is a power of two. */
static int dcz_window_bits(size_t dictionary_nbytes)
{
    int bits = 23;

    while (bits < 27 && (size_t)2 << bits <= dictionary_nbytes / 4 * 5) {
        bits++;
    }
    return bits;
}

static decoded_t decode_dcz(const against_t *difference, const uint8_t *in, size_t in_nbytes,
                            uint8_t *out, size_t out_nbytes)
{
    ZSTD_DCtx *decoder = ZSTD_createDCtx();

    ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax,
                           dcz_window_bits(difference->dictionary_nbytes));
    ZSTD_DCtx_refPrefix(decoder, difference->dictionary, difference->dictionary_nbytes);
    return run_zstd(decoder, (ZSTD_inBuffer){in, in_nbytes, 0},
                    (ZSTD_outBuffer){out, out_nbytes, 0});
}
#endif

decoded_t decode(el_coding_t coding, const uint8_t *in, size_t in_nbytes, uint8_t *out,
                 size_t out_nbytes)
{
    switch (coding) {
    case EL_GZIP:
        return decode_gzip(in, in_nbytes, out, out_nbytes);
    case EL_BR:
        return decode_br(in, in_nbytes, out, out_nbytes);
#ifdef ELASTIC_WITH_ZSTD
    case EL_ZSTD:
        return decode_zstd(in, in_nbytes, out, out_nbytes);
#endif
    default:
        return (decoded_t){.failed = true};
    }
}

decoded_t decode_difference(const against_t *difference, const uint8_t *in, size_t in_nbytes,
                            uint8_t *out, size_t out_nbytes)
{
    size_t head = difference->coding == EL_DCB ? 36 : 40;

    if (in_nbytes < head) {
        return (decoded_t){.nbytes = 0};
    }
    in += head;
    in_nbytes -= head;
#ifdef ELASTIC_WITH_ZSTD
    if (difference->coding == EL_DCZ) {
        return decode_dcz(difference, in, in_nbytes, out, out_nbytes);
    }
#endif
#ifdef ELASTIC_WITH_DCB
    if (difference->coding == EL_DCB) {
        return decode_dcb(difference, in, in_nbytes, out, out_nbytes);
    }
#endif
    (void)out;
    (void)out_nbytes;
    return (decoded_t){.failed = true};
}
