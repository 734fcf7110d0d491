/* Whose session a request belongs to, where private pages are dictionaries (`private=COOKIE`). */
#ifndef ELASTIC_RESPONSE_SESSION_H
#define ELASTIC_RESPONSE_SESSION_H

#include "httpd/base/glue.h"

/*
 * The cookie that the rule of this place names, with its value, as a text of the request's pool. NULL
 * where the rule names none, or the request does not have it.
 */
const char *el_session_of(request_rec *r);

/*
 * Whether the response may be a difference from a private page of that session. Nobody else may be
 * given it by a cache: it is private, or not to be stored. And no other site has made the browser ask,
 * which could put text of its choice into the request, and learn from lengths what the page has
 * (RFC 9842 §9.3.3).
 */
bool el_session_may_read(request_rec *r);

#endif
