/*
 * ElasticExplain: a response header field that says what was decided. It is added behind
 * mod_cache's filter, so that what is stored has none, and no cache behind httpd may store the
 * response.
 */
#ifndef ELASTIC_FILTERS_EXPLAIN_H
#define ELASTIC_FILTERS_EXPLAIN_H

#include "httpd/base/glue.h"

/*
 * In insert_filter, and in insert_error_filter for what ended before that: puts the filter in,
 * where ElasticExplain is On and it is not there yet.
 */
void el_explain_insert(request_rec *r);

void el_explain_register(void);

#endif
