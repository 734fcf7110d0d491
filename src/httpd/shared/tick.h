/*
 * The timer: in each child, mod_watchdog's thread waits until a sample is due. One child wins the
 * claim, reads the machine's load or the position file, and moves the position. The others wait,
 * and check every ten seconds whether samples still come. A response that is about to be encoded
 * wakes its child at once if samples are late or responses surge.
 *
 * Each child has a callback of its own, because a singleton of mod_watchdog pauses for ten seconds
 * after its child died.
 */
#ifndef ELASTIC_SHARED_TICK_H
#define ELASTIC_SHARED_TICK_H

#include "httpd/config/glue.h"

/*
 * In post_config, after el_shared_open(): finds the source of the load and starts the timer.
 * Without mod_watchdog it only warns, and the position stays where it starts.
 */
void el_tick_open(server_rec *main_server, apr_pool_t *pconf);

/*
 * In post_config: the timer of each child calls this at each tick, before the sample; NULL:
 * nothing. `now` is µs of the monotonic clock; `samples`: this child takes the samples.
 */
void el_tick_also(void (*call)(uint64_t now, bool samples));

/* In child_init, after mod_watchdog's: from now on the timer may wait; the child's end wakes it. */
void el_tick_child(apr_pool_t *pchild, server_rec *main_server);

/* A response that will be encoded begins: see el_state_arrival(). Any thread, after child_init. */
void el_tick_arrival(void);

/* The number of CPUs that make 100 percent of load; 1 if unknown. */
double el_tick_cpus(void);

/* A text that says where the load is read from and why; from `pool`. Any thread. */
const char *el_tick_load(apr_pool_t *pool);

#endif
