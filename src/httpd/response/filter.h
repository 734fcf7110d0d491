/*
 * The output filters ELASTIC, DEFLATE and BROTLI_COMPRESS: where they stand, and the road of a
 * response through them.
 */
#ifndef ELASTIC_RESPONSE_FILTER_H
#define ELASTIC_RESPONSE_FILTER_H

#include "httpd/config/config.h"
#include "httpd/config/dropin.h"

/* The insert_filter hook: puts ELASTIC into the chain, and notes the other filters in it. */
void el_filter_insert(request_rec *r);

/* Registers the filter that counts the responses which go out as they are. */
void el_filter_register(void);

/* Registers the output filter of a record. */
void el_filter_register_record(el_record_t record);

#endif
