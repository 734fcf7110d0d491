#include "httpd/response/hold.h"

#include "httpd/response/connection.h"
#include "httpd/response/fields.h"

#include "host/clock.h"

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

void el_hold_read_min_size(request_rec *r, el_response_t *response)
{
    el_moment_t *moment = &response->facts.moment;
    const el_policy_t *policy = &response->policy;

    if (!response->min_size_read) {
        moment->min_size = policy->min_of_one_brigade && !response->at_once
                               ? 0
                               : el_connection_min_size(r, policy, moment->size);
        response->min_size_read = true;
    }
}

/*
 * Whether the body's first brigade must be followed by more, and how long that is waited for. A
 * body that is too large is streamed from its beginning, and one that is too small goes as it comes.
 */
static bool must_wait(request_rec *r, el_response_t *response, const apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    el_wait_t *wait = &response->wait;
    uint64_t most = response->policy.whole_most;
    bool known;

    response->announced = known = el_fields_length(r, &response->length);
    response->at_once = measure.ended;
    if (measure.complete || (known && response->length > most)) {
        return false;
    }
    el_hold_read_min_size(r, response);
    if (known && response->length < response->facts.moment.min_size) {
        return false;
    }
    response->waits = true;
    *wait = (el_wait_t){.least = response->facts.moment.min_size,
                        .until = el_clock_usec() + PATIENCE,
                        .pause = PAUSE};
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

apr_status_t el_hold_break_off(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                               apr_status_t rv, const char *what)
{
    el_hold_drop(response);
    return el_stream_break_off(f, &response->stream, bb, rv, what);
}

/*
 * Keeps the buckets of `bb` for the next call. A body of which some are lost must not look whole,
 * whatever its handler makes of the error.
 */
static apr_status_t save(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb)
{
    apr_status_t rv = ap_save_brigade(f, &response->held, &bb, f->r->pool);

    /* Of a bucket that cannot be set aside httpd says so, but keeps it. */
    if (rv == APR_SUCCESS || rv == APR_ENOTIMPL) {
        return APR_SUCCESS;
    }
    return el_hold_break_off(f, response, bb, rv, "the body cannot be kept");
}

bool el_hold(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv)
{
    const el_wait_t *wait = &response->wait;
    uint64_t *seen = &response->facts.moment.size;
    el_look_t look;

    *rv = APR_SUCCESS;
    if (!response->held && !must_wait(f->r, response, bb)) {
        return true;
    }
    look = el_body_look(bb, wait, seen, rv);
    if (look == EL_LOOK_FAILED) {
        *rv = el_hold_break_off(f, response, bb, *rv, "the body cannot be read");
        return false;
    }
    /* That a piece took too long shows when it has come: nothing wakes a filter before. */
    if (look == EL_LOOK_MORE && (*seen < wait->least || el_clock_usec() < wait->until)) {
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

bool el_hold_read_length(el_response_t *response, const apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    el_moment_t *moment = &response->facts.moment;
    bool head = response->facts.demand.head;
    bool there = measure.complete;
    bool announced = response->announced;
    uint64_t length = response->length;

    if (response->waits && !head && there && measure.plain && announced
        && measure.size < length) {
        return false;
    }
    if (head) {
        there = there && (announced ? measure.size >= length : measure.size > 0);
    }
    moment->size = there || !announced ? measure.size : length;
    moment->size_known = there || announced;
    response->whole = there && measure.plain && moment->size <= response->policy.whole_most;
    moment->may_be_cached = moment->may_be_cached && response->whole;
    return true;
}
