#include "httpd/body/body.h"

#include "engines/memory.h"

#include "apr_portable.h"
#include "http_protocol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Files are read in pieces of this size. The calls then take no measurable time, and hundreds of
 * processes can afford the memory.
 */
#define FILE_PIECE (32 * 1024)

/*
 * True if nobody else can change the data of `e`. The owner of a mapped file can write to it at any
 * time, and other modules' types are unknown: such data is copied before it is used twice.
 */
static bool body_is_private(const apr_bucket *e)
{
    return APR_BUCKET_IS_HEAP(e) || APR_BUCKET_IS_POOL(e) || APR_BUCKET_IS_TRANSIENT(e)
           || APR_BUCKET_IS_IMMORTAL(e);
}

el_measure_t el_body_measure(const apr_bucket_brigade *bb)
{
    el_measure_t measure = {.plain = true, .is_private = true};
    bool known = true;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            measure.ended = true;
            measure.complete = known;
            break;
        }
        if (APR_BUCKET_IS_METADATA(e)) {
            measure.plain = measure.plain && APR_BUCKET_IS_FLUSH(e);
        } else if (e->length > 0) {
            measure.first = measure.pieces++ == 0 ? e : measure.first;
            measure.is_private = measure.is_private && body_is_private(e);
            if (e->length == EL_BODY_UNKNOWN) {
                known = false;
            } else {
                measure.size += e->length;
            }
        }
    }
    return measure;
}

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
        /* mod_cgi waits for its script to end, and the script waits for a reader. */
        if (strcmp(e->type->name, "CGI") == 0) {
            (void)apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        }
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
        }
    }
}

apr_status_t el_body_leave(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

apr_status_t el_no_body(ap_filter_t *f, apr_bucket_brigade *bb)
{
    el_body_drop(bb);
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}

/* Reads a file bucket through its descriptor: no seek, and no bucket for the data. */
static apr_status_t body_read_file(const apr_bucket *bucket, char *to, size_t nbytes)
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

/*
 * Copies the data of a bucket of known length, at most `room` bytes, and sets `*copied`. A file's
 * bucket stays as it is. Another bucket may be split if not all of its data is ready.
 */
static apr_status_t body_copy(apr_bucket *bucket, char *to, size_t room, size_t *copied)
{
    apr_size_t expected = bucket->length;
    const char *data;
    apr_status_t rv;

    if (expected > room) {
        return APR_EGENERAL;
    }
    *copied = expected;
    if (APR_BUCKET_IS_FILE(bucket)) {
        return body_read_file(bucket, to, expected);
    }
    rv = apr_bucket_read(bucket, &data, copied, APR_BLOCK_READ);
    if (rv == APR_SUCCESS && *copied > expected) {
        return APR_EGENERAL;
    }
    if (rv == APR_SUCCESS) {
        memcpy(to, data, *copied);
    }
    return rv;
}

apr_status_t el_body_set_aside(apr_bucket_brigade *bb, apr_pool_t *pool, size_t most)
{
    bool incomplete = false;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        bool is_shared =
            !APR_BUCKET_IS_METADATA(e) && !body_is_private(e) && e->length != EL_BODY_UNKNOWN;
        apr_status_t rv;

        if (is_shared && e->length <= most) {
            apr_bucket *original = e;
            char *copy = malloc(original->length + 1);
            size_t copied;

            most -= original->length;
            rv = copy ? body_copy(original, copy, original->length, &copied) : APR_ENOMEM;
            if (rv == APR_SUCCESS) {
                e = apr_bucket_heap_create(copy, copied, free, original->list);
                APR_BUCKET_INSERT_BEFORE(original, e);
                apr_bucket_delete(original);
            } else {
                free(copy);
            }
        } else {
            incomplete = incomplete || is_shared;
            rv = apr_bucket_setaside(e, pool);
        }
        /* httpd keeps buckets whose type cannot be set aside (APR_ENOTIMPL). */
        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
            return rv;
        }
    }
    return incomplete ? APR_INCOMPLETE : APR_SUCCESS;
}

