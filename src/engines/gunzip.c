/* gzip undone by zlib (RFC 1952): one member, its header's fields skipped, its trailer verified. */
#include "decoders.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

/* Added to the window's bits: a gzip header and trailer, and no other format. */
#define GZIP 16

struct el_decoding {
    z_stream z;
};

static el_decoding_t *gunzip_open(void)
{
    el_decoding_t *decoding = calloc(1, sizeof(*decoding));

    if (!decoding) {
        return NULL;
    }
    /* Any window that a body may ask for: RFC 1951 ends at 32 KB. */
    if (inflateInit2(&decoding->z, MAX_WBITS + GZIP) != Z_OK) {
        free(decoding);
        return NULL;
    }
    return decoding;
}

static uInt piece(size_t nbytes)
{
    return nbytes > UINT_MAX ? UINT_MAX : (uInt)nbytes;
}

static el_decode_t gunzip_step(el_decoding_t *decoding, el_span_t *span)
{
    z_stream *z = &decoding->z;

    for (;;) {
        uInt in = piece(span->in_nbytes);
        uInt out = piece(span->out_nbytes_avail);
        int rc;

        /* zlib's next_in is not const unless the includer asks for it; it never writes there. */
        z->next_in = (Bytef *)(uintptr_t)span->in;
        z->avail_in = in;
        z->next_out = span->out;
        z->avail_out = out;
        rc = inflate(z, Z_NO_FLUSH);
        span->in += in - z->avail_in;
        span->in_nbytes -= in - z->avail_in;
        span->out += out - z->avail_out;
        span->out_nbytes_avail -= out - z->avail_out;

        if (rc == Z_STREAM_END) {
            return EL_DECODE_ENDED;
        }
        if (rc == Z_MEM_ERROR) {
            return EL_DECODE_NO_MEMORY;
        }
        /* Z_BUF_ERROR is a step without progress: nothing to take, or no room. */
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

static void gunzip_close(el_decoding_t *decoding)
{
    if (decoding) {
        inflateEnd(&decoding->z);
        free(decoding);
    }
}

const el_decoder_t el_decoder_gunzip = {
    .name = "zlib",
    .coding = EL_GZIP,
    .open = gunzip_open,
    .step = gunzip_step,
    .close = gunzip_close,
};
