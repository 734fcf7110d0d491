#include "httpd/request/request.h"

#include "httpd/body/body.h"

#include "elastic/http.h"
#include "engines/engines.h"

#include "apr_strings.h"

/*
 * The ratio is checked after this many decoded bytes, and at the end. mod_deflate checks each
 * buffer, and this is its default size. Counted from the body's start, so that the result does not
 * depend on how the body is sent or read.
 */
#define CHECK_EVERY 8096

size_t el_inflate_codings(apr_pool_t *pool, const char *list, size_t max, el_coding_t *codings,
                          const char **rest)
{
    size_t len = strlen(list), left = len, count = 0, name_len;
    const char *name;

    while (el_encoding_pop(list, &len, &name, &name_len)) {
        el_coding_t coding = el_coding_find(name, name_len);

        if (count == max || !el_decoder_for(coding)) {
            *rest = apr_pstrmemdup(pool, list, left);
            return count;
        }
        codings[count++] = coding;
        left = len;
    }
    *rest = NULL;
    return count;
}

static apr_status_t decode_close_layers(void *data)
{
    el_inflate_t *inflate = data;

    for (size_t i = 0; i < inflate->count; i++) {
        inflate->layers[i].decoder->close(inflate->layers[i].decoding);
    }
    inflate->count = 0;
    if (inflate->block) {
        apr_bucket_free(inflate->block);
        inflate->block = NULL;
    }
    return APR_SUCCESS;
}

bool el_inflate_open(el_inflate_t *inflate, const el_coding_t *codings, size_t count,
                     const el_limits_t *limits, const request_rec *r)
{
    *inflate = (el_inflate_t){
        .limits = *limits, .alloc = r->connection->bucket_alloc, .check_at = CHECK_EVERY,
    };
    for (; inflate->count < count; inflate->count++) {
        el_layer_t *layer = &inflate->layers[inflate->count];

        layer->decoder = el_decoder_for(codings[inflate->count]);
        layer->account.of_request = limits->is_request;
        layer->decoding = layer->decoder->open(&layer->account);
        if (!layer->decoding) {
            decode_close_layers(inflate);
            return false;
        }
        layer->between = inflate->count > 0 ? apr_palloc(r->pool, EL_BODY_BLOCK) : NULL;
    }
    for (size_t i = 0; i < count; i++) {
        inflate->layers[i].account.committed = !limits->is_request;
    }
    apr_pool_cleanup_register(r->pool, inflate, decode_close_layers, apr_pool_cleanup_null);
    return true;
}

void el_inflate_close(el_inflate_t *inflate, apr_pool_t *pool)
{
    apr_pool_cleanup_run(pool, inflate, decode_close_layers);
}

/*
 * True if an inner layer got too many bytes for the body's encoded bytes. It may output nothing, as
 * for an endless file name in a gzip header, so a check of the output is not enough.
 */
static bool decode_is_layer_over_ratio(const el_inflate_t *inflate, const el_layer_t *layer)
{
    return layer->nbytes / CHECK_EVERY > inflate->limits.burst
           && (layer->nbytes - 1) / inflate->limits.ratio >= inflate->in;
}

/*
 * Runs layer `i` and those outside of it as one decoder. It ends when all have ended: each must
 * verify its checksum, and no layer may have bytes after its end.
 */
static el_decode_t decode_run(el_inflate_t *inflate, size_t i, el_span_t *span)
{
    el_layer_t *layer = &inflate->layers[i];

    if (i == 0) {
        size_t before = span->in_nbytes;
        el_decode_t result = layer->decoder->step(layer->decoding, span);

        layer->ended = result == EL_DECODE_ENDED;
        inflate->in += before - span->in_nbytes;
        return result;
    }
    for (;;) {
        /* Decode what the outer layer produced before. */
        el_span_t own = {
            .in = layer->between + layer->at,
            .in_nbytes = layer->filled - layer->at,
            .out = span->out,
            .out_nbytes_avail = span->out_nbytes_avail,
        };
        el_decode_t result = layer->decoder->step(layer->decoding, &own);
        el_span_t outer = {.in = span->in, .in_nbytes = span->in_nbytes};

        layer->ended = result == EL_DECODE_ENDED;
        layer->at = layer->filled - own.in_nbytes;
        span->out = own.out;
        span->out_nbytes_avail = own.out_nbytes_avail;
        if (result != EL_DECODE_NEED_INPUT && result != EL_DECODE_ENDED) {
            return result;
        }
        if (layer->at < layer->filled) {
            return EL_DECODE_DAMAGED;
        }
        outer.out = layer->between;
        outer.out_nbytes_avail = EL_BODY_BLOCK;
        result = decode_run(inflate, i - 1, &outer);
        span->in = outer.in;
        span->in_nbytes = outer.in_nbytes;
        layer->at = 0;
        layer->filled = EL_BODY_BLOCK - outer.out_nbytes_avail;
        layer->nbytes += layer->filled;
        if (decode_is_layer_over_ratio(inflate, layer)) {
            return EL_DECODE_FULL;
        }
        if (result >= EL_DECODE_DAMAGED) {
            return result;
        }
        if (layer->filled == 0) {
            return result == EL_DECODE_ENDED && !layer->ended ? EL_DECODE_DAMAGED : result;
        }
    }
}

