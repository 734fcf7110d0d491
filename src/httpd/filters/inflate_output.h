/*
 * The output filter INFLATE, as mod_deflate has it: decodes the outermost coding of a response, so
 * that filters behind it see text.
 */
#ifndef ELASTIC_FILTER_INFLATE_H
#define ELASTIC_FILTER_INFLATE_H

#include "httpd/base/glue.h"

/* Registers the filter. */
void el_filter_inflate_register(void);

#endif
