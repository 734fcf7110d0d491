/*
 * The output filters ELASTIC, DEFLATE and BROTLI_COMPRESS: one road for all of them, from the first
 * brigade of a response to its end.
 */
#ifndef ELASTIC_RESPONSE_OUTPUT_H
#define ELASTIC_RESPONSE_OUTPUT_H

#include "httpd/base/records.h"

/* Registers the filter of a record. */
void el_output_register(el_record_t record);

#endif