static bool decode_is_over_ratio(el_inflate_t *inflate, bool ended)
{
    uint64_t since = inflate->out + CHECK_EVERY - inflate->check_at;
    bool over;

    if (since < CHECK_EVERY && !(ended && since > 0)) {
        return false;
    }
    inflate->check_at = inflate->out + CHECK_EVERY;
    /* out > in * ratio, without a product that may overflow. */
    over = (inflate->out - 1) / inflate->limits.ratio >= inflate->in;
    inflate->over_ratio = over ? inflate->over_ratio + 1 : 0;
    return inflate->over_ratio > inflate->limits.burst;
}

static el_inflated_t decode_settle(el_inflate_t *inflate, el_decode_t result, apr_size_t left)
{
    if (result == EL_DECODE_NO_MEMORY) {
        return EL_INFLATE_NO_MEMORY;
    }
    if (result == EL_DECODE_DAMAGED) {
        return EL_INFLATE_DAMAGED;
    }
    if (result == EL_DECODE_UNSUPPORTED) {
        return EL_INFLATE_UNSUPPORTED;
    }
    if (inflate->limits.size > 0 && inflate->out > inflate->limits.size) {
        return EL_INFLATE_SIZE_LIMIT;
    }
    if (decode_is_over_ratio(inflate, false)) {
        return EL_INFLATE_RATIO_LIMIT;
    }
    for (size_t i = 1; i < inflate->count; i++) {
        if (decode_is_layer_over_ratio(inflate, &inflate->layers[i])) {
            return EL_INFLATE_RATIO_LIMIT;
        }
    }
    if (result == EL_DECODE_ENDED) {
        return left > 0 ? EL_INFLATE_TRAILING : EL_INFLATE_ENDED;
    }
    return result == EL_DECODE_FULL ? EL_INFLATE_FULL : EL_INFLATE_NEED_INPUT;
}

/* Decodes into the rest of the block, at most `room` bytes; adds to `*used`. */
static el_inflated_t decode_fill_block(el_inflate_t *inflate, const char **data, apr_size_t *len,
                                       uint64_t room, size_t *used)
{
    const uint64_t limit = inflate->limits.size;
    uint64_t most = EL_BODY_BLOCK - *used, wrote;
    el_span_t span = {
        .in = (const uint8_t *)*data,
        .in_nbytes = *len,
        .out = inflate->block + *used,
    };
    el_decode_t result;

    most = room < most ? room : most;
    /* Stop at the next check of the ratio. */
    if (most > inflate->check_at - inflate->out) {
        most = inflate->check_at - inflate->out;
    }
    /* Allow one byte beyond the limit, to notice a body that is too large. */
    if (limit > 0 && most > limit - inflate->out) {
        most = limit - inflate->out + 1;
    }
    span.out_nbytes_avail = (size_t)most;
    result = decode_run(inflate, inflate->count - 1, &span);
    wrote = most - span.out_nbytes_avail;
    inflate->out += wrote;
    *used += (size_t)wrote;
    *data = (const char *)span.in;
    *len = span.in_nbytes;
    return decode_settle(inflate, result, *len);
}

el_inflated_t el_inflate_put(el_inflate_t *inflate, const char **data, apr_size_t *len,
                             uint64_t room, apr_bucket_brigade *bb)
{
    size_t used = 0;

    do {
        uint64_t before = inflate->out;

        if (!inflate->block) {
            inflate->block = apr_bucket_alloc(EL_BODY_BLOCK, inflate->alloc);
        }
        if (!inflate->block) {
            inflate->last = EL_INFLATE_NO_MEMORY;
            break;
        }
        inflate->last = decode_fill_block(inflate, data, len, room, &used);
        room -= inflate->out - before;
        if (used == EL_BODY_BLOCK || room == 0 || inflate->last != EL_INFLATE_FULL) {
            el_body_append_block(&inflate->block, used, bb);
            used = 0;
        }
    } while (inflate->last == EL_INFLATE_FULL && room > 0);
    return inflate->last;
}

el_inflated_t el_inflate_finish(el_inflate_t *inflate)
{
    bool whole = inflate->last == EL_INFLATE_ENDED || inflate->last == EL_INFLATE_TRAILING;

    if (!whole && inflate->in > 0) {
        return EL_INFLATE_TRUNCATED;
    }
    return decode_is_over_ratio(inflate, true) ? EL_INFLATE_RATIO_LIMIT : EL_INFLATE_ENDED;
}

const char *el_inflate_text(el_inflated_t inflated)
{
    static const char *const texts[] = {
        [EL_INFLATE_DAMAGED] = "it is damaged",
        [EL_INFLATE_UNSUPPORTED] = "it needs a larger window than RFC 9659 allows",
        [EL_INFLATE_TRAILING] = "there are bytes behind its end",
        [EL_INFLATE_TRUNCATED] = "it is cut short",
        [EL_INFLATE_SIZE_LIMIT] =
            "it is larger than LimitRequestBody or DeflateInflateLimitRequestBody allows",
        [EL_INFLATE_RATIO_LIMIT] = "it grows more than DeflateInflateRatioLimit allows",
        [EL_INFLATE_NO_MEMORY] =
            "it takes more memory than there is, or than ElasticMaxMemory allows",
    };

    return texts[inflated];
}
