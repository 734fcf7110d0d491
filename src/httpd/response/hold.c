#include "httpd/response/steps.h"

#include "host/process.h"

/*
 * The longest wait for the end of a body. Once per response, a tenth of a second goes unnoticed; a
 * CGI script needs part of it to exit after its last write.
 */
#define PATIENCE 100000 /* µs */

/* The longest pause that such a script may make once enough to encode is there. */
#define PAUSE 10000 /* µs */

/*
 * A body that comes in pieces, from php-fpm or a script, is gathered up to this size and encoded in
 * one call, which halves gzip's CPU time. Most pages are smaller, and streaming would show little
 * of them sooner: zlib holds back about 64 KB before it writes a block.
 */
#define GATHERED (128 * 1024)

/* The pause between two reads of a pipe. */
#define NAP apr_time_from_msec(2)

/* Events must go out at once. */
#define EVENTS "text/event-stream"

static void hold_read_min_size(el_response_t *response)
{
    el_moment_t *moment = &response->facts.moment;
    const el_policy_t *policy = &response->policy;

    if (!response->min_size_read) {
        moment->min_size = policy->min_of_one_brigade && !response->measure.ended
                               ? 0
                               : el_response_min_size(response, policy, moment->size);
        response->min_size_read = true;
    }
}

/*
 * Measures the body's first brigade. Returns true, and sets the wait, if more is needed. Streams
 * too large a body at once; does not wait for a small one if a backend announced its length.
 */
static bool hold_must_wait(el_response_t *response, const apr_bucket_brigade *bb)
{
    const request_rec *r = response->r;
    el_wait_t *wait = &response->wait;
    uint64_t most = response->policy.whole_most;
    bool known;

    response->measure = el_body_measure(bb);
    response->announced = known = el_fields_length(&response->fields, &response->length);
    if (response->measure.complete || (known && response->length > most)) {
        return false;
    }
    hold_read_min_size(response);
    if (known && r->proxyreq && response->length < response->facts.moment.min_size) {
        return false;
    }
    response->waits = true;
    *wait = (el_wait_t){.least = response->facts.moment.min_size,
                        .until = el_clock_usec() + PATIENCE,
                        .pause = PAUSE,
                        .events = r->content_type && !strncasecmp(r->content_type, EVENTS,
                                                                  strlen(EVENTS))};
    wait->most = known || most < GATHERED ? most + 1 : GATHERED;
    if (wait->most < wait->least) {
        wait->most = wait->least;
    }
    return true;
}

/* The result of a look at a body. */
typedef enum {
    LOOK_MORE,    /* the brigade is used up */
    LOOK_ENOUGH,  /* `most` bytes are there */
    LOOK_ENDED,   /* EOS */
    LOOK_FLUSHED, /* the producer flushed or has nothing ready */
    LOOK_FAILED   /* reading failed */
} look_t;

/* Reads a bucket of unknown length after `seen` bytes. APR_EAGAIN: decide without it. */
static apr_status_t hold_read(apr_bucket *bucket, const el_wait_t *wait, uint64_t seen,
                              apr_size_t *len)
{
    /* By name: the type may be mod_cgi's own, or a wrapper of ours (body.c). */
    static const char *const telling[] = {"PIPE", "SOCKET", "CGI"};
    const char *data;
    uint64_t now = el_clock_usec(), end;
    size_t i = 0;

    while (i < sizeof(telling) / sizeof(telling[0])
           && strcmp(bucket->type->name, telling[i]) != 0) {
        i++;
    }
    /*
     * Other modules' buckets, such as Phusion Passenger's, may answer APR_EAGAIN to every
     * non-blocking read. Read them as the stock filters do, waiting for the next piece, unless
     * enough is there or the client waits for events.
     */
    if (i == sizeof(telling) / sizeof(telling[0])) {
        return wait->events || (seen >= wait->least && now >= wait->until)
                   ? APR_EAGAIN
                   : el_body_read(bucket, &data, len, APR_BLOCK_READ);
    }
    /* APR_EAGAIN of these types means that the producer has nothing ready. Wait for it. */
    end = seen == 0 || seen < wait->least || now + wait->pause > wait->until ? wait->until
                                                                             : now + wait->pause;
    for (;;) {
        /* Before the read: a busy machine may take the thread away, and the page comes meanwhile. */
        bool last = el_clock_usec() >= end;
        apr_status_t rv = el_body_read(bucket, &data, len, APR_NONBLOCK_READ);

        if (!APR_STATUS_IS_EAGAIN(rv) || last) {
            return rv;
        }
        apr_sleep(NAP);
    }
}

