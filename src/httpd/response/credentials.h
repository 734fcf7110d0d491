/*
 * What tells one visitor from another: the credentials as the client sent them and as they are now,
 * the user that httpd authenticated, and the client's certificate. Modules take credentials out of
 * the request before the response is made (RequestHeader unset, mod_auth_openidc, mod_session_cookie).
 */
#ifndef ELASTIC_RESPONSE_CREDENTIALS_H
#define ELASTIC_RESPONSE_CREDENTIALS_H

#include "httpd/base/glue.h"
#include "httpd/cache/store.h"

/*
 * In post_read_request: notes the credentials of a request that has some. Behind mod_headers, whose
 * `RequestHeader … early` says that nobody is to see a field, and before whoever authenticates.
 */
int el_credentials_note(request_rec *r);

/* Whether the client has sent Authorization, whatever became of it. */
bool el_credentials_sent(const request_rec *r);

/* The visitor whose request `r` is; the texts live as long as the request. */
el_visitor_t el_credentials_of(request_rec *r);

#endif