apr_status_t el_body_gather(apr_bucket_brigade *bb, const el_measure_t *measure, el_whole_t *whole)
{
    size_t used = 0, held, nbytes = (size_t)measure->size;
    apr_status_t rv;

    *whole = (el_whole_t){.nbytes = nbytes};
    if (measure->pieces == 1 && measure->is_private) {
        apr_size_t len;

        rv = apr_bucket_read(measure->first, &whole->data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS || len == nbytes) {
            return rv;
        }
    }
    whole->buffer = el_pool_buffer_acquire(nbytes, &held);
    if (!whole->buffer) {
        return APR_ENOMEM;
    }
    whole->data = whole->buffer;
    rv = APR_SUCCESS;
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); rv == APR_SUCCESS && !APR_BUCKET_IS_EOS(e);
         e = APR_BUCKET_NEXT(e)) {
        if (!APR_BUCKET_IS_METADATA(e)) {
            size_t copied = 0;

            rv = body_copy(e, (char *)whole->buffer + used, nbytes - used, &copied);
            used += copied;
        }
    }
    if (rv == APR_SUCCESS && used != nbytes) {
        rv = APR_EOF;
    }
    if (rv != APR_SUCCESS) {
        el_body_release(whole);
    }
    return rv;
}

el_whole_t el_body_peek(apr_bucket *first, size_t most)
{
    el_whole_t piece = {NULL, 0, NULL};
    apr_size_t len = first ? first->length : 0;
    bool is_file = first && APR_BUCKET_IS_FILE(first);
    size_t held;

    if (!first
        || (!is_file
            && apr_bucket_read(first, &piece.data, &len, APR_NONBLOCK_READ) != APR_SUCCESS)) {
        return piece;
    }
    piece.nbytes = len < most ? len : most;
    if (!body_is_private(first)) {
        piece.buffer = el_pool_buffer_acquire(piece.nbytes, &held);
        if (!piece.buffer
            || (is_file && body_read_file(first, piece.buffer, piece.nbytes) != APR_SUCCESS)) {
            piece.nbytes = 0;
        } else if (!is_file) {
            memcpy(piece.buffer, piece.data, piece.nbytes);
        }
        piece.data = piece.buffer;
    }
    return piece;
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

/* ---- a private copy -------------------------------------------------------------------------- */

/* First allocation for a script's output, enough for most pages; it doubles from there. */
#define ROOM_LEAST ((size_t)64 * 1024)

struct el_copy {
    el_account_t account;
    size_t most;
    char *bytes;
    size_t nbytes, room;
    unsigned unread; /* buckets of unknown length that no filter has read yet */
    bool ended;      /* EOS was seen */
    bool failed;
};

/*
 * Replaces the data of a bucket that has not been read. The type keeps the original's name, by
 * which filters know how to read it.
 */
typedef struct {
    el_copy_t *copy;
    const apr_bucket_type_t *type;
    void *data;
    apr_bucket_type_t in_place;
} watched_t;

void el_copy_end(el_copy_t *copy)
{
    copy->failed = true;
    el_memory_release(&copy->account, copy->bytes);
    copy->bytes = NULL;
    copy->nbytes = copy->room = 0;
}

/* Makes room for `nbytes` more. Returns false, and the copy fails, if it cannot. */
static bool body_copy_reserve(el_copy_t *copy, size_t nbytes)
{
    size_t needed = copy->nbytes + nbytes, room = 2 * copy->room;
    char *bytes;

    if (needed <= copy->room) {
        return true;
    }
    if (nbytes > copy->most - copy->nbytes) {
        el_copy_end(copy);
        return false;
    }
    /* A file that is the whole body gets exactly its size. */
    room = room < needed ? needed : room;
    room = room < ROOM_LEAST ? ROOM_LEAST : room;
    room = room < copy->most ? room : copy->most;
    bytes = el_memory_acquire(&copy->account, room);
    if (!bytes) {
        /* The copy was refused, not the body that this thread encodes next: clear the refusal. */
        el_budget_take_refusal();
        el_copy_end(copy);
        return false;
    }
    if (copy->nbytes > 0) {
        memcpy(bytes, copy->bytes, copy->nbytes);
    }
    el_memory_release(&copy->account, copy->bytes);
    copy->bytes = bytes;
    copy->room = room;
    return true;
}

static const apr_bucket_type_t watched_type;

static void body_copy_watch(el_copy_t *copy, apr_bucket *bucket)
{
    watched_t *watched = apr_bucket_alloc(sizeof(*watched), bucket->list);

    if (!watched) {
        el_copy_end(copy);
        return;
    }
    *watched = (watched_t){copy, bucket->type, bucket->data, watched_type};
    watched->in_place.name = bucket->type->name;
    bucket->type = &watched->in_place;
    bucket->data = watched;
    copy->unread++;
}

/* Restores the bucket, and returns the copy that watched it. */
static el_copy_t *body_copy_unwatch(apr_bucket *bucket)
{
    watched_t *watched = bucket->data;
    el_copy_t *copy = watched->copy;

    bucket->type = watched->type;
    bucket->data = watched->data;
    apr_bucket_free(watched);
    copy->unread--;
    return copy;
}

/* A read leaves the data in this bucket, and the rest in the next one. */
static apr_status_t body_copy_read_watched(apr_bucket *bucket, const char **data, apr_size_t *len,
                                 apr_read_type_e mode)
{
    el_copy_t *copy = body_copy_unwatch(bucket);
    const apr_bucket *behind = APR_BUCKET_NEXT(bucket);
    apr_status_t rv = apr_bucket_read(bucket, data, len, mode);
    apr_bucket *rest = APR_BUCKET_NEXT(bucket);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        body_copy_watch(copy, bucket);
    } else if (rv != APR_SUCCESS) {
        el_copy_end(copy);
    } else {
        if (!copy->failed && *len > 0 && body_copy_reserve(copy, *len)) {
            memcpy(copy->bytes + copy->nbytes, *data, *len);
            copy->nbytes += *len;
        }
        if (rest != behind && rest->length == EL_BODY_UNKNOWN && !copy->failed) {
            body_copy_watch(copy, rest);
        }
    }
    return rv;
}

