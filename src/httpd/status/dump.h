/* `httpd -t -D DUMP_ELASTIC`. */
#ifndef ELASTIC_STATUS_DUMP_H
#define ELASTIC_STATUS_DUMP_H

#include "httpd/base/glue.h"

/*
 * In test_config: what is in force, for programs, where httpd was started with `-t -D
 * DUMP_ELASTIC`. docs/manual/status.md has the form.
 */
void el_dump(apr_pool_t *pool, server_rec *main_server);

#endif
