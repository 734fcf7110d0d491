/* The filters that decode bodies; decode.h is what they share. */
#ifndef ELASTIC_REQUEST_REQUEST_H
#define ELASTIC_REQUEST_REQUEST_H

#include "httpd/base/glue.h"

/*
 * Request bodies reach handlers decoded, by ElasticInflate On (this filter) or as mod_deflate does
 * it, by SetInputFilter DEFLATE (the next).
 */
void el_input_register(void);
void el_input_register_deflate(void);

/* Before all handlers: OK, or the status of a body that cannot be decoded. */
int el_input_prepare(request_rec *r);

/*
 * The output filter INFLATE, as mod_deflate has it: decodes the outermost coding of a response, so
 * that filters behind it see text.
 */
void el_inflate_output_register(void);

#endif
