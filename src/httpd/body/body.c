#include "httpd/body/body.h"

#include "elastic/http.h"
#include "engines/memory.h"

#include "apr_portable.h"
#include "http_protocol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_LENGTH ((apr_size_t)-1)

/*
 * A file that is encoded is read in pieces of this size: large enough that the calls do not show in
 * a profile, and no more than a process of hundreds should keep for it.
 */
#define FILE_PIECE (32 * 1024)

bool el_body_is_error(const apr_bucket_brigade *bb)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(bb);

    while (e != APR_BRIGADE_SENTINEL(bb) && APR_BUCKET_IS_METADATA(e) && !AP_BUCKET_IS_ERROR(e)) {
        e = APR_BUCKET_NEXT(e);
    }
    return e != APR_BRIGADE_SENTINEL(bb) && AP_BUCKET_IS_ERROR(e);
}

void el_body_read_in_pieces(apr_bucket *bucket, apr_size_t nbytes)
{
    apr_bucket_file_enable_mmap(bucket, 0);
    apr_bucket_file_set_buf_size(bucket, nbytes);
}

apr_status_t el_body_read(apr_bucket *bucket, const char **data, apr_size_t *len,
                          apr_read_type_e mode)
{
    if (APR_BUCKET_IS_FILE(bucket)) {
        el_body_read_in_pieces(bucket, FILE_PIECE);
    }
    return apr_bucket_read(bucket, data, len, mode);
}

void el_body_drop(apr_bucket_brigade *bb)
{
    apr_bucket *next;
    const char *data;
    apr_size_t len;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        /* mod_cgi waits for the end of its script, which waits for a reader. */
        if (strcmp(e->type->name, "CGI") == 0) {
            (void)apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        }
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
        }
    }
}

apr_status_t el_no_body(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_body_drop(bb);
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}

int el_body_file(const apr_bucket_brigade *bb)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(bb);
    const apr_bucket_file *file;
    apr_os_file_t fd;

    if (e == APR_BRIGADE_SENTINEL(bb) || !APR_BUCKET_IS_FILE(e) || e->start != 0
        || APR_BUCKET_NEXT(e) == APR_BRIGADE_SENTINEL(bb)
        || !APR_BUCKET_IS_EOS(APR_BUCKET_NEXT(e))) {
        return -1;
    }
    file = e->data;
    return apr_os_file_get(&fd, file->fd) == APR_SUCCESS ? fd : -1;
}

/* Reads a file bucket at the descriptor: no seek, no bucket of what was read. */
static apr_status_t read_file(const apr_bucket *bucket, char *to, size_t nbytes)
{
    const apr_bucket_file *file = bucket->data;
    apr_size_t done = 0;
    apr_os_file_t fd;
    apr_status_t rv = apr_os_file_get(&fd, file->fd);

    while (rv == APR_SUCCESS && done < nbytes) {
        ssize_t got = pread(fd, to + done, nbytes - done, (off_t)bucket->start + (off_t)done);

        if (got > 0) {
            done += (apr_size_t)got;
        } else if (got == 0) {
            rv = APR_EOF;
        } else if (errno != EINTR) {
            rv = errno;
        }
    }
    return rv;
}

apr_status_t el_body_copy(apr_bucket *bucket, char *to, size_t room, size_t *copied)
{
    apr_size_t expected = bucket->length;
    const char *data;
    apr_status_t rv;

    if (expected > room) {
        return APR_EGENERAL;
    }
    *copied = expected;
    if (APR_BUCKET_IS_FILE(bucket)) {
        return read_file(bucket, to, expected);
    }
    rv = apr_bucket_read(bucket, &data, copied, APR_BLOCK_READ);
    if (rv == APR_SUCCESS && *copied > expected) {
        return APR_EGENERAL;
    }
    if (rv == APR_SUCCESS) {
        /* Whatever it could not read at once is in a bucket behind it. */
        memcpy(to, data, *copied);
    }
    return rv;
}

static apr_status_t copy_all(apr_bucket_brigade *bb, el_whole_t *whole)
{
    size_t used = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); !APR_BUCKET_IS_EOS(e); e = APR_BUCKET_NEXT(e)) {
        char *to = (char *)whole->buffer + used;
        size_t copied = 0;
        apr_status_t rv = APR_BUCKET_IS_METADATA(e)
                              ? APR_SUCCESS
                              : el_body_copy(e, to, whole->nbytes - used, &copied);

        if (rv != APR_SUCCESS) {
            return rv;
        }
        used += copied;
    }
    return used == whole->nbytes ? APR_SUCCESS : APR_EOF;
}

/*
 * Whether nobody else can change the data of `e`. A mapped file can be written by its owner at any
 * time, and what a bucket of an unknown type stands for is not known: such data is copied before it
 * is used twice.
 */
static bool is_private(const apr_bucket *e)
{
    return APR_BUCKET_IS_HEAP(e) || APR_BUCKET_IS_POOL(e) || APR_BUCKET_IS_TRANSIENT(e)
           || APR_BUCKET_IS_IMMORTAL(e);
}

/* A copy of the data of `*bucket`, whose length is known, takes its place. */
static apr_status_t replace_by_copy(apr_bucket **bucket)
{
    apr_bucket *original = *bucket;
    char *copy = malloc(original->length + 1);
    size_t copied;
    apr_status_t rv =
        copy ? el_body_copy(original, copy, original->length, &copied) : APR_ENOMEM;

    if (rv != APR_SUCCESS) {
        free(copy);
        return rv;
    }
    *bucket = apr_bucket_heap_create(copy, copied, free, original->list);
    APR_BUCKET_INSERT_BEFORE(original, *bucket);
    apr_bucket_delete(original);
    return APR_SUCCESS;
}

