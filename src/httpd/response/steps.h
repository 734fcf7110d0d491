/*
 * The steps of a response through ELASTIC, DEFLATE and BROTLI_COMPRESS (filter.c), and the work
 * around them: conditional requests, the request's dictionary, and the last filters of the chain.
 */
#ifndef ELASTIC_RESPONSE_STEPS_H
#define ELASTIC_RESPONSE_STEPS_H

#include "httpd/config/config.h"
#include "httpd/config/dropin.h"
#include "httpd/response/response.h"

/* ---- the filters (filter.c) ------------------------------------------------------------------ */

/* The insert_filter hook: puts ELASTIC into the chain, and notes the other filters in it. */
void el_filter_insert(request_rec *r);

/* Registers the filter that counts responses which are sent uncompressed. */
void el_filter_register(void);

/* Registers the output filter of a record. */
void el_filter_register_record(el_record_t record);

/* ---- the wait for the body's size (hold.c) --------------------------------------------------- */

/*
 * Returns true when the decision can be made: the body's size or end is known, the producer has
 * flushed, or as much is there as may be held. `bb` then holds the body from its beginning, and the
 * record has its length (if known), `whole` and the minimum size. A HEAD's partial body says
 * nothing about the size.
 *
 * Returns false if the buckets are kept for the next call, or the response is broken off; the
 * filter returns `*rv` then.
 */
bool el_hold(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/* ---- cached encodings (cached.c) ------------------------------------------------------------- */

/*
 * Looks for an encoding of the complete body `bb`: by the file's numbers if it is one whole file,
 * else by a hash of its bytes if bodies of this URL repeat; for the hash the body may be gathered.
 * A file's name does not depend on the visitor: who may read the file may have its encoding.
 *
 * True if one was found that is good enough; the caller owns cached.found. It is as good as
 * response->choice, unless `any` is set or another thread is making a better one. While another
 * thread makes the first one, waits for about as long as encoding here would take. A hit is cheap,
 * so neither load nor ElasticMaxTime forbids it. Pinned levels match exactly. Call it once for a
 * response; `*rv` is an error if the body cannot be read.
 */
bool el_cached_find(el_response_t *response, apr_bucket_brigade *bb, bool any, apr_status_t *rv);

/*
 * Stores the encoding that response->encoder made in one call, if the body was seen before or
 * another thread waits for it.
 */
void el_cached_store(el_response_t *response);

/* ---- the dictionary that a request names, RFC 9842 (available.c) ----------------------------- */

/*
 * The dictionary that the request names, looked up once. If it cannot be used, sets the note
 * `elastic-dictionary`. For use in a handler: the response's header may still forbid it.
 */
const el_available_t *el_available_ahead(el_response_t *response);

/* The same, if the response's header permits it: scripts of other sites need its permission. */
const el_available_t *el_available_of(el_response_t *response);

/*
 * Adds the dictionary to the demand on a filter of `policy`, if that may use one. `ahead`: in a
 * handler, before the response's header is known.
 */
void el_available_add(el_response_t *response, const el_policy_t *policy, bool ahead,
                      el_demand_t *demand);

/*
 * Prepares that dictionary for `level` or a similar one; it lives as long as the request. NULL if
 * the dictionary is gone or memory is short. Sets the note either way.
 */
const el_dictionary_t *el_available_prepare(el_response_t *response, int level);

/* Notes and counts the outcome for the request's dictionary. */
void el_available_note(const request_rec *r, el_dictionary_reason_t reason);

/*
 * Adds to Vary the request fields that decided: Accept-Encoding and, if a dictionary is possible,
 * Available-Dictionary and the fields that say who reads the response.
 */
void el_available_add_vary(el_response_t *response);

/* ---- conditional requests, RFC 9110 §13 (conditional.c) -------------------------------------- */

/*
 * Runs before all handlers except mod_cache's, which needs the tags as the client sent them.
 *
 * If-None-Match gets the identity's tag beside each tag of a dynamic coding that this request
 * accepts, so that a handler that knows its tag can answer 304 without a body.
 * el_not_modified_now() compares again when the response's tag is known.
 *
 * If-Match gets, beside each strong tag of an encoding, the tag of the file that answers or that
 * WebDAV changes, if that is strong. For scripts and backends it is extended only if a coding has
 * strong tags here. In WebDAV's If, the file's tag replaces those of its encodings.
 *
 * Fields stay short enough for backends. A range by date (§13.1.5) that would reach a backend is
 * dropped if the client takes a coding, because it may have part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

/* Sets the ETag to the tag in If-None-Match that names the current body; false if none does. */
bool el_not_modified_named(el_response_t *response);

/*
 * Turns the response into a 304 without a body if If-None-Match names an encoding that our filters
 * would make of it for this request, by weak comparison (RFC 9110 §13.1.2); or if it names
 * `decoded`, the tag that INFLATE gives it. Returns true if it did.
 */
bool el_not_modified_now(el_response_t *response, const char *decoded);

/*
 * The facts of the 200 that would have answered a 304's request, as far as the header tells. A
 * missing type counts as listed, a missing length as large: most scripts and backends omit both.
 */
el_facts_t el_not_modified_facts(el_response_t *response, const el_policy_t *policy, bool by_type);

/*
 * Like el_not_modified_named(); if no tag is named, sets the tag of the 200 that the filter of
 * `policy` would encode by `facts`. Does nothing if it would not.
 */
void el_not_modified_tag(el_response_t *response, el_policy_t *policy, const el_facts_t *facts);

/*
 * The insert_error_filter hook: gives a 304 its Vary and tag if another client would have got the
 * body encoded. 304s that handlers return pass no content filter.
 */
void el_not_modified_returned(request_rec *r);

/* Registers a filter for 304s that a harness of mod_filter may keep from our filters. */
void el_not_modified_register(void);

/* Adds that filter to the chain. */
void el_not_modified_insert(request_rec *r);

/* ---- the edge of the protocol (edge.c) ------------------------------------------------------- */

void el_edge_register(void);

/* In post_config: notes if mod_cache is loaded. */
void el_edge_configure(void);

/*
 * Adds a guard against mod_cache, which hides Range while it revalidates and restores it after our
 * filter has run. httpd's BYTERANGE would then slice a body in a dynamic coding, whose bytes differ
 * from one response to the next: a client must never join such slices.
 */
void el_ranges_insert(request_rec *r);

/*
 * With ElasticExplain On, adds a response field that says what was decided. Runs after mod_cache's
 * filter, so that stored responses do not have it, and forbids later caches to store it. Runs in
 * insert_error_filter as well, for responses that ended before insert_filter.
 */
void el_explain_insert(request_rec *r);

#endif
