/*
 * One sample: reads the load of the machine, or the position file, and moves the position. Used by
 * one thread of each process, the timer's, but for el_sampler_load().
 */
#ifndef ELASTIC_CONTROL_SAMPLER_H
#define ELASTIC_CONTROL_SAMPLER_H

#include "httpd/base/glue.h"

/*
 * In post_config, before the fork: looks at the machine, and where ChrootDir will hide the kernel's
 * files and the position file from the children, opens them until `pconf` is cleared.
 */
void el_sampler_open(server_rec *main_server, apr_pool_t *pconf);

/* Takes the sample that `claim` (see el_state_claim()) is the right to, at `now` (µs). */
void el_sampler_take(uint64_t claim, uint64_t now);

/* CPUs' worth of time that are our 100 percent; 1 where that is not known. The timer's thread. */
double el_sampler_cpus(void);

/* What the load is read from and why, for people; from `pool`. Any thread. */
const char *el_sampler_load(apr_pool_t *pool);

#endif
