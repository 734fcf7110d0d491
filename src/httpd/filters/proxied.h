/* What mod_proxy makes of a request body, by the URL that it sends the request to. */
#ifndef ELASTIC_FILTERS_PROXIED_H
#define ELASTIC_FILTERS_PROXIED_H

#include "httpd/base/glue.h"

/*
 * Whether the body has to go as it came: SCGI and uWSGI have none without a length, which is not
 * known before all of it is decoded, and their handlers refuse chunks.
 */
bool el_proxied_needs_length(const request_rec *r);

/*
 * Has a handler of mod_proxy find out the decoded body's length: where the client told the encoded
 * one's (`had_length`), for origins that know no chunks; and always for FastCGI, which a balancer may
 * lead to, and whose programs take a body without a length for an empty one.
 */
void el_proxied_want_length(request_rec *r, bool had_length);

/* Whether it reads all of the body before it sends any, which then lies on the disk. */
bool el_proxied_is_spooled(const request_rec *r);

#endif
