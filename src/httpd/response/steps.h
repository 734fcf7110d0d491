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
 * True if the decision can be made with `bb`, which then holds the body from its beginning: its
 * size or its end is known, the producer has flushed it, or as much of it is there as may be waited
 * for. Then the record knows the length as far as anybody does, whether all of the body is there to
 * be encoded in one call, and the minimum size. A HEAD that came without GET's body, or with a part
 * of it, says nothing about its size.
 *
 * False if the buckets are kept for the next call, or the response was broken off; `*rv` is the
 * filter's.
 */
bool el_hold(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/* ---- cached encodings (cached.c) ------------------------------------------------------------- */

/*
 * Looks for an encoding of the complete body `bb`, by the numbers of the whole file that it is, or
 * else by a hash of its bytes, if such bodies come again; then it may be gathered. Who asks has no
 * part in a file's name: whoever may have the file may have its encoding.
 *
 * True if one was found that will do: the caller owns cached.found. It is as good as
 * response->choice, or any while another thread makes a better one, or with `any`, when the load
 * forbids to make one. While another thread makes the first one, waits for it, for as long as
 * encoding it here might take. Called once for a response; `*rv` is an error if the body cannot be
 * read. What is found costs nothing: it is taken whatever the load or ElasticMaxTime allow. A pinned
 * level is used exactly.
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
 * Adds to Vary the fields that the response depended on, or could have: Accept-Encoding, and if a
 * dictionary-compressed body is possible Available-Dictionary, and those that decided whether it is
 * permitted.
 */
void el_available_add_vary(el_response_t *response);

/* ---- conditional requests, RFC 9110 §13 (conditional.c) -------------------------------------- */

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

/* ---- the edge of the protocol (edge.c) ------------------------------------------------------- */

void el_edge_register(void);

/* In post_config: looks for mod_cache. */
void el_edge_configure(void);

/*
 * Adds a guard for mod_cache, which takes Range out of the request while it revalidates and puts it
 * back behind our filter, so that httpd's BYTERANGE would slice a cached body in a dynamic coding.
 * Other than a precompressed file's, such bytes differ from one response to the next: a client must
 * never join their slices.
 */
void el_ranges_insert(request_rec *r);

/*
 * Adds ElasticExplain, if it is On: a response header field that says what was decided. It stands
 * behind mod_cache's filter, so that what is stored has none, and no cache behind httpd may store
 * the response. Runs in insert_error_filter, too, for what ended before insert_filter.
 */
void el_explain_insert(request_rec *r);

#endif
