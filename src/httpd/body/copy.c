#include "httpd/body/copy.h"

#include "httpd/body/body.h"

#include "engines/memory.h"

#define UNKNOWN_LENGTH ((apr_size_t)-1)

/* Room for what a script writes at first: most pages. From then on it doubles. */
#define ROOM_LEAST ((size_t)64 * 1024)

struct el_copy {
    el_account_t account;
    size_t most;
    char *bytes;
    size_t nbytes, room;
    unsigned unread; /* buckets of unknown length that nobody has read yet */
    bool ended;      /* EOS has come */
    bool failed;
};

/*
 * In place of a bucket's own data while nobody has read it. The type in place of its own has the
 * same name, which tells other filters how to read it.
 */
typedef struct {
    el_copy_t *copy;
    const apr_bucket_type_t *type;
    void *data;
    apr_bucket_type_t in_place;
} watched_t;

static void release(el_copy_t *copy)
{
    el_memory_release(&copy->account, copy->bytes);
    copy->bytes = NULL;
    copy->nbytes = copy->room = 0;
}

static void fail(el_copy_t *copy)
{
    copy->failed = true;
    release(copy);
}

/* Makes room for `nbytes` more; where it cannot, the copy has failed. */
static bool reserve(el_copy_t *copy, size_t nbytes)
{
    size_t needed = copy->nbytes + nbytes, room = 2 * copy->room;
    char *bytes;

    if (needed <= copy->room) {
        return true;
    }
    if (nbytes > copy->most - copy->nbytes) {
        fail(copy);
        return false;
    }
    /* A file that is the whole body takes its own size. */
    room = room < needed ? needed : room;
    room = room < ROOM_LEAST ? ROOM_LEAST : room;
    room = room < copy->most ? room : copy->most;
    bytes = el_memory_acquire(&copy->account, room);
    if (!bytes) {
        /* It is no refusal of what this thread does next. */
        el_budget_take_refusal();
        fail(copy);
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

static void add(el_copy_t *copy, const char *data, size_t nbytes)
{
    if (!copy->failed && nbytes > 0 && reserve(copy, nbytes)) {
        memcpy(copy->bytes + copy->nbytes, data, nbytes);
        copy->nbytes += nbytes;
    }
}

static const apr_bucket_type_t watched_type;

static void watch(el_copy_t *copy, apr_bucket *bucket)
{
    watched_t *watched = apr_bucket_alloc(sizeof(*watched), bucket->list);

    if (!watched) {
        fail(copy);
        return;
    }
    *watched = (watched_t){copy, bucket->type, bucket->data, watched_type};
    watched->in_place.name = bucket->type->name;
    bucket->type = &watched->in_place;
    bucket->data = watched;
    copy->unread++;
}

/* The bucket is what it was. */
static el_copy_t *unwatch(apr_bucket *bucket)
{
    watched_t *watched = bucket->data;
    el_copy_t *copy = watched->copy;

    bucket->type = watched->type;
    bucket->data = watched->data;
    apr_bucket_free(watched);
    copy->unread--;
    return copy;
}

/* A read bucket has what there was to read, and the next bucket what is to come. */
static apr_status_t read_watched(apr_bucket *bucket, const char **data, apr_size_t *len,
                                 apr_read_type_e mode)
{
    el_copy_t *copy = unwatch(bucket);
    const apr_bucket *behind = APR_BUCKET_NEXT(bucket);
    apr_status_t rv = apr_bucket_read(bucket, data, len, mode);
    apr_bucket *rest = APR_BUCKET_NEXT(bucket);

    if (APR_STATUS_IS_EAGAIN(rv)) {
        watch(copy, bucket);
    } else if (rv != APR_SUCCESS) {
        fail(copy);
    } else {
        add(copy, *data, *len);
        if (rest != behind && rest->length == UNKNOWN_LENGTH && !copy->failed) {
            watch(copy, rest);
        }
    }
    return rv;
}

static void destroy_watched(void *data)
{
    watched_t *watched = data;

    watched->copy->unread--;
    fail(watched->copy);
    watched->type->destroy(watched->data);
    apr_bucket_free(watched);
}

static apr_status_t set_watched_aside(apr_bucket *bucket, apr_pool_t *pool)
{
    el_copy_t *copy = unwatch(bucket);
    apr_status_t rv = apr_bucket_setaside(bucket, pool);

    watch(copy, bucket);
    return rv;
}

static const apr_bucket_type_t watched_type = {
    "ELASTIC_WATCHED", 5, APR_BUCKET_DATA, destroy_watched, read_watched,
    set_watched_aside, apr_bucket_split_notimpl, apr_bucket_copy_notimpl,
};

/* A bucket with data, whose bytes come behind all that was copied until now. */
static void take(el_copy_t *copy, apr_bucket *bucket)
{
    if (copy->unread > 0) {
        fail(copy);
    } else if (bucket->length == UNKNOWN_LENGTH) {
        watch(copy, bucket);
    } else if (bucket->length > 0 && reserve(copy, bucket->length)) {
        size_t copied;

        if (el_body_copy(bucket, copy->bytes + copy->nbytes, bucket->length, &copied)
            == APR_SUCCESS) {
            /* Whatever could not be read at once is in the next bucket. */
            copy->nbytes += copied;
        } else {
            fail(copy);
        }
    }
}

static apr_status_t end(void *copy)
{
    el_copy_end(copy);
    return APR_SUCCESS;
}

el_copy_t *el_copy_begin(apr_pool_t *pool, size_t most)
{
    el_copy_t *copy = apr_pcalloc(pool, sizeof(*copy));

    copy->most = most;
    apr_pool_cleanup_register(pool, copy, end, apr_pool_cleanup_null);
    return copy;
}

void el_copy_take(el_copy_t *copy, apr_bucket_brigade *bb)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb);
         e != APR_BRIGADE_SENTINEL(bb) && !copy->ended && !copy->failed; e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            copy->ended = true;
        } else if (!APR_BUCKET_IS_METADATA(e)) {
            take(copy, e);
        } else if (!APR_BUCKET_IS_FLUSH(e)) {
            /* An error, or the end of the connection: the body is not what it should have been. */
            fail(copy);
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

void el_copy_end(el_copy_t *copy)
{
    fail(copy);
}
