/*
 * The timer: in each child, mod_watchdog's thread checks ten times a second whether a sample is
 * due. One child wins the claim and takes it. The others wait, and check once a second whether the
 * samples still come. A callback in each child rather than a singleton, because after the death of
 * its child a singleton pauses for ten seconds.
 */
#ifndef ELASTIC_CONTROL_TIMER_H
#define ELASTIC_CONTROL_TIMER_H

#include "httpd/base/glue.h"

/*
 * In post_config, after el_shared_open() and el_sampler_open(). Without mod_watchdog it warns and
 * the position stays where it starts: never a reason for a server not to come up.
 */
void el_timer_start(server_rec *main_server, apr_pool_t *pconf);

/*
 * In post_config: has the timer call this as well, in each child at each tick, before the sample;
 * NULL: nothing. `now` is µs of the monotonic clock; `samples`: this child is the one that samples.
 */
void el_timer_also(void (*call)(uint64_t now, bool samples));

/*
 * In child_init, behind mod_watchdog's: from then on the timer may wait, and the child's end wakes
 * it.
 */
void el_timer_child(apr_pool_t *pchild);

#endif
