/*
 * Conditional requests (RFC 9110 §13): for a tag that an encoded response carried, httpd's own
 * handlers compare the tag of the identity.
 */
#ifndef ELASTIC_RESPONSE_CONDITIONAL_H
#define ELASTIC_RESPONSE_CONDITIONAL_H

#include "httpd/config/glue.h"

#include "elastic/http.h"

/*
 * Before all handlers but mod_cache's, which wants the tags as they came.
 *
 * If-None-Match gets, beside each tag of a dynamic coding that this request accepts, the tag of
 * its identity: of the file that answers, or what httpd could have made. A handler that knows its
 * tag makes no body then. All of them are compared again when the response's tag is known
 * (not_modified.h), so that the answer does not depend on who made the response.
 *
 * If-Match likewise, beside each strong tag: the tag of the file that answers, or that WebDAV
 * changes, where it is strong; of scripts and backends, for a coding whose tags are strong here.
 * In WebDAV's If, the file's tag takes the place of its encodings'.
 *
 * No field becomes too long for a backend. A range that a backend would be asked for by date
 * (§13.1.5) is dropped, where the client takes a coding: it may have a part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

/* The codings that this request accepts and whose suffix stands in tags of bodies here. */
el_accept_t el_conditional_given(request_rec *r);

#endif
