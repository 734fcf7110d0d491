/*
 * The output filter INFLATE, as mod_deflate has it: decodes the outermost coding of a response, so
 * that filters behind it see text.
 */
#ifndef ELASTIC_REQUEST_INFLATE_OUTPUT_H
#define ELASTIC_REQUEST_INFLATE_OUTPUT_H

#include "httpd/base/glue.h"

/* Registers the filter. */
void el_inflate_output_register(void);

#endif
