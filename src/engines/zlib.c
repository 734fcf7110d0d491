/* gzip by zlib (RFC 1952): all access to zlib goes through this file. */
#include "engines.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

/* Added to the window's bits: gzip's header and trailer (with CRC and length) around the stream. */
#define GZIP 16

struct el_stream {
    z_stream z;
};

static el_stream_t *zlib_open(const el_setup_t *setup)
{
    int window_bits = setup->window_bits ? setup->window_bits : MAX_WBITS;
    int mem_level = setup->mem_level ? setup->mem_level : MAX_MEM_LEVEL;
    el_stream_t *stream = calloc(1, sizeof(*stream));

    if (!stream) {
        return NULL;
    }
    if (deflateInit2(&stream->z, setup->level, Z_DEFLATED, window_bits + GZIP, mem_level,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

static int zlib_flush(el_op_t op)
{
    switch (op) {
    case EL_FLUSH:
        return Z_SYNC_FLUSH;
    case EL_FINISH:
        return Z_FINISH;
    default:
        return Z_NO_FLUSH;
    }
}

static uInt piece(size_t nbytes)
{
    return nbytes > UINT_MAX ? UINT_MAX : (uInt)nbytes;
}

static el_step_t zlib_step(el_stream_t *stream, el_op_t op, el_span_t *span)
{
    z_stream *z = &stream->z;

    for (;;) {
        uInt in = piece(span->in_nbytes);
        uInt out = piece(span->out_nbytes_avail);
        int rc;

        /* zlib's next_in is not const unless the includer asks for it; it never writes there. */
        z->next_in = (Bytef *)(uintptr_t)span->in;
        z->avail_in = in;
        z->next_out = span->out;
        z->avail_out = out;
        rc = deflate(z, in < span->in_nbytes ? Z_NO_FLUSH : zlib_flush(op));
        span->in += in - z->avail_in;
        span->in_nbytes -= in - z->avail_in;
        span->out += out - z->avail_out;
        span->out_nbytes_avail -= out - z->avail_out;

        if (rc == Z_STREAM_END) {
            return EL_STEP_OK;
        }
        /* Z_BUF_ERROR only says that there was nothing to do, as in a flush right after a flush. */
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

static void zlib_close(el_stream_t *stream)
{
    if (stream) {
        deflateEnd(&stream->z);
        free(stream);
    }
}

const el_engine_t el_engine_zlib = {
    .name = "zlib",
    .coding = EL_GZIP,
    .level_min = Z_BEST_SPEED,
    .level_max = Z_BEST_COMPRESSION,
    .version = zlibVersion,
    .open = zlib_open,
    .step = zlib_step,
    .close = zlib_close,
};
