/*
 * ElasticPadding: a response header field of random length. It is added behind mod_cache's filter,
 * so that what is stored has none, and each response that is served of it its own.
 */
#ifndef ELASTIC_FILTERS_PADDING_H
#define ELASTIC_FILTERS_PADDING_H

#include "httpd/base/glue.h"

/* In insert_filter: puts the filter in, where ElasticPadding is set. */
void el_padding_insert(request_rec *r);

void el_padding_register(void);

#endif
