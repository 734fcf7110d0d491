/*
 * Precompressed siblings: for a static file f, the best of f.br, f.zst and f.gz that the client
 * takes goes out from disk in its place.
 */
#ifndef ELASTIC_PRECOMPRESSED_H
#define ELASTIC_PRECOMPRESSED_H

#include "httpd/base/glue.h"

/*
 * A handler that runs just before httpd's own for static files; it declines where no sibling fits.
 */
int el_precompressed_handler(request_rec *r);

#endif
