/*
 * The tick: in a child, mod_watchdog's thread asks ten times a second whether a sample is due. One
 * child wins, reads the load and moves the position. The others stand by, and look once a second
 * whether it still does. A callback in each child rather than a singleton, because a singleton
 * stands still for ten seconds when its child dies.
 */
#ifndef ELASTIC_TIMER_H
#define ELASTIC_TIMER_H

#include "httpd/base/glue.h"

/*
 * In post_config, after el_shared_open(). Without mod_watchdog it warns and the position stays
 * where it starts: never a reason for a server not to come up.
 */
apr_status_t el_timer_start(server_rec *main_server, apr_pool_t *pconf);

/*
 * In child_init, behind mod_watchdog's: lets this child stand by, and wakes its timer when the
 * child ends.
 */
void el_timer_child(apr_pool_t *pchild);

/* What the load is read from and why, for people; any thread, valid until two changes later. */
const char *el_timer_load(void);

#endif
