/*
 * What the processes of this server have now, in the shared block: encoders in use, and what bodies in
 * flight hold. What a process had that was killed is forgotten within seconds.
 */
#ifndef ELASTIC_STATE_HOLDERS_H
#define ELASTIC_STATE_HOLDERS_H

#include "httpd/base/glue.h"

/* In child_init: this process begins with nothing. */
void el_holders_child(void);

/* An encoder of this process begins to work for a body, or has ended; any thread. */
void el_holders_begin(void);
void el_holders_end(void);

/*
 * Forgets what processes had that are gone. That is a system call for each process: only the child that
 * samples does it now and then, and whoever shows the figures.
 */
void el_holders_forget_gone(void);

#endif
