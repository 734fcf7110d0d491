/*
 * What the module keeps of one request, and the facts that the decision wants, read from httpd's
 * tables. A request belongs to one thread at a time.
 */
#ifndef ELASTIC_REQUEST_H
#define ELASTIC_REQUEST_H

#include "httpd/base/records.h"

#include "elastic/decide.h"

#include "util_filter.h"

typedef struct {
    bool stands[EL_RECORDS]; /* whose compressing filter stands in this request's output chain */
    bool may_stand; /* a harness of mod_filter stands there, whose filters cannot be seen */
    bool decodes;   /* INFLATE stands there */
    bool claimed;   /* one of ours has taken the response; others step aside */
    const char *accept_line; /* Accept-Encoding, or NULL, once it was kept */
    bool accept_kept;
    el_accept_t accept; /* what it says, read once */
    bool accept_read;
    const char *if_none_match; /* as the client sent it, where conditional.c extended it; or NULL */
} el_request_t;

/* The request's record, made at the first call. An internal redirect's request has its own. */
el_request_t *el_request_of(request_rec *r);

/* The same where it was made, else NULL: nothing of ours stands before such a response. */
const el_request_t *el_request_known(const request_rec *r);

/* Keeps Accept-Encoding as it is now, for a later look. */
void el_request_keep_accept(request_rec *r);

/* What the request accepts, among all codings. */
const el_accept_t *el_request_accept(request_rec *r);

/* Whether one of our compressing filters stands in the output chain for certain. */
bool el_request_stands(request_rec *r);

/*
 * The same as el_request_accept(), without the codings that no filter of ours would give here: what
 * a dynamic coding can be.
 */
el_accept_t el_request_enabled(request_rec *r);

/*
 * The codings that a filter of ours could give this response, best first: those enabled, without
 * what no-gzip, no-brotli and gzip-only-text/html take away. Returns how many; `removed`, which may
 * be NULL, counts the latter.
 */
size_t el_request_codings(request_rec *r, el_record_t record, el_coding_t *order, size_t *removed);

/* Whether the environment (SetEnv no-gzip, …) allows a coding for this request. */
bool el_request_env_allows(request_rec *r, el_coding_t coding);

/* Whether If-Range is there and holds a date instead of a tag (RFC 9110 §13.1.5). */
bool el_request_dated_range(const request_rec *r);

/* Whether the request asks for a Range, in either spelling that httpd follows. */
bool el_request_has_range(const request_rec *r);

/*
 * Whether a Range request of a negotiated resource is to get the whole: its If-Range holds a date,
 * which all representations share, so that a slice of one would be spliced onto a prefix of
 * another; or a tag that is weak or not this response's, and so does not match (RFC 9110 §13.1.5).
 */
bool el_request_void_range(const request_rec *r);

/* Makes it a request for the whole. */
void el_request_drop_range(request_rec *r);

/*
 * All facts but the body's size, of a response that a filter of `record` stands before. `by_type`
 * is true where AddOutputFilterByType has judged the type already. A void range is no range
 * request.
 */
el_facts_t el_request_facts(request_rec *r, el_record_t record, bool by_type);

/*
 * Sets the facts' minimum size, for a body of which `size` bytes are known or were seen. Asks the
 * socket only where the answer could matter.
 */
void el_request_min_size(request_rec *r, el_record_t record, el_facts_t *facts);

#endif
