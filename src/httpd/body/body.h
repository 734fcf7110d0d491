/*
 * Bodies in brigades: measuring them, reading them in whole or in part, and keeping a private copy
 * of a body that passes a filter. One thread at a time uses a brigade.
 */
#ifndef ELASTIC_BODY_BODY_H
#define ELASTIC_BODY_BODY_H

#include "httpd/config/glue.h"

#include "apr_buckets.h"
#include "util_filter.h"

/* The length of a bucket that must be read to know it: a pipe or a socket. */
#define EL_BODY_UNKNOWN ((apr_size_t)-1)

/* A brigade up to its EOS, judged by its buckets alone; nothing is read. */
typedef struct {
    bool ended;        /* EOS is in the brigade */
    bool complete;     /* ended, and all lengths are known */
    bool plain;        /* only data, FLUSH and EOS */
    bool is_private;   /* nobody can change the data: it can be read twice */
    unsigned pieces;   /* the number of buckets with data */
    apr_bucket *first; /* the first bucket with data, or NULL */
    uint64_t size;     /* bytes of data of known length */
} el_measure_t;

el_measure_t el_body_measure(const apr_bucket_brigade *bb);

/* True if `bb` begins with an error bucket, for which httpd sends another response. */
bool el_body_is_error(const apr_bucket_brigade *bb);

/*
 * Makes a file bucket use read() with `nbytes` at a time instead of mmap(): if a mapped file is
 * truncated, the child is killed.
 */
void el_body_read_in_pieces(apr_bucket *bucket, apr_size_t nbytes);

/* Reads a data bucket; a file in pieces. Returns APR_EAGAIN only with APR_NONBLOCK_READ. */
apr_status_t el_body_read(apr_bucket *bucket, const char **data, apr_size_t *len,
                          apr_read_type_e mode);

/*
 * Keeps the data of `bb` beyond this call of a filter, in `pool` or in memory of its own. Copies up
 * to `most` bytes of data that is not private and has a length, because a handler may close its
 * file when the filter returns. Returns APR_INCOMPLETE if such data was left, another error if data
 * cannot be read or memory is short.
 */
apr_status_t el_body_set_aside(apr_bucket_brigade *bb, apr_pool_t *pool, size_t most);

/*
 * Bytes in a block of output: those of httpd's own buckets, so that the allocator reuses its 8 KB
 * blocks, and a slow client holds no more memory than without this module.
 */
#define EL_BODY_BLOCK APR_BUCKET_BUFF_SIZE

/*
 * Appends the first `nbytes` of a block from apr_bucket_alloc(). The bucket takes the block, and
 * `*block` becomes NULL; if there are few bytes, they are copied and the block is kept.
 */
void el_body_append_block(uint8_t **block, size_t nbytes, apr_bucket_brigade *bb);

/* Deletes the data of a brigade, after waiting for a CGI script's; metadata buckets stay. */
void el_body_drop(apr_bucket_brigade *bb);

/*
 * The way on past a filter that this module adds itself, always with a context. A configuration may
 * name it, too, even a tenant's .htaccess: without a context it leaves the chain.
 */
apr_status_t el_body_leave(ap_filter_t *f, apr_bucket_brigade *bb);

/* A filter function that drops all data: httpd would derive Content-Length from it. */
apr_status_t el_no_body(ap_filter_t *f, apr_bucket_brigade *bb);

/* A complete body in one piece of memory. */
typedef struct {
    const char *data;
    size_t nbytes;
    void *buffer; /* in the pool, if the body was gathered there; else NULL */
} el_whole_t;

/*
 * Gathers the measured, complete body `bb` in a buffer of the pool, unless one private bucket has
 * all of it. The brigade can still be sent. Returns an error if the body cannot be read, APR_EOF if
 * it is too short, APR_ENOMEM; then there is nothing to release.
 */
apr_status_t el_body_gather(apr_bucket_brigade *bb, const el_measure_t *measure,
                            el_whole_t *whole);

void el_body_release(el_whole_t *whole);

/*
 * Returns up to `most` bytes of a body's first bucket, which may be NULL and keeps its data.
 * Returns none if reading would wait. The caller releases the result.
 */
el_whole_t el_body_peek(apr_bucket *first, size_t most);

/*
 * A private copy of a body that passes a filter unchanged and without delay. Buckets of unknown
 * length, such as a script's pipe, are copied when a later filter reads them. So the filter calls
 * el_copy_take() for each brigade, passes the brigade on, and then asks for the state.
 *
 * The bytes count towards ElasticMaxMemory (engines/memory.h).
 */
typedef struct el_copy el_copy_t;

typedef enum {
    EL_COPY_BEGUN, /* more will come */
    EL_COPY_WHOLE, /* complete up to EOS */
    EL_COPY_FAILED /* too large, broken off, or no memory */
} el_copy_state_t;

/* Begins a copy of at most `most` bytes. It ends with the pool. */
el_copy_t *el_copy_begin(apr_pool_t *pool, size_t most);

/* Copies the data of a brigade that is about to be passed on, as far as it is ready. */
void el_copy_take(el_copy_t *copy, apr_bucket_brigade *bb);

/* Returns the state. EL_COPY_BEGUN after EOS was passed on: no filter has read all of the body. */
el_copy_state_t el_copy_state(const el_copy_t *copy);

/* Returns the bytes so far and their number, valid until the copy grows or ends. */
const char *el_copy_bytes(const el_copy_t *copy, size_t *nbytes);

/* Frees the bytes, and copies no more; the state is EL_COPY_FAILED. */
void el_copy_end(el_copy_t *copy);

#endif
