#include "httpd/control/timer.h"

#include "httpd/control/client_mix.h"
#include "httpd/config/settings.h"
#include "httpd/state/shared.h"

#include "engines/pool.h"
#include "host/machine.h"
#include "host/position_file.h"

#include "http_log.h"
#include "mod_watchdog.h"
#include "unixd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

EL_USE_LOG;

#define WATCHDOG_NAME "_elastic_"

/* mod_watchdog's own slice: asking more often is not possible, and costs two loads of memory. */
#define TICK apr_time_from_msec(100)

/* Six ages make the minute after which idle contexts go. */
#define POOL_AGE (60 * APR_USEC_PER_SEC / EL_POOL_AGES)

/* A child that stands by takes over where a sample is later than a busy CPU makes a tick. */
#define LATE (3 * TICK)

/* Milliseconds for which it does: a fifth of the wakeups, and hardly longer without samples. */
#define STAND_BY 1000

/* Without waiting: a path that names a FIFO must not hold the server. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * Static, not in a pool: the callback's thread may outlive the child's pools. One thread of each
 * process uses it.
 */
static struct {
    server_rec *server;
    int position; /* the position file's descriptor from before ChrootDir hides it, or -1 */
    el_machine_t machine;
    el_reading_t reading;
    uint64_t due;      /* the next sample, as this child knows it from its last one, or at first */
    int wake[2];       /* a pipe: the child ends */
    atomic_bool ready; /* the pipe is there */
} timer;

/*
 * The words of the load that the status page shows: two, because the tick may write while another
 * thread reads.
 */
static char load_text[2][EL_MACHINE_PLAN];
static _Atomic unsigned load_shown;

const char *el_timer_load(void)
{
    return load_text[atomic_load(&load_shown)];
}

static void show_load(void)
{
    unsigned next = 1 - atomic_load(&load_shown);

    memcpy(load_text[next], timer.machine.plan_text, EL_MACHINE_PLAN);
    atomic_store(&load_shown, next);
}

/* What the positions cost for the mean body of this site; false where that is not known. */
static bool read_curve(double *cost, double *ratio)
{
    uint64_t bytes = el_counters_total(el_shared.counters, EL_COUNT_BYTES_IN);
    uint64_t responses = el_counters_total(el_shared.counters, EL_COUNT_COMPRESSED);

    return (el_shared.control.mode == EL_CONTROL_PREDICT
            || el_shared.control.goal.kind != EL_GOAL_CPU)
           && responses > 0
           && el_audience_curve(timer.server, bytes / responses, el_shared.control.top, cost,
                                ratio);
}

static void sample(uint64_t claim, uint64_t now)
{
    double cost[EL_COST_LEVELS], ratio[EL_COST_LEVELS];
    const char *path = NULL;
    bool good;
    int error;

    if (el_machine_refresh(&timer.machine, now)) {
        show_load();
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, timer.server, "elastic: the load is now that of %s",
                     timer.machine.plan_text);
    }
    good = el_machine_read(&timer.machine, now, &timer.reading, &path);
    error = good ? 0 : errno;
    if (el_state_note_sampling(el_shared.state, !good)) {
        if (good) {
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, timer.server,
                         "elastic: %s tells the CPU load again, sampling resumes", path);
        } else {
            ap_log_error(APLOG_MARK, APLOG_WARNING, error, timer.server,
                         "elastic: %s does not tell the CPU load; the levels stay as they are "
                         "until it does", path);
        }
    }
    if (good) {
        bool known = read_curve(cost, ratio);
        const el_state_inputs_t inputs = {
            .plan = &timer.machine.plan,
            .mask = timer.machine.masked ? &timer.machine.mask : NULL,
            .reading = &timer.reading,
            .cost = known ? cost : NULL,
            .ratio = known ? ratio : NULL,
            .counters = el_shared.counters,
            .durations = el_shared.durations,
        };

        el_state_commit(el_shared.state, claim, &el_shared.control, &inputs);
    }
}

/*
 * Takes the position that elasticd has published. False where the file does not tell one: then this
 * httpd's own controller goes on.
 */
static bool follow(uint64_t claim, uint64_t now)
{
    el_position_t position;
    el_position_verdict_t verdict =
        el_position_file_read(el_shared.position, timer.position, now, &position);
    bool good = verdict == EL_POSITION_GOOD;
    int error = good ? 0 : errno;

    if (el_state_note_source(el_shared.state, good ? EL_SOURCE_FILE : EL_SOURCE_OWN)) {
        if (good) {
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, timer.server,
                         "elastic: the levels follow %s", el_shared.position);
        } else {
            ap_log_error(APLOG_MARK, APLOG_WARNING, error, timer.server,
                         "elastic: %s %s; the levels follow the CPU load of httpd's own samples "
                         "until elasticd writes it", el_shared.position,
                         error ? "cannot be read" : el_position_text(verdict));
        }
    }
    if (good) {
        el_state_follow(el_shared.state, claim, &el_shared.control, &position);
    }
    return good;
}

