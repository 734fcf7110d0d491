/* The connection of a response: its rate, what fits into a segment of it, what its client takes. */
#ifndef ELASTIC_RESPONSE_CONNECTION_H
#define ELASTIC_RESPONSE_CONNECTION_H

#include "httpd/config/config.h"

#include "elastic/http.h"
#include "elastic/price.h"

/* What the request accepts, among all codings. Clients send the same line again and again. */
const el_accept_t *el_connection_accept(request_rec *r);

/*
 * The rate of the client's wire in bits a second, by `goal`: its own figure, or with `auto` the
 * connection's delivery rate within the goal's bounds. The goal's own figure too where nothing
 * is known, where a proxy stands in front, and where the application had less to send than that.
 */
double el_connection_rate(request_rec *r, const el_goal_t *goal);

/*
 * Bytes below which the body stays as it is. By ElasticMinSize auto: what fits one TCP segment
 * together with the header; the socket is asked for its segment size only where `size`, the bytes
 * of the body that are known of, is not beyond every segment.
 */
uint64_t el_connection_min_size(request_rec *r, const el_policy_t *policy, uint64_t size);

#endif