static void body_copy_destroy_watched(void *data)
{
    watched_t *watched = data;

    watched->copy->unread--;
    el_copy_end(watched->copy);
    watched->type->destroy(watched->data);
    apr_bucket_free(watched);
}

static apr_status_t body_copy_set_watched_aside(apr_bucket *bucket, apr_pool_t *pool)
{
    el_copy_t *copy = body_copy_unwatch(bucket);
    apr_status_t rv = apr_bucket_setaside(bucket, pool);

    body_copy_watch(copy, bucket);
    return rv;
}

static const apr_bucket_type_t watched_type = {
    "ELASTIC_WATCHED", 5, APR_BUCKET_DATA, body_copy_destroy_watched, body_copy_read_watched,
    body_copy_set_watched_aside, apr_bucket_split_notimpl, apr_bucket_copy_notimpl,
};

static apr_status_t body_copy_clean_up(void *copy)
{
    el_copy_end(copy);
    return APR_SUCCESS;
}

el_copy_t *el_copy_begin(apr_pool_t *pool, size_t most)
{
    el_copy_t *copy = apr_pcalloc(pool, sizeof(*copy));

    copy->most = most;
    apr_pool_cleanup_register(pool, copy, body_copy_clean_up, apr_pool_cleanup_null);
    return copy;
}

void el_copy_take(el_copy_t *copy, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb);
         e != APR_BRIGADE_SENTINEL(bb) && !copy->ended && !copy->failed; e = APR_BUCKET_NEXT(e)) {
        size_t copied;

        if (APR_BUCKET_IS_EOS(e)) {
            copy->ended = true;
        } else if (APR_BUCKET_IS_METADATA(e)) {
            /* An error bucket or the end of the connection: the body is not complete. */
            if (!APR_BUCKET_IS_FLUSH(e)) {
                el_copy_end(copy);
            }
        } else if (copy->unread > 0) {
            /* Bytes before these have not been read, so the order would be lost. */
            el_copy_end(copy);
        } else if (e->length == EL_BODY_UNKNOWN) {
            body_copy_watch(copy, e);
        } else if (e->length > 0 && body_copy_reserve(copy, e->length)) {
            if (body_copy(e, copy->bytes + copy->nbytes, e->length, &copied) == APR_SUCCESS) {
                copy->nbytes += copied;
            } else {
                el_copy_end(copy);
            }
        }
    }
}

el_copy_state_t el_copy_state(const el_copy_t *copy)
{
    if (copy->failed) {
        return EL_COPY_FAILED;
    }
    return copy->ended && copy->unread == 0 ? EL_COPY_WHOLE : EL_COPY_BEGUN;
}

const char *el_copy_bytes(const el_copy_t *copy, size_t *nbytes)
{
    *nbytes = copy->nbytes;
    return copy->bytes;
}
