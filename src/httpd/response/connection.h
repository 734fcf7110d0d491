/* The connection that a response goes to: what the kernel knows of it, and how near its client is. */
#ifndef ELASTIC_RESPONSE_CONNECTION_H
#define ELASTIC_RESPONSE_CONNECTION_H

#include "httpd/base/glue.h"

#include "elastic/price.h"

/* The client's connection: of an HTTP/2 stream its master, whose socket is a real one. */
conn_rec *el_connection_of(request_rec *r);

/* The payload of a segment in bytes, as the kernel has it; 0 where it says nothing. */
int el_connection_mss(request_rec *r);

/*
 * The rate of the client's wire in bits a second, by `goal`: its own figure, or with `auto` the
 * connection's delivery rate within the goal's bounds. The goal's own figure too where nothing
 * is known, where a proxy stands in front, and where the application had less to send than that.
 */
double el_connection_rate(request_rec *r, const el_goal_t *goal);

#endif
