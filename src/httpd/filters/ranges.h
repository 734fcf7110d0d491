/*
 * A guard for mod_cache: it takes Range out of the request while it revalidates and puts it back
 * behind our filter, so that httpd's BYTERANGE would slice a cached body in a dynamic coding. Other
 * than a sibling's, such bytes differ from one response to the next: a client must never join their
 * slices.
 */
#ifndef ELASTIC_RANGES_H
#define ELASTIC_RANGES_H

#include "httpd/base/glue.h"

#include "util_filter.h"

#define EL_RANGES_NAME "ELASTIC_RANGES"

/* Just before BYTERANGE. */
#define EL_RANGES_TYPE ((ap_filter_type)(AP_FTYPE_PROTOCOL - 1))

/* In post_config: looks for mod_cache. */
void el_ranges_configure(void);

/* In insert_filter: puts the guard in, where mod_cache is loaded. */
void el_ranges_insert(request_rec *r);

/* The guard: takes BYTERANGE out of the chain of a response in a dynamic coding. */
apr_status_t el_ranges_filter(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
