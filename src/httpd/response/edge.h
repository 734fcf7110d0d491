/*
 * Filters at the edge of the protocol that change no body: the guard for ranges of mod_cache's
 * bodies, ElasticPadding and ElasticExplain. Each is registered once; el_…_insert() run in
 * insert_filter.
 */
#ifndef ELASTIC_RESPONSE_EDGE_H
#define ELASTIC_RESPONSE_EDGE_H

#include "httpd/config/glue.h"

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
