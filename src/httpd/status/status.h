/* The status: the shared block in words. One list of figures, and the forms to write it in. */
#ifndef ELASTIC_STATUS_STATUS_H
#define ELASTIC_STATUS_STATUS_H

#include "httpd/config/glue.h"

/* In post_config: finds the SetHandler directives that may choose the handlers below. */
void el_status_configure(server_rec *main_server, apr_pool_t *pconf);

/*
 * SetHandler elastic-status: HTML, `?auto` lines of `Key: value`, `?json` one object,
 * `?openmetrics` metrics. SetHandler elastic-metrics: metrics. 403 unless a SetHandler of the
 * server's own configuration has chosen them.
 */
int el_status_handler(request_rec *r);

/* mod_status's hook: the same figures as a section of its page. */
int el_status_section(request_rec *r, int flags);

/*
 * In test_config: writes the settings in force, for programs, if httpd was started with `-t -D
 * DUMP_ELASTIC`. docs/manual/status.md has the form.
 */
void el_dump(apr_pool_t *pool, server_rec *main_server);

#endif
