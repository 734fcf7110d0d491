/* The wait for a body's size, before the decision is made: a step of filter.c. */
#ifndef ELASTIC_RESPONSE_HOLD_H
#define ELASTIC_RESPONSE_HOLD_H

#include "httpd/response/response.h"

/*
 * True if the decision can be made with `bb`, which then holds the body from its beginning: its
 * size or its end is known, the producer has flushed it, or as much of it is there as may be waited
 * for. Then the record knows the length as far as anybody does, whether all of the body is there to
 * be encoded in one call, and the minimum size. A HEAD that came without GET's body, or with a part
 * of it, says nothing about its size.
 *
 * False if the buckets are kept for the next call, or the response was broken off; `*rv` is the
 * filter's.
 */
bool el_hold(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

#endif
