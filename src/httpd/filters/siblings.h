/*
 * Precompressed siblings: for a static file f, the best of f.br, f.zst and f.gz that the client
 * takes goes out from disk in its place.
 */
#ifndef ELASTIC_FILTERS_SIBLINGS_H
#define ELASTIC_FILTERS_SIBLINGS_H

#include "httpd/base/glue.h"

/*
 * A handler that runs just before httpd's own for static files; it declines where no sibling fits.
 */
int el_siblings_handler(request_rec *r);

#endif
