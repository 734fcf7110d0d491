/*
 * Bodies in brigades: what their buckets say, reading them whole or in part, and a private copy of
 * one that only passes.
 *
 * A brigade belongs to one thread at a time.
 */
#ifndef ELASTIC_BODY_BODY_H
#define ELASTIC_BODY_BODY_H

#include "httpd/config/glue.h"

#include "apr_buckets.h"
#include "util_filter.h"

/* The length of a bucket that must be read to learn it: a pipe, a socket. */
#define EL_BODY_UNKNOWN ((apr_size_t)-1)

/* A brigade up to its EOS, by its buckets alone: nothing is read. */
typedef struct {
    bool ended;        /* EOS is there */
    bool complete;     /* and every length is known */
    bool plain;        /* there is nothing but data, FLUSH and EOS */
    bool is_private;   /* nobody else can change the data: it may be read twice */
    unsigned pieces;   /* buckets with data */
    apr_bucket *first; /* of these, or NULL */
    uint64_t size;     /* bytes of data of known length */
} el_measure_t;

el_measure_t el_body_measure(const apr_bucket_brigade *bb);

/* `bb` begins with an error, so that httpd answers with another response. */
bool el_body_is_error(const apr_bucket_brigade *bb);

/*
 * Has the bucket of a file read by read(), `nbytes` at a time, and never mapped: a mapped file that
 * is truncated kills the child.
 */
void el_body_read_in_pieces(apr_bucket *bucket, apr_size_t nbytes);

/* Reads `bucket`, which is data; files in pieces. APR_EAGAIN only with APR_NONBLOCK_READ. */
apr_status_t el_body_read(apr_bucket *bucket, const char **data, apr_size_t *len,
                          apr_read_type_e mode);

/*
 * Makes the data of `bb` outlast this call of a filter, in `pool` or in memory of its own. Copies
 * up to `most` bytes of data that is not private and has a length: a handler may close its file
 * when the filter returns. APR_INCOMPLETE if more is left; another error if it cannot be read, or
 * memory is short.
 */
apr_status_t el_body_set_aside(apr_bucket_brigade *bb, apr_pool_t *pool, size_t most);

/*
 * Bytes of a block of output: as many as httpd's own buckets hold, so that the allocator's 8 KB
 * blocks are reused and a slow client pins no more than it would without this module.
 */
#define EL_BODY_BLOCK APR_BUCKET_BUFF_SIZE

/*
 * Appends the first `nbytes` of a block of apr_bucket_alloc(), which the bucket takes: `*block` is
 * NULL then. Few bytes are copied if there is memory for it: a slow client pins no block for them.
 */
void el_body_append_block(uint8_t **block, size_t nbytes, apr_bucket_brigade *bb);

/* Deletes the data of a brigade, that of a script when it has come; metadata buckets stay. */
void el_body_drop(apr_bucket_brigade *bb);

/* A filter: passes a brigade on without its data, whose length would become the header's. */
apr_status_t el_no_body(ap_filter_t *f, apr_bucket_brigade *bb);

/* A complete body in one piece of memory. */
typedef struct {
    const char *data;
    size_t nbytes;
    void *buffer; /* of the pool, if the body was gathered there; otherwise NULL */
} el_whole_t;

/*
 * Gathers the complete body `bb`, as measured, in a buffer of the pool, unless one private bucket
 * has it all. The brigade can still be sent as it is. An error if the body cannot be read, APR_EOF
 * if it is shorter; then there is nothing to release.
 */
apr_status_t el_body_gather(apr_bucket_brigade *bb, const el_measure_t *measure,
                            el_whole_t *whole);

/* Releases the buffer of a gathered body. */
void el_body_release(el_whole_t *whole);

/*
 * Up to `most` bytes of the bucket that a body begins with, which may be NULL and stays as it is;
 * none if they cannot be had without waiting. The caller releases them.
 */
el_whole_t el_body_peek(apr_bucket *first, size_t most);

/*
 * A private copy of a body that passes a filter, neither changed nor held up: a bucket of unknown
 * length, such as a script's pipe, is copied when a filter behind reads it. So the filter gives
 * each brigade to el_copy_take(), passes it on, and then asks for the copy's state.
 *
 * The bytes of a copy count in ElasticMaxMemory (engines/budget.h).
 */
typedef struct el_copy el_copy_t;

typedef enum {
    EL_COPY_BEGUN, /* there is more to come */
    EL_COPY_WHOLE, /* all of the body is there, up to its EOS */
    EL_COPY_FAILED /* it never will be: the body is too large or broken off, or memory is short */
} el_copy_state_t;

/* A copy of a body of at most `most` bytes, which ends with the pool at the latest. */
el_copy_t *el_copy_begin(apr_pool_t *pool, size_t most);

/* Copies what is at hand of a brigade that is about to be passed on. */
void el_copy_take(el_copy_t *copy, apr_bucket_brigade *bb);

/* EL_COPY_BEGUN after a brigade with EOS was passed on: nobody has read all of it. */
el_copy_state_t el_copy_state(const el_copy_t *copy);

/* The bytes so far, and how many; they stay until the copy ends. */
const char *el_copy_bytes(const el_copy_t *copy, size_t *nbytes);

/* Frees the bytes: the copy has failed, and nothing more is copied. */
void el_copy_end(el_copy_t *copy);

#endif
