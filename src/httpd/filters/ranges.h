/*
 * A guard for mod_cache: it takes Range out of the request while it revalidates and puts it back
 * behind our filter, so that httpd's BYTERANGE would slice a cached body in a dynamic coding. Other
 * than a precompressed file's, such bytes differ from one response to the next: a client must never
 * join their slices.
 */
#ifndef ELASTIC_FILTERS_RANGES_H
#define ELASTIC_FILTERS_RANGES_H

#include "httpd/base/glue.h"

/* In post_config: looks for mod_cache. */
void el_ranges_configure(void);

/* In insert_filter: puts the guard in, where mod_cache is loaded. */
void el_ranges_insert(request_rec *r);

/* Registers the guard: it takes BYTERANGE out of the chain of a response in a dynamic coding. */
void el_ranges_register(void);

#endif
