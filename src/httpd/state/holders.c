#include "httpd/state/holders.h"

#include "httpd/state/shared.h"

#include "host/process.h"

#include <unistd.h>

/*
 * This process's; NULL, where there are too many, is fine. Written before its threads start. A copy
 * that it forks runs the cleanups of what is still in use here, and must not count.
 */
static el_holder_t *busy;
static pid_t owner;

void el_holders_child(void)
{
    owner = getpid();
    el_holders_forget_gone();
    busy = el_held_enter(el_shared.busy, (uint32_t)owner);
}

void el_holders_begin(void)
{
    el_held_add(el_shared.busy, busy, 1);
}

void el_holders_end(void)
{
    if (getpid() == owner) {
        el_held_add(el_shared.busy, busy, -1);
    }
}

void el_holders_forget_gone(void)
{
    el_held_forget(el_shared.held, el_process_is_alive);
    el_held_forget(el_shared.busy, el_process_is_alive);
}
