/* The origin of a request's URL (RFC 6454 §4), as far as it has dictionaries. */
#ifndef ELASTIC_RESPONSE_ORIGIN_H
#define ELASTIC_RESPONSE_ORIGIN_H

#include "httpd/base/glue.h"

/*
 * The origin that the browser sees, as in an entry of elastic/dictionary.h. NULL where browsers use
 * no dictionaries of it: it is not https, nor a name of this machine that was asked for from this
 * machine; and where the host is none of the names of the virtual host, so that nobody has
 * dictionaries kept for names that he makes up.
 */
const char *el_origin_of(request_rec *r);

/*
 * The path of the request as the browser has sent it, with the query: not that of an internal redirect,
 * because the browser compares it with the rule of its dictionary, too.
 */
const char *el_origin_target(request_rec *r);

#endif
