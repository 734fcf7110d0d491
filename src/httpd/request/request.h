/* Decoding of request and response bodies (inflate.c, decode.c), and visitors (visitor.c). */
#ifndef ELASTIC_REQUEST_REQUEST_H
#define ELASTIC_REQUEST_REQUEST_H

#include "httpd/config/dropin.h"

#include "elastic/engine.h"

#include "apr_buckets.h"

/* Registers ElasticInflate's input filter, which decodes request bodies for handlers. */
void el_input_register(void);

/*
 * Registers mod_deflate's filters: the input filter DEFLATE, for SetInputFilter, and the output
 * filter INFLATE, which removes a response's outermost coding, so that later filters see text.
 */
void el_inflate_register_deflate(void);

/*
 * In fixups, before all others: puts the decoder of ElasticInflate into the chain, because modules
 * that inspect bodies, such as mod_security2, read them in that phase. Returns DECLINED.
 */
int el_input_begin(request_rec *r);

/* Before all handlers: returns OK, or the error status of a body that cannot be decoded. */
int el_input_prepare(request_rec *r);

/*
 * A visitor is a program of the operator that reads the site's pages from this machine as strangers
 * see them. It sends a token in `Elastic-Visitor`, and has written the token's SHA-256 to the file
 * elastic.visitor in httpd's run directory:
 *
 *     elastic-visitor 1
 *     sha256 <64 hexadecimal digits>
 *
 * The file counts for 15 minutes, while its writer holds a lock of fcntl() on it. It must belong to
 * root or to the user who started httpd, and no other user may be able to write to it. The
 * connection must come from this machine, without a proxy. The client then gets an address that no
 * machine has (RFC 5737, RFC 3849), for all of httpd and its backends; and the response has the
 * SHA-256 of "taken " and the token in a field of the same name. Handlers and backends never see
 * the token.
 */

void el_visitor_configure(apr_pool_t *pconf);

/* In post_read_request, before modules read the client's address: takes the token. */
int el_visitor_look(request_rec *r);

/* The same after modules such as mod_remoteip have set the address: restores the visitor's. */
void el_visitor_keep(request_rec *r);

/* ---- decoders -------------------------------------------------------------------------------- */

/* Decoders, outermost coding first: encoded bytes in, buckets out. One body uses them. */

/*
 * The most codings of one body. Two occur now and then by accident; each further one would only
 * cost memory, up to 16 MB for br.
 */
#define EL_INFLATE_LAYERS 2

/* The result of a call; EL_INFLATE_DAMAGED and all after it end the body. */
typedef enum {
    EL_INFLATE_NEED_INPUT, /* all input was taken */
    EL_INFLATE_FULL,   /* as many bytes as asked for were written */
    EL_INFLATE_ENDED,  /* complete, unless another member or frame follows */
    EL_INFLATE_DAMAGED,
    EL_INFLATE_UNSUPPORTED, /* it needs a larger window than the decoder has */
    EL_INFLATE_TRAILING,  /* complete, but more bytes follow */
    EL_INFLATE_TRUNCATED, /* EOS came too early */
    EL_INFLATE_SIZE_LIMIT,
    EL_INFLATE_RATIO_LIMIT, /* the ratio was above the limit too often in a row */
    EL_INFLATE_NO_MEMORY
} el_inflated_t;

typedef struct {
    const el_decoder_t *decoder;
    el_decoding_t *decoding;
    el_account_t account;
    bool ended;
    uint8_t *between; /* input of this layer; unused for the outermost */
    size_t at, filled;
    uint64_t nbytes; /* of `between` so far; not counted for the outermost */
} el_layer_t;

typedef struct {
    el_layer_t layers[EL_INFLATE_LAYERS]; /* outermost first */
    size_t count;
    el_limits_t limits;
    uint64_t in, out; /* bytes so far */
    uint64_t check_at; /* the output size at which the ratio is checked next */
    uint64_t over_ratio; /* how often in a row it was above the limit */
    apr_bucket_alloc_t *alloc;
    uint8_t *block; /* the bucket being filled, or NULL */
    el_inflated_t last;
} el_inflate_t;

/*
 * Removes codings that this build can decode from the end of a Content-Encoding: outermost first,
 * at most `max`. `rest`, from `pool`, is the remaining list, or NULL. Returns their number.
 */
size_t el_inflate_codings(apr_pool_t *pool, const char *list, size_t max, el_coding_t *codings,
                          const char **rest);

/*
 * Opens `inflate`, in the caller's memory, for `count` codings, until r->pool ends. False if memory
 * is short. An open response is decoded to its end whatever memory that takes.
 */
bool el_inflate_open(el_inflate_t *inflate, const el_coding_t *codings, size_t count,
                     const el_limits_t *limits, const request_rec *r);

/*
 * Decodes from `*data`, which it advances, until `*len` is 0 or `room` (> 0) bytes were appended to
 * `bb`. After EL_INFLATE_FULL, more output may come without further input.
 */
el_inflated_t el_inflate_put(el_inflate_t *inflate, const char **data, apr_size_t *len,
                             uint64_t room, apr_bucket_brigade *bb);

/*
 * At EOS, when all input was taken. Returns EL_INFLATE_ENDED also if bytes followed the end, or if
 * there was no body; else EL_INFLATE_TRUNCATED or EL_INFLATE_RATIO_LIMIT.
 */
el_inflated_t el_inflate_finish(el_inflate_t *inflate);

/* Frees the decoders early; a second call does nothing. */
void el_inflate_close(el_inflate_t *inflate, apr_pool_t *pool);

/* The reason as a text for the log. */
const char *el_inflate_text(el_inflated_t inflated);

#endif
