/*
 * Encodings that are used again: whether the store has one of a complete body, whether what it has
 * is as good as what would be made now, and what is kept of what was made.
 *
 * What is found costs nothing, so it is taken whatever the load, the price or ElasticMaxTime allow,
 * where it is no larger than what they ask for. A pinned level is used exactly.
 */
#ifndef ELASTIC_RESPONSE_CACHED_H
#define ELASTIC_RESPONSE_CACHED_H

#include "httpd/response/response.h"

/* Whether there is a store for responses by `policy`. */
bool el_cached_possible(const el_policy_t *policy);

/*
 * Looks for an encoding of the body that is all of `bb`, without reading it, where it is a whole
 * file whose numbers stand for its content; then response->cached.is_file, whatever was found. Who
 * asks has no part in the name: whoever may have the file may have its encoding.
 *
 * True where one was found that will do: the caller owns cached.found then. That is one as good as
 * response->choice, or any while another thread makes a better one, or where `any`: the load
 * forbids to make one. Where another thread makes the first one, waits for it, for as long as
 * encoding it here might take.
 */
bool el_cached_find_file(el_response_t *response, const apr_bucket_brigade *bb, bool any);

/* Whether a body that is no such file is worth hashing; called once for a response. */
bool el_cached_asks(const request_rec *r);

/*
 * Looks for an encoding of any other complete body: of response->body where it was gathered,
 * otherwise of `bb`, whose data is in private memory.
 */
bool el_cached_find_body(el_response_t *response, const apr_bucket_brigade *bb, bool any);

/*
 * Keeps what response->encoder has made of the body in one call, where the body comes again, or
 * somebody waits for it.
 */
void el_cached_store(el_response_t *response);

/* Nothing more will be made of the body: nobody is to wait for it. */
void el_cached_leave(el_response_t *response);

#endif
