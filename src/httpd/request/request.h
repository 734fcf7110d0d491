/*
 * The filters that decode bodies, both ways (inflate.c), with their chain of decoders (decode.c);
 * and visitors (visitor.c).
 */
#ifndef ELASTIC_REQUEST_REQUEST_H
#define ELASTIC_REQUEST_REQUEST_H

#include "httpd/config/dropin.h"

#include "elastic/engine.h"

#include "apr_buckets.h"

/* Registers the input filter of ElasticInflate, by which handlers get request bodies decoded. */
void el_input_register(void);

/*
 * Registers what mod_deflate has: the input filter DEFLATE, for SetInputFilter, and the output
 * filter INFLATE, which decodes the outermost coding of a response, so that filters behind it see
 * text.
 */
void el_inflate_register_deflate(void);

/* Before all handlers: OK, or the status of a body that cannot be decoded. */
int el_input_prepare(request_rec *r);

/*
 * Visitors: a program of the operator's reads the site's pages from this machine, as strangers see
 * them. It sends a token in `Elastic-Visitor`, whose SHA-256 it has written to the file
 * elastic.visitor in httpd's run directory:
 *
 *     elastic-visitor 1
 *     sha256 <64 hexadecimal digits>
 *
 * The file counts while its writer has a lock of fcntl() on it, and for 15 minutes. It belongs to
 * root, or to the user who started httpd, and nobody else may write to it. The connection is from
 * this machine, and no proxy has passed the request on. Then the connection's client gets an
 * address that no machine has (RFC 5737, 3849), for all of httpd and the servers behind it; and the
 * response has the SHA-256 of "taken " and the token in a field of the same name. Nobody behind
 * ever sees the token.
 */

/* In post_config. */
void el_visitor_configure(apr_pool_t *pconf);

/* In post_read_request, before modules ask for the client's address: takes the token. */
int el_visitor_look(request_rec *r);

/* The same, behind modules that set that address (mod_remoteip): the client stays a visitor. */
void el_visitor_keep(request_rec *r);

/* ---- decoders -------------------------------------------------------------------------------- */

/*
 * A chain of decoders, the outermost coding first, that writes buckets and keeps to the limits:
 * encoded bytes in, a brigade out. It belongs to one body.
 */

/*
 * How many codings one body may have. Two are seen now and then, by accident; every further one
 * only costs memory: up to 16 MB for br.
 */
#define EL_INFLATE_LAYERS 2

/* The end of a call; those from EL_INFLATE_DAMAGED on end the body. */
typedef enum {
    EL_INFLATE_NEED_INPUT, /* all input taken */
    EL_INFLATE_FULL,   /* as much was written as was asked for */
    EL_INFLATE_ENDED,  /* the body is whole, unless another member or frame follows */
    EL_INFLATE_DAMAGED,
    EL_INFLATE_UNSUPPORTED, /* it needs more than a decoder has to offer */
    EL_INFLATE_TRAILING,  /* the body is whole, but bytes follow it */
    EL_INFLATE_TRUNCATED, /* EOS came before the body's end */
    EL_INFLATE_SIZE_LIMIT,
    EL_INFLATE_RATIO_LIMIT, /* the ratio was above the limit too often in a row */
    EL_INFLATE_NO_MEMORY
} el_inflated_t;

typedef struct {
    const el_decoder_t *decoder;
    el_decoding_t *decoding;
    el_account_t account;
    bool ended;
    uint8_t *between; /* output of the layer outside of it; not used by the outermost */
    size_t at, filled;
    uint64_t nbytes; /* bytes that were in `between` so far; not counted for the outermost */
} el_layer_t;

typedef struct {
    el_layer_t layers[EL_INFLATE_LAYERS]; /* the outermost first */
    size_t count;
    el_limits_t limits;
    uint64_t in, out; /* bytes so far */
    uint64_t check_at; /* bytes of output at which the ratio is looked at next */
    uint64_t over_ratio; /* how many times in a row it was above the limit */
    apr_bucket_alloc_t *alloc;
    uint8_t *block; /* the next bucket, or NULL */
    el_inflated_t last;
} el_inflate_t;

/*
 * Takes the codings that this build can decode off the end of a Content-Encoding, outermost first
 * and at most `max` of them; `rest`, from `pool`, has those that remain, or NULL. Returns how many.
 */
size_t el_inflate_codings(apr_pool_t *pool, const char *list, size_t max, el_coding_t *codings,
                          const char **rest);

/*
 * Opens `inflate`, whose memory the caller owns, for `count` codings as above. False if memory is
 * short; a response is decoded to its end from then on, whatever memory that takes. It is closed
 * with the request's pool at the latest.
 */
bool el_inflate_open(el_inflate_t *inflate, const el_coding_t *codings, size_t count,
                     const el_limits_t *limits, const request_rec *r);

/*
 * Decodes from `*data`, which it advances, until `*len` is 0 or `room` bytes, at least one, were
 * appended to `bb`. After EL_INFLATE_FULL there may be more without any further input.
 */
el_inflated_t el_inflate_put(el_inflate_t *inflate, const char **data, apr_size_t *len,
                             uint64_t room, apr_bucket_brigade *bb);

/*
 * At EOS, when all was decoded: EL_INFLATE_ENDED, also where bytes followed, and for a body that
 * had no byte at all; EL_INFLATE_TRUNCATED, or EL_INFLATE_RATIO_LIMIT.
 */
el_inflated_t el_inflate_finish(el_inflate_t *inflate);

/* Frees the decoders before their pool's end; a second call does nothing. */
void el_inflate_close(el_inflate_t *inflate, apr_pool_t *pool);

/* The reason, for the log. */
const char *el_inflate_text(el_inflated_t inflated);

#endif
