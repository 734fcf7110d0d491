/*
 * The status: the shared block in words. One list of figures, and the ways to write it.
 */
#ifndef ELASTIC_STATUS_STATUS_H
#define ELASTIC_STATUS_STATUS_H

#include "httpd/base/glue.h"

/* In post_config: where the configuration has the handlers below; only there they answer. */
void el_status_configure(server_rec *main_server, apr_pool_t *pconf);

/*
 * SetHandler elastic-status: HTML, `?auto` lines of `Key: value`, `?json` one object,
 * `?openmetrics` metrics. SetHandler elastic-metrics: metrics. 403 where anything but a SetHandler
 * of the server's own configuration has chosen them.
 */
int el_status_handler(request_rec *r);

/* mod_status's hook: the same figures as a section of its page. */
int el_status_section(request_rec *r, int flags);

#endif
