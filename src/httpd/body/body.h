/*
 * Reading bodies: what a brigade holds, without reading more of it than the question needs.
 */
#ifndef ELASTIC_BODY_BODY_H
#define ELASTIC_BODY_BODY_H

#include "httpd/config/glue.h"

#include "apr_buckets.h"
#include "util_filter.h"

/* Whether `bb` begins with an error, so that httpd answers with another response. */
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
 * Copies the data of a bucket of known length, `room` at most, to `to`, of which `*copied` is
 * filled then. A file is read without its bucket noticing; of any other, what cannot be had at once
 * is in a bucket behind it afterwards.
 */
apr_status_t el_body_copy(apr_bucket *bucket, char *to, size_t room, size_t *copied);

/*
 * Has the data of `bb` outlast this call of a filter, in `pool` or in memory of its own. What is
 * neither private memory nor of unknown length is copied, `most` bytes of it at most: who passed it
 * on may close its file when the filter returns, and a file of `pool` cannot be set aside in there.
 * APR_INCOMPLETE where more than that is left; another error where it cannot be read, or memory is
 * short.
 */
apr_status_t el_body_set_aside(apr_bucket_brigade *bb, apr_pool_t *pool, size_t most);

/*
 * Bytes of a block of output: what httpd's own buckets hold, so that the allocator's 8 KB blocks
 * are reused and a slow client pins no more than it would without us.
 */
#define EL_BODY_BLOCK APR_BUCKET_BUFF_SIZE

/*
 * Appends the first `nbytes` of a block of apr_bucket_alloc(). A bucket of its own takes the block,
 * which is NULL then; but for a few bytes, of which a client that is slow to read would pin a block
 * each: these are copied where there is memory for it.
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
    void *buffer; /* of the pool, where the body was gathered there; otherwise NULL */
} el_whole_t;

/*
 * Gathers the data of `bb`, of which all lengths are known, `nbytes` in all, in private memory: in
 * a buffer of the pool, unless one private bucket has it all. Files are read without their buckets
 * noticing, so that the brigade can still be sent as it is. An error where the body cannot be read,
 * or is shorter: APR_EOF; then there is nothing to release.
 */
apr_status_t el_body_gather(apr_bucket_brigade *bb, size_t nbytes, el_whole_t *whole);

/*
 * What is at hand of the first of the body's data, `most` bytes of it at most, and none where it
 * cannot be had without waiting. `bb` stays as it is.
 */
el_whole_t el_body_peek(apr_bucket_brigade *bb, size_t most);

/*
 * Whether the body is encoded by its first bytes, where these are in memory; nothing is read for
 * that.
 */
bool el_body_begins_encoded(apr_bucket_brigade *bb);

/* Releases the buffer of a gathered body. */
void el_body_release(el_whole_t *whole);

/*
 * The open file whose first bytes are all of the body, up to EOS; the number of bytes is the body's
 * size. -1 where it is no file, or more than that. The descriptor is the bucket's.
 */
int el_body_file(const apr_bucket_brigade *bb);

/*
 * Whether all data up to EOS, whose length is known, is in memory that nobody else can change: in
 * heap, pool, transient or immortal buckets. Only such data may be read twice, as for a hash and
 * then for an encoding that the hash names; anything else is gathered first.
 */
bool el_body_is_private(const apr_bucket_brigade *bb);

/*
 * Calls `use` with `context` and each piece of such a body in turn. False where a piece cannot be
 * had, or is not as long as was said.
 */
typedef void el_body_use_t(void *context, const char *data, size_t nbytes);
bool el_body_each(const apr_bucket_brigade *bb, el_body_use_t *use, void *context);

#endif
