/*
 * What every file of the glue starts from: httpd's types, how lines reach the error log, and
 * warnings about the configuration.
 */
#ifndef ELASTIC_BASE_GLUE_H
#define ELASTIC_BASE_GLUE_H

#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * In a file that writes to the error log, in place of APLOG_USE_MODULE: the lines bear the name of
 * the first record that is loaded, so that LogLevel elastic:debug (deflate:debug where only that
 * record is loaded) selects them. httpd's log macros use this very name.
 */
extern int el_log_index;
#define EL_USE_LOG static int *const aplog_module_index = &el_log_index

/*
 * Before a function that few responses need: inlined into its caller, it would make every response
 * save and restore the registers that it uses.
 */
#define EL_RARE __attribute__((noinline))

/*
 * Whether httpd reads its configuration for the first of two times at its start, which is only a
 * test of it: then nothing is logged.
 */
bool el_warnings_are_early(void);

/*
 * A warning about the configuration: a line of the error log, and kept for the status page, because
 * who looks at it has not seen the log of the start. `error` is what the log says behind it, or 0.
 * Until the children start; they have what was kept then. The next configuration begins with none.
 */
void el_warn(const server_rec *server, apr_status_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What was kept of this configuration (const char *). */
const apr_array_header_t *el_warnings(apr_pool_t *pool);

#endif
