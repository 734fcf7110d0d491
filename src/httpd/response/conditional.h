/*
 * Conditional requests (RFC 9110 §13): for a tag that an encoded response carried, httpd's own
 * handlers compare the tag of the identity, and the 304 carries the tag that the client named.
 */
#ifndef ELASTIC_RESPONSE_CONDITIONAL_H
#define ELASTIC_RESPONSE_CONDITIONAL_H

#include "httpd/base/glue.h"

/*
 * Before all handlers but mod_cache's, which wants the tags as they came: If-None-Match gets,
 * beside each tag of a dynamic coding that this request accepts, the tag of its identity. A range
 * that a backend would be asked for by date (§13.1.5) is dropped, where the client takes a coding:
 * it may have a part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

/* Makes a 304's ETag the one that the client named, where it named one of the current body. */
void el_conditional_not_modified(request_rec *r);

/*
 * Where `r` is a 304 of which another client would have got the body encoded, gives it Vary and the
 * tag. The insert_error_filter hook: 304s that handlers return pass no content filter.
 */
void el_conditional_returned(request_rec *r);

/* Registers an output filter that calls el_conditional_returned(). */
void el_conditional_register(void);

/* Puts it before a response that a harness of mod_filter may keep from ours. */
void el_conditional_insert(request_rec *r);

#endif
