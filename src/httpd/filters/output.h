/*
 * The output filters that compress, ELASTIC, DEFLATE and BROTLI_COMPRESS: they hold a body back
 * until its size can be judged, ask for the decision, and then encode it or step aside.
 */
#ifndef ELASTIC_FILTERS_OUTPUT_H
#define ELASTIC_FILTERS_OUTPUT_H

#include "httpd/base/records.h"

/* Registers the filter of a record, of type AP_FTYPE_CONTENT_SET. */
void el_output_register(el_record_t record);

#endif
