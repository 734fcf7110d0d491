/*
 * The header of a 304 (RFC 9110 §15.4.5): the tag is that of a body that the client named, or where
 * it named none, as with a date, that of a 200 to the same request; Vary is the 200's. A 304 that a
 * filter sees gets them by el_send_identity(); those of precompressed files are made there.
 */
#ifndef ELASTIC_RESPONSE_NOT_MODIFIED_H
#define ELASTIC_RESPONSE_NOT_MODIFIED_H

#include "httpd/config/config.h"

#include "elastic/decide.h"

/* Makes the ETag the one in If-None-Match that names the current body; false where none does. */
bool el_not_modified_named(request_rec *r);

/*
 * Where If-None-Match names an encoding of the response, as the filters here would make it for this
 * request, makes a 304 of `r`, without a body: by weak comparison (RFC 9110 §13.1.2), whoever made
 * the response, and whatever its tag looks like. With `decoded`, the tag that INFLATE gives it,
 * where it names that.
 */
bool el_not_modified_now(request_rec *r, const char *decoded);

/*
 * The same as el_not_modified_named(); where none does, makes it that of a 200 which the filter of
 * `policy` encodes, by `facts` of el_facts_of_200(). Where that would not, nothing happens.
 */
void el_not_modified_tag(request_rec *r, el_policy_t *policy, const el_facts_t *facts);

/*
 * Where `r` is a 304 of which another client would have got the body encoded, gives it Vary and the
 * tag. The insert_error_filter hook: 304s that handlers return pass no content filter.
 */
void el_not_modified_returned(request_rec *r);

/* Registers an output filter for responses that a harness of mod_filter may keep from ours. */
void el_not_modified_register(void);

/* Puts it into the chain. */
void el_not_modified_insert(request_rec *r);

#endif
