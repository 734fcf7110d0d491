/*
 * The steps of a response through ELASTIC, DEFLATE and BROTLI_COMPRESS (filter.c), and what stands
 * around them: conditional requests, the request's dictionary, filters at the edge of the protocol.
 */
#ifndef ELASTIC_RESPONSE_STEPS_H
#define ELASTIC_RESPONSE_STEPS_H

#include "httpd/config/config.h"
#include "httpd/config/dropin.h"
#include "httpd/response/response.h"

/* ---- the filters (filter.c) ------------------------------------------------------------------ */

/* The insert_filter hook: puts ELASTIC into the chain, and notes the other filters in it. */
void el_filter_insert(request_rec *r);

/* Registers the filter that counts the responses which go out as they are. */
void el_filter_register(void);

/* Registers the output filter of a record. */
void el_filter_register_record(el_record_t record);

/* ---- the wait for the body's size (hold.c) --------------------------------------------------- */

/*
 * True if the decision can be made: the body's size or end is known, the producer has flushed, or
 * as much is there as may be waited for. Then `bb` holds the body from its beginning, and the
 * record has the length, if anybody knows it, `whole` and the minimum size. A HEAD's body that is
 * not all of GET's says nothing about its size.
 *
 * False if the buckets are kept for the next call, or the response was broken off: return `*rv`.
 */
bool el_hold(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/* ---- cached encodings (cached.c) ------------------------------------------------------------- */

/*
 * Looks for an encoding of the complete body `bb`, by the numbers of the whole file that it is, or
 * else by a hash of its bytes, if such bodies come again; then it may be gathered. Who asks has no
 * part in a file's name: whoever may have the file may have its encoding.
 *
 * True if one was found that will do: the caller owns cached.found. It is as good as
 * response->choice; any will do with `any`, or while another thread makes a better one. While
 * another thread makes the first one, waits for as long as encoding here might take. A hit costs
 * nothing: neither load nor ElasticMaxTime forbids it. Pinned levels are matched exactly. Called
 * once for a response; `*rv` is an error if the body cannot be read.
 */
bool el_cached_find(el_response_t *response, apr_bucket_brigade *bb, bool any, apr_status_t *rv);

/*
 * Keeps the encoding that response->encoder has made in one call, if the body was seen before or
 * another thread waits for it.
 */
void el_cached_store(el_response_t *response);

/* ---- the dictionary that a request names, RFC 9842 (available.c) ----------------------------- */

/*
 * The dictionary that the request names, looked for once; the note `elastic-dictionary` then has
 * the outcome. For a handler: the header may still refuse it.
 */
const el_available_t *el_available_ahead(el_response_t *response);

/*
 * The same, with the permission of the response's header as it is now: another site's scripts must
 * be allowed to read the response.
 */
const el_available_t *el_available_of(el_response_t *response);

/*
 * Adds the dictionary to what a request demands of a filter of `policy`, which may use one; `ahead`
 * in a handler.
 */
void el_available_add(el_response_t *response, const el_policy_t *policy, bool ahead,
                      el_demand_t *demand);

/*
 * Prepares that dictionary for `level`, or for another one; it stays for as long as the request.
 * NULL if it is not there any more, or memory is short, as the note then says.
 */
const el_dictionary_t *el_available_prepare(el_response_t *response, int level);

/* Notes and counts how the look for a dictionary ended. */
void el_available_note(const request_rec *r, el_dictionary_reason_t reason);

/*
 * Adds to Vary the fields that the response depends on: Accept-Encoding, and if a dictionary is
 * possible Available-Dictionary, and the fields that permit or forbid it.
 */
void el_available_add_vary(el_response_t *response);

/* ---- conditional requests, RFC 9110 §13 (conditional.c) -------------------------------------- */

/*
 * Before all handlers but mod_cache's, which wants the tags as they came.
 *
 * If-None-Match gets the identity's tag beside each tag of a dynamic coding that this request
 * accepts, so that a handler that knows its tag makes no body. el_not_modified_now() compares all
 * again when the response's tag is known, whoever made the response.
 *
 * If-Match gets, beside each strong tag, that of the file that answers, or that WebDAV changes, if
 * it is strong; for scripts and backends, only if a coding has strong tags here. In WebDAV's If,
 * the file's tag replaces those of its encodings.
 *
 * No field becomes too long for a backend. A range by date (§13.1.5) that would go to a backend is
 * dropped if the client takes a coding: it may have a part of an encoded body.
 */
void el_conditional_prepare(request_rec *r);

/* Makes the ETag the one in If-None-Match that names the current body; false if none does. */
bool el_not_modified_named(el_response_t *response);

/*
 * Makes a 304 of the response, without a body, if If-None-Match names an encoding that the filters
 * here would make of it for this request, by weak comparison (RFC 9110 §13.1.2); or `decoded`, the
 * tag that INFLATE gives it.
 */
bool el_not_modified_now(el_response_t *response, const char *decoded);

/*
 * The facts of the 200 that a 304's request would have, as far as the header tells. Without a type
 * or a length, as from most scripts and origins, the type counts as listed, and the body as large.
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

/* ---- the edge of the protocol (edge.c) ------------------------------------------------------- */

void el_edge_register(void);

/* In post_config: looks for mod_cache. */
void el_edge_configure(void);

/*
 * Adds a guard for mod_cache, which takes Range out of the request while it revalidates and puts it
 * back behind our filter: httpd's BYTERANGE would slice a cached body in a dynamic coding. Its
 * bytes differ from one response to the next, so a client must never join slices.
 */
void el_ranges_insert(request_rec *r);

/*
 * If ElasticExplain is On, adds a response header field that says what was decided. Stands behind
 * mod_cache's filter, so that stored responses have none; no cache behind httpd may store them.
 * Runs in insert_error_filter, too, for responses that ended before insert_filter.
 */
void el_explain_insert(request_rec *r);

#endif
