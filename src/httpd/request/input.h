/*
 * Request bodies: they reach handlers decoded. Either by SetInputFilter DEFLATE, as mod_deflate
 * does it, or by ElasticInflate On.
 */
#ifndef ELASTIC_REQUEST_INPUT_H
#define ELASTIC_REQUEST_INPUT_H

#include "httpd/base/glue.h"

#include "util_filter.h"

/* Registers the filter of ElasticInflate; every record does. */
void el_input_register(void);

/* Before all handlers: OK, or the status of a body that cannot be decoded. */
int el_input_prepare(request_rec *r);

/* Registers the input filter DEFLATE. */
void el_input_register_deflate(void);

#endif
