/*
 * Warnings about the configuration: a line of the error log each, and kept for the status page, because
 * who looks at it has not seen the log of the start.
 */
#ifndef ELASTIC_BASE_WARNINGS_H
#define ELASTIC_BASE_WARNINGS_H

#include "httpd/base/glue.h"

#include "apr_tables.h"

/*
 * Whether httpd reads its configuration for the first of two times at its start, which is only a test
 * of it: then nothing is logged.
 */
bool el_warnings_are_early(void);

/*
 * Logs and keeps a text; `error` is what the log says behind it, or 0. Until the children start; they
 * have what was kept then. The next configuration begins with none.
 */
void el_warn(const server_rec *server, apr_status_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What was kept of this configuration (const char *). */
const apr_array_header_t *el_warnings(apr_pool_t *pool);

#endif
