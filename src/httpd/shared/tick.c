#include "httpd/shared/tick.h"

#include "httpd/config/config.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "engines/memory.h"
#include "host/process.h"
#include "host/machine.h"

#include "apr_strings.h"
#include "http_log.h"
#include "mod_watchdog.h"
#include "unixd.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

EL_USE_LOG;

/* --- a sample */

/* O_NONBLOCK: a path that names a FIFO must not block the server. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Static, not in a pool: the timer's thread may outlive the child's pools. */
static struct {
    server_rec *server;
    int position; /* opened before ChrootDir hides the position file; or -1 */
    el_machine_t machine;
    el_reading_t reading;
} sampler;

/* Other threads read where the load comes from while a sample may change it. */
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static char load_text[EL_MACHINE_SIGNALS];
static double load_cpus;

const char *el_tick_load(apr_pool_t *pool)
{
    const char *text;

    pthread_mutex_lock(&load_mutex);
    text = apr_pstrdup(pool, load_text);
    pthread_mutex_unlock(&load_mutex);
    return text;
}

double el_tick_cpus(void)
{
    double cpus;

    pthread_mutex_lock(&load_mutex);
    cpus = load_cpus;
    pthread_mutex_unlock(&load_mutex);
    return cpus > 0 ? cpus : 1;
}

static void tick_keep_load(void)
{
    pthread_mutex_lock(&load_mutex);
    memcpy(load_text, sampler.machine.signals_text, EL_MACHINE_SIGNALS);
    load_cpus = sampler.machine.signals.cpus;
    pthread_mutex_unlock(&load_mutex);
}

/* Logs once for each change that reading the load failed or works again. */
static void tick_report_reading(const char *path, int error, bool good)
{
    if (!el_state_note_sampling(&el_shared.block->state, !good)) {
        return;
    }
    if (good) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, sampler.server,
                     "elastic: the CPU load can be read from %s again, sampling resumes", path);
    } else {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, sampler.server,
                     "elastic: the CPU load cannot be read from %s; the levels stay as they are "
                     "until it can", path);
    }
}

static void tick_read_load(uint64_t claim, uint64_t now)
{
    const el_machine_t *machine = &sampler.machine;
    const char *path = NULL;
    bool good;

    if (el_machine_refresh(&sampler.machine, now)) {
        tick_keep_load();
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, sampler.server,
                     "elastic: the CPU load is read from %s", machine->signals_text);
    }
    good = el_machine_read(&sampler.machine, now, &sampler.reading, &path);
    tick_report_reading(path, good ? 0 : errno, good);
    if (good) {
        el_state_commit(&el_shared.block->state, claim, &el_shared.config.control,
                        &(el_state_inputs_t){
                            .signals = &machine->signals,
                            .mask = machine->masked ? &machine->mask : NULL,
                            .reading = &sampler.reading,
                            .counters = &el_shared.block->counters,
                            .tally = &el_shared.block->tally,
                        });
    }
}

/* Logs once for each change whether the position file is followed. */
static void tick_report_following(el_position_verdict_t verdict, int error)
{
    const char *path = el_shared.config.position;
    bool good = verdict == EL_POSITION_GOOD;

    if (!el_state_note_source(&el_shared.block->state, good ? EL_SOURCE_FILE : EL_SOURCE_OWN)) {
        return;
    }
    if (good) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, sampler.server,
                     "elastic: the levels follow ElasticPosition %s", path);
    } else {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, sampler.server,
                     "elastic: ElasticPosition %s %s; httpd's own controller sets the levels "
                     "until elasticd writes it", path,
                     error ? "cannot be read" : el_position_texts[verdict]);
    }
}

/*
 * Takes the position that elasticd published. Returns false if the file has no valid one; httpd's
 * own controller then sets the position.
 */
static bool tick_follow(uint64_t claim, uint64_t now)
{
    el_position_t position;
    el_position_verdict_t verdict =
        el_position_file_read(el_shared.config.position, sampler.position, now, &position);

    tick_report_following(verdict, verdict == EL_POSITION_GOOD ? 0 : errno);
    if (verdict == EL_POSITION_GOOD) {
        el_state_follow(&el_shared.block->state, claim, &el_shared.config.control, &position);
    }
    return verdict == EL_POSITION_GOOD;
}

