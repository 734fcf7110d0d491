#include "httpd/response/steps.h"

#include "httpd/response/connection.h"
#include "httpd/response/fields.h"

#include "host/process.h"

/*
 * How long the end of a body is waited for: a tenth of a second, once per response, goes unnoticed.
 * A CGI script that has written all it has needs a part of it to exit.
 */
#define PATIENCE 100000 /* µs */

/* And how long of that when such a script pauses, but has written enough to encode. */
#define PAUSE 10000 /* µs */

/*
 * A body that comes piece by piece, as from php-fpm or a script, is gathered up to this size,
 * to be encoded in one call: gzip then takes half of the time. Most pages are smaller, and a stream
 * would show little of them before: zlib keeps some 64 KB to itself until it writes a block.
 */
#define GATHERED (128 * 1024)

/* How long a look sleeps before it asks a pipe again. */
#define NAP apr_time_from_msec(2)

/* The type of a body whose parts are for now. */
#define EVENTS "text/event-stream"

#define UNKNOWN_LENGTH ((apr_size_t)-1)

static el_measure_t measure_body(const apr_bucket_brigade *bb)
{
    el_measure_t measure = {.complete = false, .plain = true};
    bool known = true;

    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            measure.ended = true;
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

void el_hold_read_min_size(request_rec *r, el_response_t *response)
{
    el_moment_t *moment = &response->facts.moment;
    const el_policy_t *policy = &response->policy;

    if (!response->min_size_read) {
        moment->min_size = policy->min_of_one_brigade && !response->measure.ended
                               ? 0
                               : el_connection_min_size(r, policy, moment->size);
        response->min_size_read = true;
    }
}

/*
 * Whether the body's first brigade must be followed by more, and how long that is waited for. A
 * body that is too large is streamed from its beginning, and one that is too small goes as it
 * comes, where its length can be relied on.
 */
static bool must_wait(request_rec *r, el_response_t *response, const apr_bucket_brigade *bb)
{
    el_measure_t measure = measure_body(bb);
    el_wait_t *wait = &response->wait;
    uint64_t most = response->policy.whole_most;
    bool known;

    response->measure = measure;
    response->announced = known = el_fields_length(&response->fields, &response->length);
    if (measure.complete || (known && response->length > most)) {
        return false;
    }
    el_hold_read_min_size(r, response);
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

void el_hold_drop(el_response_t *response)
{
    if (response->held) {
        apr_brigade_cleanup(response->held);
    }
}

/*
 * Keeps the buckets of `bb`, which are less than is waited for, for the next call. A body of which
 * some are lost must not look whole, whatever its handler makes of the error.
 */
static apr_status_t save(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    apr_status_t rv = el_body_set_aside(bb, f->r->pool, response->wait.most);

    if (rv != APR_SUCCESS) {
        return el_stream_break_off(f, &response->stream, bb, rv,
                                   "the body cannot be held in memory");
    }
    if (!response->held) {
        response->held = apr_brigade_create(f->r->pool, bb->bucket_alloc);
    }
    APR_BRIGADE_CONCAT(response->held, bb);
    return APR_SUCCESS;
}

/* What ended a look at a body. */
typedef enum {
    LOOK_MORE,    /* nothing yet: the brigade is used up */
    LOOK_ENOUGH,  /* as much was seen as may be held */
    LOOK_ENDED,   /* EOS */
    LOOK_FLUSHED, /* the producer wants out what there is, or has nothing more at hand */
    LOOK_FAILED   /* reading failed */
} look_t;

/*
 * Whether APR_EAGAIN of `bucket` means that its producer has nothing more at hand: of a pipe, a
 * socket, or what mod_cgi has in place of them. Buckets of other modules, as Phusion Passenger's,
 * may say it to every read that does not wait.
 */
static bool tells_pauses(const apr_bucket *bucket)
{
    /* By name: a type may be mod_cgi's own, or stand in place of another (body/copy.c). */
    static const char *const types[] = {"PIPE", "SOCKET", "CGI"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(bucket->type->name, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Reads such a bucket of unknown length, which then has `*len`. */
static apr_status_t read_patiently(apr_bucket *bucket, uint64_t until, apr_size_t *len)
{
    for (;;) {
        const char *data;
        apr_status_t rv = el_body_read(bucket, &data, len, APR_NONBLOCK_READ);

        if (!APR_STATUS_IS_EAGAIN(rv) || el_clock_usec() >= until) {
            return rv;
        }
        apr_sleep(NAP);
    }
}

/* When a pause that begins now has lasted long enough. */
static uint64_t end_of_pause(const el_wait_t *wait, uint64_t seen)
{
    uint64_t end = el_clock_usec() + wait->pause;

    return seen == 0 || seen < wait->least || end > wait->until ? wait->until : end;
}

/*
 * Reads any other bucket of unknown length as the stock filters do: waits for the next piece, or
 * the end. APR_EAGAIN where the decision can be made without, and where a client waits for each
 * event.
 */
static apr_status_t read_blindly(apr_bucket *bucket, const el_wait_t *wait, uint64_t seen,
                                 apr_size_t *len)
{
    const char *data;

    if (wait->events || (seen >= wait->least && el_clock_usec() >= wait->until)) {
        return APR_EAGAIN;
    }
    return el_body_read(bucket, &data, len, APR_BLOCK_READ);
}

/*
 * Looks through `bb` until `*seen`, to which it adds, reaches `wait->most` bytes. Pipes and sockets
 * are read without blocking, except for the pauses that `wait` allows; `status` says why where
 * reading failed.
 */
static look_t look_through(apr_bucket_brigade *bb, const el_wait_t *wait, uint64_t *seen,
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
        if (len == UNKNOWN_LENGTH) {
            *status = tells_pauses(e) ? read_patiently(e, end_of_pause(wait, *seen), &len)
                                      : read_blindly(e, wait, *seen, &len);
            if (APR_STATUS_IS_EAGAIN(*status)) {
                return LOOK_FLUSHED;
            }
            if (*status != APR_SUCCESS) {
                return LOOK_FAILED;
            }
        }
        *seen += len;
        if (*seen >= wait->most) {
            return LOOK_ENOUGH;
        }
    }
    return LOOK_MORE;
}

bool el_hold(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv)
{
    const el_wait_t *wait = &response->wait;
    uint64_t *seen = &response->facts.moment.size;
    look_t look;

    *rv = APR_SUCCESS;
    if (!response->held && !must_wait(f->r, response, bb)) {
        return true;
    }
    look = look_through(bb, wait, seen, rv);
    if (look == LOOK_FAILED) {
        *rv = el_stream_break_off(f, &response->stream, bb, *rv, "the body cannot be read");
        return false;
    }
    /* That a piece took too long shows when it has come: nothing wakes a filter before. */
    if (look == LOOK_MORE && (*seen < wait->least || el_clock_usec() < wait->until)) {
        *rv = save(f, response, bb);
        return false;
    }
    if (response->held) {
        APR_BRIGADE_PREPEND(bb, response->held);
    }
    if (el_clock_usec() > wait->until + el_shared.config.interval) {
        el_response_forget_control(f->r);
        response->facts.moment.bypass = el_response_control(f->r).bypass;
    }
    return true;
}

/*
 * Whether Content-Length can be relied on before the body's end. A backend that announced more has
 * broken off. A handler of this httpd has ended its body well, but another length may be in the
 * header: PHP's scripts set it before an output callback shortens the page.
 */
static bool is_reliable(const request_rec *r, const el_response_t *response,
                        const el_measure_t *measure)
{
    bool all_of_little =
        measure->size == response->length && measure->size < response->facts.moment.min_size;

    return r->proxyreq || response->facts.demand.head || all_of_little;
}

bool el_hold_read_length(request_rec *r, el_response_t *response, const apr_bucket_brigade *bb)
{
    el_measure_t measure = response->waits ? measure_body(bb) : response->measure;
    el_moment_t *moment = &response->facts.moment;
    bool head = response->facts.demand.head;
    bool there = measure.complete, is_false = false;

    if (response->waits) {
        /* The header has not gone out: whoever makes the body may have changed it. */
        response->fields = el_fields_read(r);
        response->announced = el_fields_length(&response->fields, &response->length);
        is_false = !head && there && measure.plain && response->announced
                   && measure.size != response->length;
    }
    if (is_false && !r->proxyreq) {
        el_field_unset(r, "Content-Length");
    } else if (is_false && measure.size < response->length) {
        return false;
    }
    response->announced = response->announced && (there || is_reliable(r, response, &measure));
    if (head) {
        there = there && measure.size >= (response->announced ? response->length : 1);
    }
    moment->size = there || !response->announced ? measure.size : response->length;
    moment->size_known = there || response->announced;
    response->whole = there && measure.plain && moment->size <= response->policy.whole_most;
    moment->may_be_cached = moment->may_be_cached && response->whole;
    return true;
}
