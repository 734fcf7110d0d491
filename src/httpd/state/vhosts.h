/*
 * What is counted of each virtual host: the first names of the configuration, as many as ElasticVhosts
 * says, have counts of their own, by ServerName, whatever the port; all others share the last ones. Any
 * thread.
 */
#ifndef ELASTIC_STATE_VHOSTS_H
#define ELASTIC_STATE_VHOSTS_H

#include "httpd/base/glue.h"

#include "elastic/counters.h"

/* In post_config, after el_shared_open(): gives names their places. `pconf` is the configuration's. */
void el_vhosts_open(server_rec *main_server, apr_pool_t *pconf);

/* A response of `server` went out compressed, `in` bytes as `out`. */
void el_vhosts_compressed(const server_rec *server, uint64_t in, uint64_t out);

/* A response of `server` is one more of `count`. */
void el_vhosts_counted(const server_rec *server, el_vhost_count_t count);

/* The name at `place`, 0 … EL_VHOST_OTHER, in lower case; NULL where nothing is counted there. */
const char *el_vhosts_name(unsigned place);

#endif
