/*
 * The ends of a response: its header, its body, notes and counters. A response that is streamed
 * ends with its stream (body/stream.h). Each returns the status of what was passed on.
 */
#ifndef ELASTIC_RESPONSE_SEND_H
#define ELASTIC_RESPONSE_SEND_H

#include "httpd/response/response.h"

/* Makes the header that of the body in `coding`. */
void el_send_header(request_rec *r, const el_response_t *response, el_coding_t coding);

/* The body `bb` goes on as it is, as `decision` says, and the filter is gone. */
apr_status_t el_send_identity(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                              el_decision_t decision);

/* What response->encoder holds goes out in place of the complete body `bb`, with its length. */
apr_status_t el_send_whole(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb);

/* The answer to HEAD, whose header is set: what comes of the body is dropped from now on. */
apr_status_t el_send_head(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb);

/* Passes on a brigade of that without its data, whose length would become the header's. */
apr_status_t el_send_nothing(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