/* Takes a sample at `now` (µs); the caller holds `claim` (see el_state_claim()). */
static void tick_take_sample(uint64_t claim, uint64_t now)
{
    el_control_state_t control;
    uint64_t load;

    if (!el_shared.config.position || !tick_follow(claim, now)) {
        tick_read_load(claim, now);
    }
    el_past_note();
    control = el_state_control(&el_shared.block->state);
    load = atomic_load(&el_shared.block->state.load_ppm);
    if (load != EL_STATE_NO_LOAD) {
        ap_log_error(APLOG_MARK, APLOG_TRACE1, 0, sampler.server,
                     "elastic: load %.3f, levels at %.3f of %u", (double)load / EL_PPM,
                     el_control_position(control), control.top);
    }
}

static apr_status_t tick_close_kept(void *data)
{
    (void)data;
    el_machine_close(&sampler.machine);
    if (sampler.position >= 0) {
        close(sampler.position);
        sampler.position = -1;
    }
    return APR_SUCCESS;
}

/*
 * Finds the machine's sources of the load. With ChrootDir, opens the kernel's files and the
 * position file until `pconf` is cleared, because the children will not see them.
 */
static void tick_open_sampler(server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);
    bool stat = server->proc_stat && !el_value_is_set(&server->values, EL_SERVER_LOAD);
    el_load_kind_t load =
        stat ? EL_LOAD_STAT : (el_load_kind_t)server->values.value[EL_SERVER_LOAD];

    sampler.server = main_server;
    sampler.position = -1;
    el_machine_open(&sampler.machine, "", server->proc_stat, load,
                    el_clock_usec());
    tick_keep_load();
    if (ap_unixd_config.chroot_dir) {
        el_machine_keep(&sampler.machine);
        if (el_shared.config.position) {
            sampler.position = open(el_shared.config.position, OPEN_FLAGS);
        }
        apr_pool_cleanup_register(pconf, NULL, tick_close_kept, apr_pool_cleanup_null);
    }
    if (el_shared.config.control.mode != EL_CONTROL_OFF) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, main_server,
                     "elastic: the CPU load is read from %s", sampler.machine.signals_text);
    }
}

/* --- the timer */

#define WATCHDOG_NAME "_elastic_"

/* mod_watchdog checks its callbacks this often; a shorter interval has no effect. */
#define TICK apr_time_from_msec(100)

/* The pool evicts idle contexts after a minute, which is EL_POOL_AGES of these. */
#define POOL_AGE (60 * APR_USEC_PER_SEC / EL_POOL_AGES)

/* A waiting child takes over when a sample is later than a busy CPU delays a tick. */
#define LATE (3 * TICK)

/*
 * A child waits at most this long, µs. If the sampling child ends and no response wakes another, no
 * samples come for so long; and memory held by dead processes is counted so long.
 */
#define WAIT UINT64_C(10000000)

/* The longest that an exiting child waits for also(), µs; that takes a thousandth of it. */
#define END_WAIT UINT64_C(2000000)

/*
 * Static, not in a pool: the callback's thread may outlive the child's pools. Apart from the pipe
 * and its flags, one thread of each process uses it.
 */
static struct {
    uint64_t due;      /* when the next sample is due, as this child last saw it; 0: unknown */
    uint64_t age_due;  /* when the pool ages next */
    uint64_t gone_due; /* when this child, if it samples, next looks for dead processes */
    int wake[2];       /* a pipe, written when the child ends or a response asks for a sample */
    atomic_bool ready; /* the pipe exists */
    atomic_bool woken; /* a byte is in the pipe */
    atomic_bool ends;
    atomic_bool calls; /* the thread is in also(), or about to check whether it may call it */
} timer;

/* Returns the µs until `then`, at most WAIT; 0 if it is past. */
static uint64_t tick_until(uint64_t then)
{
    uint64_t now = el_clock_usec();

    return then <= now ? 0 : then - now < WAIT ? then - now : WAIT;
}

/*
 * Sleeps for `usec` unless the child is woken; it does not tick meanwhile, because a tick costs
 * tens of microseconds and a server may have many children. A child that a response has woken waits
 * for the next sample and takes it.
 */
static void tick_sleep_for(uint64_t usec)
{
    struct pollfd end = {.fd = timer.wake[0], .events = POLLIN};
    char byte;

    if (!atomic_load(&timer.ready) || poll(&end, 1, (int)((usec + 999) / 1000)) <= 0) {
        return;
    }
    if (!atomic_load(&timer.ends) && read(timer.wake[0], &byte, 1) == 1) {
        atomic_store(&timer.woken, false);
        timer.due = atomic_load(&el_shared.block->state.next_sample);
        tick_sleep_for(tick_until(timer.due));
    }
}

