/*
 * Every file of the module starts from this header: httpd's types, the macro for log lines, names
 * of filters, and warnings about the configuration.
 */
#ifndef ELASTIC_CONFIG_GLUE_H
#define ELASTIC_CONFIG_GLUE_H

#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * For files that write to the error log, instead of APLOG_USE_MODULE. Lines carry the name of the
 * first loaded record: LogLevel elastic:debug selects them, or deflate:debug if only that record is
 * loaded. httpd's log macros need this variable's name.
 */
extern int el_log_index;
#define EL_USE_LOG static int *const aplog_module_index = &el_log_index

/* For functions that few responses need: inlined, they would cost each response registers. */
#define EL_RARE __attribute__((noinline))

/* The output filters besides the three compressors. INFLATE decodes responses. */
#define EL_FILTER_INFLATE "INFLATE"
/* Counts responses that no filter encodes. */
#define EL_FILTER_SKIPPED "ELASTIC_SKIPPED"
/* Completes the header of a 304. */
#define EL_FILTER_NOT_MODIFIED "ELASTIC_NOT_MODIFIED"
#define EL_FILTER_NO_BODY "ELASTIC_NO_BODY"
/* Keeps httpd from cutting ranges out of encoded bodies. */
#define EL_FILTER_RANGES "ELASTIC_RANGES"
#define EL_FILTER_PADDING "ELASTIC_PADDING"
#define EL_FILTER_DICTIONARY "ELASTIC_DICTIONARY"
#define EL_FILTER_EXPLAIN "ELASTIC_EXPLAIN"
/* Sends precompressed files after other modules' filters. */
#define EL_FILTER_PRECOMPRESSED "ELASTIC_PRECOMPRESSED"

/* The input filters that decode requests: mod_deflate's, and that of ElasticInflate. */
#define EL_FILTER_DEFLATE "DEFLATE"
#define EL_FILTER_REQUEST_INFLATE "ELASTIC_INFLATE"

/* True while httpd reads its configuration only to test it, the first of two times at its start. */
bool el_warnings_are_early(void);

/*
 * Logs a warning about the configuration, with the text of `error` unless that is 0, and keeps it
 * for the status page until the next configuration. Only before the children start.
 */
void el_warn(const server_rec *server, apr_status_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The warnings of this configuration (const char *); never NULL. */
const apr_array_header_t *el_warnings(apr_pool_t *pool);

#endif