/* Lets the encoders' pool of this process grow older; one thread of each process comes here. */
static void age_pool(void)
{
    static uint64_t due;
    uint64_t now = el_shared_now();

    if (now >= due) {
        due = now + POOL_AGE;
        el_pool_age();
    }
}

/* For who wants to see the controller at work: each load, and the position that followed. */
static void trace_position(void)
{
    el_control_state_t control = el_state_control(el_shared.state);
    uint64_t load = atomic_load(&el_shared.state->load_ppm);

    if (load != EL_STATE_NO_LOAD) {
        ap_log_error(APLOG_MARK, APLOG_TRACE1, 0, timer.server,
                     "elastic: load %.3f, position %.3f of %u", (double)load / EL_PPM,
                     el_control_position(control), control.top);
    }
}

static void take_sample(uint64_t claim, uint64_t now)
{
    if (!el_shared.position || !follow(claim, now)) {
        sample(claim, now);
    }
    trace_position();
}

/* Whether another child has taken a sample since this one's last, and still does. */
static bool others_sample(uint64_t now)
{
    uint64_t due = el_state_due(el_shared.state);

    if (timer.due == 0) {
        timer.due = due;
    }
    return due != timer.due && now < due + LATE;
}

/* Sleeps, unless the child ends: a tick costs tens of microseconds, and a server may have many. */
static void stand_by(void)
{
    if (atomic_load(&timer.ready)) {
        struct pollfd end = {.fd = timer.wake[0], .events = POLLIN};

        poll(&end, 1, STAND_BY);
    }
}

static apr_status_t tick(int state, void *data, apr_pool_t *pool)
{
    uint64_t now = el_shared_now();
    uint64_t claim;

    (void)data;
    (void)pool;
    if (state != AP_WATCHDOG_STATE_RUNNING) {
        return APR_SUCCESS;
    }
    age_pool();
    if (others_sample(now)) {
        stand_by();
    } else if (el_state_claim(el_shared.state, el_shared.generation, now, el_shared.interval,
                              &claim)) {
        timer.due = claim;
        take_sample(claim, now);
    }
    return APR_SUCCESS;
}

/* A signal's handler may come here: nothing but a system call. */
static apr_status_t end_stand_by(void *data)
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
        apr_pool_pre_cleanup_register(pchild, NULL, end_stand_by);
        atomic_store(&timer.ready, true);
    }
}

static apr_status_t close_kept(void *data)
{
    (void)data;
    el_machine_close(&timer.machine);
    if (timer.position >= 0) {
        close(timer.position);
        timer.position = -1;
    }
    return APR_SUCCESS;
}

/* ChrootDir, which the children obey, hides the kernel's files and the position file. */
static void keep_files(apr_pool_t *pconf)
{
    el_machine_keep(&timer.machine);
    if (el_shared.position) {
        timer.position = open(el_shared.position, OPEN_FLAGS);
    }
    apr_pool_cleanup_register(pconf, NULL, close_kept, apr_pool_cleanup_null);
}

/* Before the fork: the children find the machine looked at. */
static void look_at_machine(server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);

    timer.server = main_server;
    timer.position = -1;
    el_machine_open(&timer.machine, "", el_server_proc_stat(server), el_server_load(server),
                    el_shared_now());
    show_load();
    if (ap_unixd_config.chroot_dir) {
        keep_files(pconf);
    }
    if (el_shared.control.mode != EL_CONTROL_OFF) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, main_server, "elastic: the load is that of %s",
                     timer.machine.plan_text);
    }
}

apr_status_t el_timer_start(server_rec *main_server, apr_pool_t *pconf)
{
    APR_OPTIONAL_FN_TYPE(ap_watchdog_get_instance) *get_instance
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_OPTIONAL_FN_TYPE(ap_watchdog_register_callback) *register_callback
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_register_callback);
    ap_watchdog_t *watchdog = NULL;
    apr_status_t rv;

    look_at_machine(main_server, pconf);
    if (!get_instance || !register_callback) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, main_server,
                     "elastic: mod_watchdog is not loaded: the levels stay where they start; load "
                     "it for levels that follow the CPU");
        return APR_SUCCESS;
    }
    /* Neither in the parent nor a singleton. */
    rv = get_instance(&watchdog, WATCHDOG_NAME, 0, 0, pconf);
    if (rv == APR_SUCCESS) {
        rv = register_callback(watchdog, TICK, &timer, tick);
    }
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, main_server,
                     "elastic: no timer from mod_watchdog: the levels stay where they start");
    }
    return APR_SUCCESS;
}