/* Adds to `*seen` until wait->most bytes were seen. `*status`: why reading failed. */
static look_t hold_look(apr_bucket_brigade *bb, const el_wait_t *wait, uint64_t *seen,
                        apr_status_t *status)
{
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        apr_size_t len;

        if (APR_BUCKET_IS_EOS(e)) {
            return LOOK_ENDED;
        }
        if (APR_BUCKET_IS_FLUSH(e)) {
            return LOOK_FLUSHED;
        }
        if (APR_BUCKET_IS_METADATA(e)) {
            continue;
        }
        len = e->length;
        if (len == EL_BODY_UNKNOWN) {
            *status = hold_read(e, wait, *seen, &len);
            if (*status != APR_SUCCESS) {
                return APR_STATUS_IS_EAGAIN(*status) ? LOOK_FLUSHED : LOOK_FAILED;
            }
        }
        *seen += len;
        if (*seen >= wait->most) {
            return LOOK_ENOUGH;
        }
    }
    return LOOK_MORE;
}

/*
 * Sets the body's length, as far as known, and `whole`. Returns false if a body that was waited for
 * ended before its announced length.
 */
static bool hold_read_length(el_response_t *response)
{
    request_rec *r = response->r;
    const el_measure_t *measure = &response->measure;
    el_moment_t *moment = &response->facts.moment;
    bool head = response->facts.demand.head;
    bool there = measure->complete, all_of_little;

    if (response->waits) {
        /* A handler or filter may have changed the header during the wait. */
        response->fields = el_fields_read(r);
        response->announced = el_fields_length(&response->fields, &response->length);
        if (!head && there && measure->plain && response->announced
            && measure->size != response->length) {
            if (!r->proxyreq) {
                el_field_unset(r, "Content-Length");
            } else if (measure->size < response->length) {
                return false;
            }
        }
    }
    /*
     * Before the body's end, only a backend's Content-Length is reliable: if fewer bytes come, it
     * broke off. A local handler may validly end elsewhere: PHP sets the field before an output
     * callback shortens the page.
     */
    all_of_little =
        measure->size == response->length && measure->size < response->facts.moment.min_size;
    response->announced =
        response->announced && (there || r->proxyreq || head || all_of_little);
    if (head) {
        there = there && measure->size >= (response->announced ? response->length : 1);
    }
    moment->size = there || !response->announced ? measure->size : response->length;
    moment->size_known = there || response->announced;
    response->whole = there && measure->plain && moment->size <= response->policy.whole_most;
    moment->may_be_cached = moment->may_be_cached && response->whole;
    hold_read_min_size(response);
    return true;
}

bool el_hold(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv)
{
    ap_filter_t *f = response->filter;
    const el_wait_t *wait = &response->wait;
    uint64_t *seen = &response->facts.moment.size;
    const char *fault = NULL;

    *rv = APR_SUCCESS;
    if (response->held || hold_must_wait(response, bb)) {
        look_t look = hold_look(bb, wait, seen, rv);

        /* There is no timer: a late piece is noticed when it arrives. */
        if (look == LOOK_FAILED) {
            fault = "the body cannot be read";
        } else if (look == LOOK_MORE && (*seen < wait->least || el_clock_usec() < wait->until)) {
            /* If this fails, buckets are lost: break off, so that the body never looks whole. */
            *rv = el_body_set_aside(bb, response->r->pool, wait->most);
            if (*rv == APR_SUCCESS) {
                if (!response->held) {
                    response->held = apr_brigade_create(response->r->pool, bb->bucket_alloc);
                }
                APR_BRIGADE_CONCAT(response->held, bb);
                return false;
            }
            fault = "the body cannot be held in memory";
        } else {
            if (response->held) {
                APR_BRIGADE_PREPEND(bb, response->held);
            }
            response->measure = el_body_measure(bb);
            if (el_clock_usec() > wait->until + el_shared.config.interval) {
                response->control_read = response->effort_known = false;
                response->facts.moment.bypass = el_response_control(response).bypass;
            }
        }
    }
    if (!fault && !hold_read_length(response)) {
        *rv = APR_EOF;
        fault = "the body is shorter than was announced";
    }
    if (fault) {
        *rv = el_stream_break_off(f, &response->stream, bb, *rv, fault);
    }
    return !fault;
}
