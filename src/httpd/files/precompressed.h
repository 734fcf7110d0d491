/*
 * Precompressed files (ElasticPrecompressed): for a static file f, the best of f.br, f.zst and f.gz
 * that the client takes goes out from disk in its place. They lie beside f, or below
 * ElasticPrecompressedRoot.
 */
#ifndef ELASTIC_FILES_PRECOMPRESSED_H
#define ELASTIC_FILES_PRECOMPRESSED_H

#include "httpd/config/glue.h"

/*
 * A handler that runs just before httpd's own for static files; it declines if no precompressed
 * file fits.
 */
int el_precompressed_handler(request_rec *r);

/* Registers the filter that puts one in place of its file behind filters of other modules. */
void el_precompressed_register(void);

#endif
