#define _POSIX_C_SOURCE 200809L
#include "engines/budget.h"

#include <sys/types.h>
#include <unistd.h>

static el_held_t *held; /* NULL: nothing is counted */
static el_holder_t *holder;
static uint64_t most;
static bool only_requests;
static pid_t owner; /* the process that counts; its copies do not */

static _Thread_local bool refused;

void el_budget_open(el_held_t *of, uint64_t limit, bool requests)
{
    held = of;
    most = limit;
    only_requests = requests;
    owner = getpid();
    if (held) {
        holder = el_held_enter(held, (uint32_t)owner);
    }
}

static bool is_counted(const el_account_t *account)
{
    return held && !account->idle && (account->of_request || !only_requests) && getpid() == owner;
}

/* False where it is refused. */
static bool count(const el_account_t *account, size_t nbytes)
{
    if (!is_counted(account)) {
        return true;
    }
    if (account->committed) {
        el_held_add(held, holder, (int64_t)nbytes);
        return true;
    }
    if (!el_held_take(held, holder, nbytes, most)) {
        refused = true;
        return false;
    }
    return true;
}

bool el_budget_take(el_account_t *account, size_t nbytes)
{
    bool taken = count(account, nbytes);

    account->nbytes += taken ? nbytes : 0;
    return taken;
}

void el_budget_give(el_account_t *account, size_t nbytes)
{
    if (is_counted(account)) {
        el_held_add(held, holder, -(int64_t)nbytes);
    }
    account->nbytes -= nbytes;
}

bool el_budget_wake(el_account_t *account)
{
    account->idle = false;
    account->idle = !count(account, account->nbytes);
    return !account->idle;
}

void el_budget_rest(el_account_t *account)
{
    if (is_counted(account)) {
        el_held_add(held, holder, -(int64_t)account->nbytes);
    }
    account->idle = true;
    account->committed = false;
}

bool el_budget_refused(void)
{
    bool was = refused;

    refused = false;
    return was;
}
