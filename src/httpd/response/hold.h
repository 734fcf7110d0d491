/*
 * Holding a body back until the decision can be made: its size, its end, a flush, or as much of it
 * as may be waited for.
 */
#ifndef ELASTIC_RESPONSE_HOLD_H
#define ELASTIC_RESPONSE_HOLD_H

#include "httpd/response/response.h"

/*
 * Whether the decision can be made with `bb`, which then holds the body from its beginning. Where
 * not, its buckets are kept for the next call, or the response was broken off; `*rv` is the
 * filter's.
 */
bool el_hold(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/*
 * What is known of the body's length, and whether all of the body is there, to be encoded in one
 * call. A HEAD that came without GET's body, or with a part of it, says nothing about its size.
 * False where a body that was waited for has ended before the length that was announced.
 */
bool el_hold_read_length(el_response_t *response, const apr_bucket_brigade *bb);

/* Computes the minimum size, once. */
void el_hold_read_min_size(request_rec *r, el_response_t *response);

/* Drops what is held. */
void el_hold_drop(el_response_t *response);

#endif
