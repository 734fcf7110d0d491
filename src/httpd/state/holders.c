#include "httpd/state/holders.h"

#include "httpd/state/shared.h"

#include "engines/pool.h"
#include "host/process.h"

#include <unistd.h>

/*
 * This process's; NULL, where there are too many, is fine. Written before its threads start. A copy
 * that it forks runs the cleanups of what is still in use here, and must not count.
 */
static el_holder_t *busy, *pooled;
static pid_t owner;

/* What was counted of the pool last. */
static _Atomic int64_t counted;

void el_holders_child(void)
{
    owner = getpid();
    el_holders_forget_gone();
    busy = el_held_enter(el_shared.busy, (uint32_t)owner);
    pooled = el_held_enter(el_shared.pooled, (uint32_t)owner);
}

void el_holders_begin(void)
{
    el_held_add(el_shared.busy, busy, 1);
}

/* What one thread finds changed, no other one counts again. */
static void count_pool(void)
{
    int64_t now = (int64_t)el_pool_kept();
    int64_t before = atomic_exchange_explicit(&counted, now, memory_order_relaxed);

    if (now != before) {
        el_held_add(el_shared.pooled, pooled, now - before);
    }
}

void el_holders_end(void)
{
    if (getpid() == owner) {
        el_held_add(el_shared.busy, busy, -1);
        count_pool();
    }
}

void el_holders_forget_gone(void)
{
    el_held_t *const all[] = {el_shared.held, el_shared.busy, el_shared.pooled,
                              &el_shared.cache->near};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        el_held_forget(all[i], el_process_is_alive);
    }
    count_pool();
}
