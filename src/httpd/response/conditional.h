/*
 * Conditional requests (RFC 9110 §13): for a tag that an encoded response carried, httpd's own
 * handlers compare the tag of the identity.
 */
#ifndef ELASTIC_RESPONSE_CONDITIONAL_H
#define ELASTIC_RESPONSE_CONDITIONAL_H

#include "httpd/base/glue.h"

/*
 * Before all handlers but mod_cache's, which wants the tags as they came: If-None-Match gets,
 * beside each tag of a dynamic coding that this request accepts, the tag of its identity; If-Match
 * likewise beside each strong tag of a coding whose tags are strong here. Neither becomes too long
 * for a backend. A range that a backend would be asked for by date (§13.1.5) is dropped, where the
 * client takes a coding: it may have a part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

#endif
