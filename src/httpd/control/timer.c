#include "httpd/control/timer.h"

#include "httpd/base/warnings.h"
#include "httpd/control/sampler.h"
#include "httpd/state/holders.h"
#include "httpd/state/shared.h"

#include "engines/pool.h"
#include "host/clock.h"

#include "mod_watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#define WATCHDOG_NAME "_elastic_"

/* mod_watchdog's own slice: checking more often is not possible, and costs two loads of memory. */
#define TICK apr_time_from_msec(100)

/* EL_POOL_AGES ages make the minute after which idle contexts are evicted. */
#define POOL_AGE (60 * APR_USEC_PER_SEC / EL_POOL_AGES)

/* Between two looks for processes that are gone: so long at most what they held counts. */
#define GONE APR_TIME_C(10000000)

/* A child that waits takes over where a sample is later than a busy CPU makes a tick. */
#define LATE (3 * TICK)

/* Milliseconds for which it waits: a fifth of the wakeups, and hardly longer without samples. */
#define WAIT 1000

/*
 * Static, not in a pool: the callback's thread may outlive the child's pools. One thread of each
 * process uses it, but for the pipe.
 */
static struct {
    uint64_t due;      /* the next sample, by this child's last one; 0: not known */
    uint64_t age_due;  /* of the pool */
    uint64_t gone_due; /* the next look for processes that are gone, if this child samples */
    int wake[2];       /* a pipe: the child ends */
    atomic_bool ready; /* the pipe is there */
} timer;

/* Lets the contexts that are kept in this process grow older. */
static void age_pool(uint64_t now)
{
    if (now >= timer.age_due) {
        timer.age_due = now + POOL_AGE;
        el_pool_age();
    }
}

/* In the child that samples, for all: each look asks the system about every process. */
static void forget_gone(uint64_t now)
{
    if (now >= timer.gone_due) {
        timer.gone_due = now + GONE;
        el_holders_forget_gone();
    }
}

/* Whether another child has taken a sample since this one's last, and no sample is late. */
static bool others_sample(uint64_t now)
{
    uint64_t due = el_state_due(el_shared.state);

    if (timer.due == 0) {
        timer.due = due;
    }
    return due != timer.due && now < due + LATE;
}

/* Sleeps, unless the child ends: a tick costs tens of microseconds, and a server may have many. */
static void wait_for_end(void)
{
    struct pollfd end = {.fd = timer.wake[0], .events = POLLIN};

    if (atomic_load(&timer.ready)) {
        poll(&end, 1, WAIT);
    }
}

/* Written before the children are forked. */
static void (*also)(uint64_t now, bool samples);

void el_timer_also(void (*call)(uint64_t now, bool samples))
{
    also = call;
}

static apr_status_t tick(int state, void *data, apr_pool_t *pool)
{
    uint64_t now = el_clock_usec();
    uint64_t claim;
    bool others;

    (void)data;
    (void)pool;
    if (state != AP_WATCHDOG_STATE_RUNNING) {
        return APR_SUCCESS;
    }
    age_pool(now);
    others = others_sample(now);
    if (also) {
        also(now, !others);
    }
    if (others) {
        wait_for_end();
    } else if (el_state_claim(el_shared.state, el_shared.generation, now,
                              el_shared.config.interval, &claim)) {
        timer.due = claim;
        el_sampler_take(claim, now);
        forget_gone(now);
    }
    return APR_SUCCESS;
}

/* A signal's handler may come here: nothing but a system call. */
static apr_status_t end_wait(void *data)
{
    (void)data;
    return write(timer.wake[1], "", 1) == 1 ? APR_SUCCESS : errno;
}

void el_timer_child(apr_pool_t *pchild)
{
    if (pipe(timer.wake) == 0) {
        for (int end = 0; end < 2; end++) {
            fcntl(timer.wake[end], F_SETFD, FD_CLOEXEC);
            fcntl(timer.wake[end], F_SETFL, O_NONBLOCK);
        }
        /* mod_watchdog waits for its threads in such a cleanup, too; the last one comes first. */
        apr_pool_pre_cleanup_register(pchild, NULL, end_wait);
        atomic_store(&timer.ready, true);
    }
}

void el_timer_start(server_rec *main_server, apr_pool_t *pconf)
{
    APR_OPTIONAL_FN_TYPE(ap_watchdog_get_instance) *get_instance
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_OPTIONAL_FN_TYPE(ap_watchdog_register_callback) *register_callback
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_register_callback);
    ap_watchdog_t *watchdog = NULL;
    apr_status_t rv;

    if (!get_instance || !register_callback) {
        el_warn(main_server, 0,
                "mod_watchdog is not loaded: the levels stay where they start; load "
                "it for levels that follow the CPU");
        return;
    }
    /* Neither in the parent nor a singleton. */
    rv = get_instance(&watchdog, WATCHDOG_NAME, 0, 0, pconf);
    if (rv == APR_SUCCESS) {
        rv = register_callback(watchdog, TICK, &timer, tick);
    }
    if (rv != APR_SUCCESS) {
        el_warn(main_server, rv, "no timer from mod_watchdog: the levels stay where they start");
    }
}