apr_status_t el_body_set_aside(apr_bucket_brigade *bb, apr_pool_t *pool, size_t most)
{
    bool incomplete = false;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        bool is_shared =
            !APR_BUCKET_IS_METADATA(e) && !is_private(e) && e->length != UNKNOWN_LENGTH;
        size_t nbytes = e->length;
        apr_status_t rv;

        if (is_shared && nbytes <= most) {
            most -= nbytes;
            rv = replace_by_copy(&e);
        } else {
            incomplete = incomplete || is_shared;
            rv = apr_bucket_setaside(e, pool);
        }
        /* Of a bucket that cannot be set aside httpd says so, but keeps it. */
        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
            return rv;
        }
    }
    return incomplete ? APR_INCOMPLETE : APR_SUCCESS;
}

bool el_body_is_private(const apr_bucket_brigade *bb)
{
    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); !APR_BUCKET_IS_EOS(e);
         e = APR_BUCKET_NEXT(e)) {
        if (!APR_BUCKET_IS_METADATA(e) && !is_private(e)) {
            return false;
        }
    }
    return true;
}

bool el_body_each(const apr_bucket_brigade *bb, el_body_use_t *use, void *context)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); !APR_BUCKET_IS_EOS(e); e = APR_BUCKET_NEXT(e)) {
        apr_size_t expected = e->length, len;
        const char *data;

        if (APR_BUCKET_IS_METADATA(e)) {
            continue;
        }
        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS || len != expected) {
            return false;
        }
        use(context, data, len);
    }
    return true;
}

/* The only bucket with data, where that is private memory already; otherwise NULL. */
static apr_bucket *only_private(apr_bucket_brigade *bb)
{
    apr_bucket *only = NULL;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); !APR_BUCKET_IS_EOS(e); e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_METADATA(e) || e->length == 0) {
            continue;
        }
        if (only || !is_private(e)) {
            return NULL;
        }
        only = e;
    }
    return only;
}

apr_status_t el_body_gather(apr_bucket_brigade *bb, size_t nbytes, el_whole_t *whole)
{
    apr_bucket *only = only_private(bb);
    size_t held;
    apr_status_t rv;

    *whole = (el_whole_t){.nbytes = nbytes};
    if (only) {
        apr_size_t len;

        rv = apr_bucket_read(only, &whole->data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS || len == nbytes) {
            return rv;
        }
    }
    whole->buffer = el_pool_buffer_acquire(nbytes, &held);
    if (!whole->buffer) {
        return APR_ENOMEM;
    }
    whole->data = whole->buffer;
    rv = copy_all(bb, whole);
    if (rv != APR_SUCCESS) {
        el_body_release(whole);
    }
    return rv;
}

/* The first bucket with data, or NULL. */
static apr_bucket *first_data(apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (!APR_BUCKET_IS_METADATA(e) && e->length > 0) {
            return e;
        }
    }
    return NULL;
}

/* Copies what is peeked at of `bucket`, whose data is at `data` unless it is a file's. */
static bool copy_piece(const apr_bucket *bucket, const char *data, void *to, size_t nbytes)
{
    if (!to || APR_BUCKET_IS_FILE(bucket)) {
        return to && read_file(bucket, to, nbytes) == APR_SUCCESS;
    }
    memcpy(to, data, nbytes);
    return true;
}

el_whole_t el_body_peek(apr_bucket_brigade *bb, size_t most)
{
    apr_bucket *first = first_data(bb);
    el_whole_t piece = {NULL, 0, NULL};
    apr_size_t len = first ? first->length : 0;
    size_t held;

    if (!first
        || (!APR_BUCKET_IS_FILE(first)
            && apr_bucket_read(first, &piece.data, &len, APR_NONBLOCK_READ) != APR_SUCCESS)) {
        return piece;
    }
    piece.nbytes = len < most ? len : most;
    if (!is_private(first)) {
        piece.buffer = el_pool_buffer_acquire(piece.nbytes, &held);
        if (!copy_piece(first, piece.data, piece.buffer, piece.nbytes)) {
            piece.nbytes = 0;
        }
        piece.data = piece.buffer;
    }
    return piece;
}

bool el_body_begins_encoded(apr_bucket_brigade *bb)
{
    apr_bucket *first = first_data(bb);
    const char *data;
    apr_size_t len;

    return first && first->length != UNKNOWN_LENGTH && !APR_BUCKET_IS_FILE(first)
           && apr_bucket_read(first, &data, &len, APR_NONBLOCK_READ) == APR_SUCCESS
           && el_encoding_is_magic(data, len);
}

void el_body_release(el_whole_t *whole)
{
    el_pool_buffer_release(whole->buffer);
    whole->buffer = NULL;
}

void el_body_append_block(uint8_t **block, size_t nbytes, apr_bucket_brigade *bb)
{
    const char *data = (const char *)*block;
    apr_bucket *bucket = NULL;

    if (nbytes == 0) {
        return;
    }
    if (nbytes < EL_BODY_BLOCK / 4) {
        bucket = apr_bucket_heap_create(data, nbytes, NULL, bb->bucket_alloc);
    }
    if (!bucket) {
        bucket = apr_bucket_heap_create(data, nbytes, apr_bucket_free, bb->bucket_alloc);
        *block = NULL;
    }
    APR_BRIGADE_INSERT_TAIL(bb, bucket);
}
