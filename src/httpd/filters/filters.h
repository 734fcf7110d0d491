/*
 * The filters that change no body, and where all of the module's are put into a response's chain.
 * Each is registered once; el_…_insert() are called in insert_filter.
 */
#ifndef ELASTIC_FILTERS_FILTERS_H
#define ELASTIC_FILTERS_FILTERS_H

#include "httpd/base/glue.h"

/*
 * ElasticExplain: a response header field that says what was decided. It is added behind
 * mod_cache's filter, so that what is stored has none, and no cache behind httpd may store the
 * response. Put in by insert_error_filter too, for what ended before insert_filter.
 */
void el_explain_register(void);
void el_explain_insert(request_rec *r);

/*
 * ElasticPadding: a response header field of random length. It is added behind mod_cache's filter,
 * so that what is stored has none, and each response that is served of it its own.
 */
void el_padding_register(void);

/*
 * A guard for mod_cache, which el_ranges_configure() looks for in post_config: it takes Range out
 * of the request while it revalidates and puts it back behind our filter, so that httpd's BYTERANGE
 * would slice a cached body in a dynamic coding. Other than a precompressed file's, such bytes
 * differ from one response to the next: a client must never join their slices.
 */
void el_ranges_configure(void);
void el_ranges_register(void);
void el_ranges_insert(request_rec *r);

/* Where ELASTIC is put into the chain, and what else is found there. */
void el_insertion(request_rec *r);

/* Registers the filter that counts the responses which go out as they are. */
void el_insertion_register(void);

#endif
