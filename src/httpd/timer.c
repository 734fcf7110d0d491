#include "timer.h"

#include "settings.h"
#include "shared.h"

#include "engines/pool.h"

#include "http_log.h"
#include "mod_watchdog.h"
#include "unixd.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

EL_USE_LOG;

#define WATCHDOG_NAME "_elastic_"

/* mod_watchdog's own slice: asking more often is not possible, and costs two loads of memory. */
#define TICK apr_time_from_msec(100)

/* Six ages make the minute after which idle contexts go. */
#define POOL_AGE (60 * APR_USEC_PER_SEC / EL_POOL_AGES)

/*
 * The rows of 1024 CPUs fit. What follows them in /proc/stat is not needed; a row that the buffer's
 * end cuts is not believed.
 */
#define TEXT_MAX (128 * 1024)

/* Without waiting: a path that names a FIFO must not hold the thread. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * Static, not in a pool: the callback's thread may outlive the child's pools. One thread of each
 * process uses it.
 */
static struct {
    server_rec *server;
    const char *path;
    int inherited; /* a descriptor from before ChrootDir hides /proc, or -1 */
    bool masked;
    el_cpuset_t mask;
    el_load_sample_t sample;
    char text[TEXT_MAX];
} timer;

/* The CPUs that httpd may run on: an operator's taskset or cgroup cpuset counts as the machine. */
static void read_affinity(void)
{
    cpu_set_t *set = CPU_ALLOC(EL_LOAD_CPUS);
    size_t size = CPU_ALLOC_SIZE(EL_LOAD_CPUS);

    timer.masked = false;
    if (!set) {
        return;
    }
    memset(&timer.mask, 0, sizeof(timer.mask));
    if (sched_getaffinity(0, size, set) == 0) {
        timer.masked = true;
        for (size_t cpu = 0; cpu < EL_LOAD_CPUS; cpu++) {
            if (CPU_ISSET_S(cpu, size, set)) {
                timer.mask.bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
            }
        }
    }
    CPU_FREE(set);
}

/* The file's text; 0 where it cannot be read, and errno says why. */
static size_t read_text(void)
{
    int fd = timer.inherited >= 0 ? timer.inherited : open(timer.path, OPEN_FLAGS);
    size_t len = 0;
    ssize_t got = 0;

    if (fd < 0) {
        return 0;
    }
    errno = 0;
    while (len < sizeof(timer.text)
           && (got = pread(fd, timer.text + len, sizeof(timer.text) - len, (off_t)len)) > 0) {
        len += (size_t)got;
    }
    if (fd != timer.inherited) {
        int saved = errno;

        close(fd);
        errno = saved;
    }
    return got < 0 ? 0 : len;
}

static void sample(uint64_t claim)
{
    size_t len = read_text();
    int error = len ? 0 : errno;
    bool good = len && el_load_parse(timer.text, len, &timer.sample);

    if (el_state_trouble(el_shared.state, !good)) {
        if (good) {
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, timer.server,
                         "elastic: %s tells the CPU load again, sampling resumes", timer.path);
        } else {
            ap_log_error(APLOG_MARK, APLOG_WARNING, error, timer.server,
                         "elastic: %s does not tell the CPU load; the levels stay as they are "
                         "until it does", timer.path);
        }
    }
    if (good) {
        el_state_commit(el_shared.state, claim, &el_shared.control,
                        timer.masked ? &timer.mask : NULL, &timer.sample);
    }
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

static apr_status_t tick(int state, void *data, apr_pool_t *pool)
{
    uint64_t claim;

    (void)data;
    (void)pool;
    if (state == AP_WATCHDOG_STATE_RUNNING) {
        age_pool();
    }
    if (state == AP_WATCHDOG_STATE_STARTING) {
        read_affinity();
    } else if (state == AP_WATCHDOG_STATE_RUNNING
               && el_state_claim(el_shared.state, el_shared.generation, el_shared_now(),
                                 el_shared.interval, &claim)) {
        sample(claim);
    }
    return APR_SUCCESS;
}

static apr_status_t close_inherited(void *data)
{
    (void)data;
    if (timer.inherited >= 0) {
        close(timer.inherited);
        timer.inherited = -1;
    }
    return APR_SUCCESS;
}

apr_status_t el_timer_start(server_rec *main_server, apr_pool_t *pconf)
{
    APR_OPTIONAL_FN_TYPE(ap_watchdog_get_instance) *get_instance
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_get_instance);
    APR_OPTIONAL_FN_TYPE(ap_watchdog_register_callback) *register_callback
        = APR_RETRIEVE_OPTIONAL_FN(ap_watchdog_register_callback);
    ap_watchdog_t *watchdog = NULL;
    apr_status_t rv;

    timer.server = main_server;
    timer.path = el_server_proc_stat(el_server_of(main_server));
    timer.inherited = -1;
    if (ap_unixd_config.chroot_dir) {
        timer.inherited = open(timer.path, OPEN_FLAGS);
        apr_pool_cleanup_register(pconf, NULL, close_inherited, apr_pool_cleanup_null);
    }
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
