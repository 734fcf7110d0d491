/*
 * Precompressed files (ElasticPrecompressed): instead of a static file f, httpd sends the best of
 * f.br, f.zst and f.gz that the client accepts. They lie beside f, or below
 * ElasticPrecompressedRoot.
 */
#ifndef ELASTIC_FILES_PRECOMPRESSED_H
#define ELASTIC_FILES_PRECOMPRESSED_H

#include "httpd/config/glue.h"

/* Runs just before httpd's handler for static files. DECLINED if no precompressed file fits. */
int el_precompressed_handler(request_rec *r);

/* Registers the filter that replaces the body after filters of other modules. */
void el_precompressed_register(void);

#endif
