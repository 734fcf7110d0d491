#include "body.h"

/* How long a look sleeps before it asks a pipe again. */
#define NAP apr_time_from_msec(2)

#define UNKNOWN_LENGTH ((apr_size_t)-1)

/*
 * A static file is read in pieces of this size: large enough that the calls do not show in a
 * profile.
 */
#define FILE_PIECE (64 * 1024)

el_measure_t el_body_measure(const apr_bucket_brigade *bb)
{
    el_measure_t measure = {.complete = false, .plain = true};
    bool known = true;

    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            measure.complete = known;
            break;
        }
        if (APR_BUCKET_IS_METADATA(e)) {
            measure.plain = measure.plain && APR_BUCKET_IS_FLUSH(e);
        } else if (e->length == UNKNOWN_LENGTH) {
            known = false;
        } else {
            measure.size += e->length;
        }
    }
    return measure;
}

apr_status_t el_body_read(apr_bucket *bucket, const char **data, apr_size_t *len,
                          apr_read_type_e mode)
{
    if (APR_BUCKET_IS_FILE(bucket)) {
        apr_bucket_file_enable_mmap(bucket, 0);
        apr_bucket_file_set_buf_size(bucket, FILE_PIECE);
    }
    return apr_bucket_read(bucket, data, len, mode);
}

void el_body_drop(apr_bucket_brigade *bb)
{
    apr_bucket *next;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            apr_bucket_delete(e);
        }
    }
}

/* Reads a bucket of unknown length, which then has one. */
static apr_status_t read_patiently(apr_bucket *bucket, apr_interval_time_t *patience)
{
    for (;;) {
        const char *data;
        apr_size_t len;
        apr_status_t rv = el_body_read(bucket, &data, &len, APR_NONBLOCK_READ);

        if (!APR_STATUS_IS_EAGAIN(rv) || *patience <= 0) {
            return rv;
        }
        apr_sleep(NAP);
        *patience -= NAP;
    }
}

el_look_t el_body_look(apr_bucket_brigade *bb, uint64_t enough, uint64_t *seen,
                       apr_interval_time_t *patience, apr_status_t *status)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            return EL_LOOK_ENDED;
        }
        if (APR_BUCKET_IS_FLUSH(e)) {
            return EL_LOOK_FLUSHED;
        }
        if (APR_BUCKET_IS_METADATA(e)) {
            continue;
        }
        if (e->length == UNKNOWN_LENGTH) {
            *status = read_patiently(e, patience);
            if (APR_STATUS_IS_EAGAIN(*status)) {
                return EL_LOOK_FLUSHED;
            }
            if (*status != APR_SUCCESS) {
                return EL_LOOK_FAILED;
            }
        }
        *seen += e->length;
        if (*seen >= enough) {
            return EL_LOOK_ENOUGH;
        }
    }
    return EL_LOOK_MORE;
}