/* Set before the children are forked. */
static void (*also)(uint64_t now, bool samples);

void el_tick_also(void (*call)(uint64_t now, bool samples))
{
    also = call;
}

/*
 * Calls also(), which may hold a lock that processes share, while the process may be exiting: no
 * call begins once the child ends, and the exit waits for a running one. Signals are blocked, so
 * that no handler ends the process inside the call.
 */
static void tick_call_also(uint64_t now, bool samples)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&timer.calls, true);
    if (!atomic_load(&timer.ends)) {
        also(now, samples);
    }
    atomic_store(&timer.calls, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static apr_status_t tick(int state, void *data, apr_pool_t *pool)
{
    uint64_t now = el_clock_usec();
    uint64_t claim, due;
    bool others;

    (void)data;
    (void)pool;
    if (state != AP_WATCHDOG_STATE_RUNNING) {
        return APR_SUCCESS;
    }
    if (now >= timer.age_due) {
        timer.age_due = now + POOL_AGE;
        el_pool_age();
    }
    /* True if another child sampled since this one did, and no sample is late. */
    due = atomic_load(&el_shared.block->state.next_sample);
    timer.due = timer.due ? timer.due : due;
    others = due != timer.due && now < due + LATE;
    if (also) {
        tick_call_also(now, !others);
    }
    if (others || !also) {
        tick_sleep_for(others ? WAIT : tick_until(timer.due));
        now = el_clock_usec();
    }
    if (el_state_claim(&el_shared.block->state, el_shared.generation, now,
                       el_shared.config.interval, &claim)) {
        timer.due = claim;
        tick_take_sample(claim, now);
        /* The sampling child looks for dead processes for all children. */
        if (now >= timer.gone_due) {
            timer.gone_due = now + WAIT;
            el_holders_forget_gone();
        }
    }
    return APR_SUCCESS;
}

static apr_status_t tick_wake(void)
{
    return write(timer.wake[1], "", 1) == 1 ? APR_SUCCESS : errno;
}

void el_tick_arrival(void)
{
    el_state_t *control = &el_shared.block->state;
    uint64_t now = el_clock_usec();

    if ((el_state_arrival(control, now) || now > atomic_load(&control->next_sample) + LATE)
        && atomic_load(&timer.ready) && !atomic_exchange(&timer.woken, true)) {
        tick_wake();
    }
}

/* May run in a signal handler: makes system calls only. */
static apr_status_t tick_end_wait(void *data)
{
    uint64_t end = el_clock_usec() + END_WAIT;

    (void)data;
    atomic_store(&timer.ends, true);
    if (atomic_load(&timer.ready)) {
        tick_wake();
    }
    while (atomic_load(&timer.calls) && el_clock_usec() < end) {
        poll(NULL, 0, 1);
    }
    return APR_SUCCESS;
}

void el_tick_child(apr_pool_t *pchild, server_rec *main_server)
{
    (void)main_server;
    if (pipe(timer.wake) == 0) {
        for (int end = 0; end < 2; end++) {
            fcntl(timer.wake[end], F_SETFD, FD_CLOEXEC);
            fcntl(timer.wake[end], F_SETFL, O_NONBLOCK);
        }
        atomic_store(&timer.ready, true);
    }
    /* mod_watchdog joins its threads in a pre-cleanup, too. The last one registered runs first. */
    apr_pool_pre_cleanup_register(pchild, NULL, tick_end_wait);
}

static void tick_start_timer(server_rec *main_server, apr_pool_t *pconf)
{
    APR_OPTIONAL_FN_TYPE(ap_watchdog_get_instance) *get_instance
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_OPTIONAL_FN_TYPE(ap_watchdog_register_callback) *register_callback
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_register_callback);
    ap_watchdog_t *watchdog = NULL;
    apr_status_t rv = APR_ENOTIMPL;

    if (get_instance && register_callback) {
        /* Neither in the parent nor as a singleton. */
        rv = get_instance(&watchdog, WATCHDOG_NAME, 0, 0, pconf);
    }
    if (rv == APR_SUCCESS) {
        rv = register_callback(watchdog, TICK, &timer, tick);
    }
    if (rv != APR_SUCCESS) {
        el_warn(main_server, rv,
                "no timer: the levels stay where they start; load mod_watchdog");
    }
}

void el_tick_open(server_rec *main_server, apr_pool_t *pconf)
{
    tick_open_sampler(main_server, pconf);
    tick_start_timer(main_server, pconf);
}
