/*
 * The tick: in each child, mod_watchdog's thread waits until a sample is due. One child wins the
 * claim, reads the load of the machine, or the position file, and moves the position. The others
 * wait, and check every ten seconds whether the samples still come. A response that is encoded and
 * finds them late, or a surge of responses, wakes its child at once.
 *
 * A callback in each child rather than a singleton, because after the death of its child a singleton
 * pauses for ten seconds.
 */
#ifndef ELASTIC_SHARED_TICK_H
#define ELASTIC_SHARED_TICK_H

#include "httpd/config/glue.h"

/*
 * In post_config, after el_shared_open(): finds out what the load is read from, and starts the
 * timer. Without mod_watchdog it warns and the position stays where it starts: never a reason for a
 * server not to come up.
 */
void el_tick_open(server_rec *main_server, apr_pool_t *pconf);

/*
 * In post_config: has the timer call this as well, in each child at each tick, before the sample;
 * NULL: nothing. `now` is µs of the monotonic clock; `samples`: this child is the one that samples.
 */
void el_tick_also(void (*call)(uint64_t now, bool samples));

/*
 * In child_init, behind mod_watchdog's: from then on the timer may wait, and the child's end wakes
 * it.
 */
void el_tick_child(apr_pool_t *pchild, server_rec *main_server);

/*
 * A response begins that will be encoded: see el_state_arrival(). Any thread, after child_init.
 */
void el_tick_arrival(void);

/* CPUs' worth of time that are our 100 percent; 1 where that is not known. */
double el_tick_cpus(void);

/* What the load is read from and why, for people; from `pool`. Any thread. */
const char *el_tick_load(apr_pool_t *pool);

#endif
