/*
 * What the module keeps of one request, and what the request asks for. A request belongs to one
 * thread at a time.
 */
#ifndef ELASTIC_RESPONSE_REQUEST_H
#define ELASTIC_RESPONSE_REQUEST_H

#include "httpd/base/records.h"

#include "elastic/accept.h"

typedef struct el_explanation el_explanation_t;

typedef struct {
    /* Where the records' compressing filters are in the output chain, from 1; 0: not there. */
    unsigned char installed[EL_RECORDS];
    bool harness;  /* a harness of mod_filter is there, whose filters are not visible */
    bool harnessed; /* AddOutputFilterByType's too: mod_filter says whether ours run */
    bool inflates; /* INFLATE is there */
    bool claimed;  /* one of ours has taken the response; others step aside */
    const char *accept_line; /* Accept-Encoding, or NULL, once it was kept */
    bool accept_kept;
    el_accept_t accept; /* what it says, parsed once */
    bool accept_parsed;
    const char *listed_type; /* the response's type, where ElasticTypes was found to have it */
    bool tagged; /* a 304 has its tag */
    struct el_difference *difference; /* what difference.c has found; NULL: not looked for */
    bool rule_sought, rule_found;     /* difference.c: a rule of dictionaries is for this URL */
    bool unsure; /* If-None-Match may name an encoding: see el_not_modified_now() */
    const char *if_none_match; /* as the client sent it, where conditional.c extended it; or NULL */
    const char *cookie, *authorization; /* as the client sent them; credentials.c's */
    el_explanation_t *explanation; /* explanation.c's; NULL: nothing was recorded */
} el_request_t;

/* The request's record, made at the first call. An internal redirect's request has its own. */
el_request_t *el_request_of(request_rec *r);

/* The same where it was made, else NULL: then no filter of ours is in the chain. */
const el_request_t *el_request_find(const request_rec *r);

/* Keeps Accept-Encoding as it is now, for later. */
void el_request_keep_accept(request_rec *r);

/* What the request accepts, among all codings. */
const el_accept_t *el_request_accept(request_rec *r);

/* Whether one of our compressing filters is in the output chain for certain. */
bool el_request_installed(request_rec *r);

/* Whether that of `record` is, or may be within a harness. */
bool el_request_may_run(request_rec *r, el_record_t record);

/* Whether one of them may encode the response: with INFLATE alone, none does. */
bool el_request_encodable(request_rec *r);

/*
 * The same as el_request_accept(), without the codings that no filter of ours would give here: what
 * a dynamic coding can be.
 */
el_accept_t el_request_enabled(request_rec *r);

/*
 * Leaves of the `count` codings at `order` those that no-gzip, no-brotli and gzip-only-text/html
 * allow; returns how many.
 */
size_t el_request_env_filter(request_rec *r, el_coding_t *order, size_t count);

/* Whether the environment (SetEnv no-gzip, …) allows a coding for this request. */
bool el_request_env_allows(request_rec *r, el_coding_t coding);

/* Whether If-Range is there and holds a date instead of a tag (RFC 9110 §13.1.5). */
bool el_request_dated_range(const request_rec *r);

/* Whether the request asks for a Range, in either spelling that httpd accepts. */
bool el_request_has_range(const request_rec *r);

/*
 * Whether a Range request of a negotiated resource is to get the whole: its If-Range holds a date,
 * which all representations share, so that a slice of one would be spliced onto a prefix of
 * another; or a tag that is weak or not this response's, and so does not match (RFC 9110 §13.1.5).
 */
bool el_request_void_range(const request_rec *r);

/* Makes it a request for the whole. */
void el_request_drop_range(request_rec *r);

#endif
