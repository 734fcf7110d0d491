/*
 * Conditional requests (RFC 9110 §13): for a tag that an encoded response carried, httpd's own
 * handlers compare the tag of the identity.
 *
 * And the header of a 304 (RFC 9110 §15.4.5): its tag is that of a body that the client named, or,
 * if it named none, as with a date, that of a 200 to the same request; Vary is the 200's. A 304
 * that a filter of ours sees gets them in filter.c; those of precompressed files are made there.
 */
#ifndef ELASTIC_RESPONSE_CONDITIONAL_H
#define ELASTIC_RESPONSE_CONDITIONAL_H

#include "httpd/response/response.h"

/*
 * Before all handlers but mod_cache's, which wants the tags as they came.
 *
 * If-None-Match gets, beside each tag of a dynamic coding that this request accepts, the tag of its
 * identity: that of the file that answers, or one that httpd could have made. A handler that knows
 * its tag makes no body then. All of them are compared again when the response's tag is known, by
 * el_not_modified_now(), so that the answer does not depend on who made the response.
 *
 * If-Match likewise, beside each strong tag: the tag of the file that answers, or that WebDAV
 * changes, if it is strong; for scripts and backends, only if a coding has strong tags here. In
 * WebDAV's If, the file's tag takes the place of its encodings'.
 *
 * No field becomes too long for a backend. A range that a backend would be asked for by date
 * (§13.1.5) is dropped if the client takes a coding: it may have a part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

/* Makes the ETag the one in If-None-Match that names the current body; false if none does. */
bool el_not_modified_named(el_response_t *response);

/*
 * If If-None-Match names an encoding of the response, as the filters here would make it for this
 * request, makes a 304 of it, without a body: by weak comparison (RFC 9110 §13.1.2), whoever made
 * the response, and whatever its tag looks like. With `decoded`, the tag that INFLATE gives it, if
 * the field names that.
 */
bool el_not_modified_now(el_response_t *response, const char *decoded);

/*
 * In place of a 304: the facts of the 200 that the same request would have, and of its body as far
 * as the header tells. A 304 of a script or an origin seldom has a type or a length: then the type
 * counts as listed, and the body as no small one.
 */
el_facts_t el_not_modified_facts(el_response_t *response, const el_policy_t *policy, bool by_type);

/*
 * The same as el_not_modified_named(). If no tag is named, makes it that of a 200 which the filter
 * of `policy` encodes, by el_not_modified_facts(); nothing happens if that would not.
 */
void el_not_modified_tag(el_response_t *response, el_policy_t *policy, const el_facts_t *facts);

/*
 * If `r` is a 304 of which another client would have got the body encoded, gives it Vary and the
 * tag. The insert_error_filter hook: 304s that handlers return pass no content filter.
 */
void el_not_modified_returned(request_rec *r);

/* Registers an output filter for responses that a harness of mod_filter may keep from ours. */
void el_not_modified_register(void);

/* Puts it into the chain. */
void el_not_modified_insert(request_rec *r);

#endif
