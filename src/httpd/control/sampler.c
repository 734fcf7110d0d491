#include "httpd/control/sampler.h"

#include "httpd/config/settings.h"
#include "httpd/state/past.h"
#include "httpd/state/shared.h"

#include "host/clock.h"
#include "host/files.h"
#include "host/machine.h"

#include "apr_strings.h"
#include "http_log.h"
#include "unixd.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

EL_USE_LOG;

/* Without waiting: a path that names a FIFO must not hold the server. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Static, not in a pool: the timer's thread may outlive the child's pools. */
static struct {
    server_rec *server;
    int position; /* the position file's descriptor from before ChrootDir hides it, or -1 */
    el_machine_t machine;
    el_reading_t reading;
} sampler;

/* The status page reads the text while a sample may change it. */
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static char load_text[EL_MACHINE_SIGNALS];

const char *el_sampler_load(apr_pool_t *pool)
{
    const char *text;

    pthread_mutex_lock(&load_mutex);
    text = apr_pstrdup(pool, load_text);
    pthread_mutex_unlock(&load_mutex);
    return text;
}

double el_sampler_cpus(void)
{
    return sampler.machine.signals.cpus > 0 ? sampler.machine.signals.cpus : 1;
}

static void keep_load_text(void)
{
    pthread_mutex_lock(&load_mutex);
    memcpy(load_text, sampler.machine.signals_text, EL_MACHINE_SIGNALS);
    pthread_mutex_unlock(&load_mutex);
}

/* Logs that reading the load has failed, or works again; once for each change. */
static void report_reading(const char *path, int error, bool good)
{
    if (!el_state_note_sampling(el_shared.state, !good)) {
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

static void read_load(uint64_t claim, uint64_t now)
{
    const el_machine_t *machine = &sampler.machine;
    const char *path = NULL;
    bool good;

    if (el_machine_refresh(&sampler.machine, now)) {
        keep_load_text();
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, sampler.server,
                     "elastic: the load is now read from %s", machine->signals_text);
    }
    good = el_machine_read(&sampler.machine, now, &sampler.reading, &path);
    report_reading(path, good ? 0 : errno, good);
    if (good) {
        el_state_commit(el_shared.state, claim, &el_shared.config.control,
                        &(el_state_inputs_t){
                            .signals = &machine->signals,
                            .mask = machine->masked ? &machine->mask : NULL,
                            .reading = &sampler.reading,
                            .counters = el_shared.counters,
                        });
    }
}

/* Logs whether the position file is followed; once for each change. */
static void report_following(el_position_verdict_t verdict, int error)
{
    const char *path = el_shared.config.position;
    bool good = verdict == EL_POSITION_GOOD;

    if (!el_state_note_source(el_shared.state, good ? EL_SOURCE_FILE : EL_SOURCE_OWN)) {
        return;
    }
    if (good) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, sampler.server,
                     "elastic: the levels follow %s", path);
    } else {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, sampler.server,
                     "elastic: %s %s; the levels follow the CPU load of httpd's own samples "
                     "until elasticd writes it", path,
                     error ? "cannot be read" : el_position_text(verdict));
    }
}

/*
 * Takes the position that elasticd has published. False where the file has none that is valid: then
 * this httpd's own controller sets the position.
 */
static bool follow(uint64_t claim, uint64_t now)
{
    el_position_t position;
    el_position_verdict_t verdict =
        el_position_file_read(el_shared.config.position, sampler.position, now, &position);

    report_following(verdict, verdict == EL_POSITION_GOOD ? 0 : errno);
    if (verdict == EL_POSITION_GOOD) {
        el_state_follow(el_shared.state, claim, &el_shared.config.control, &position);
    }
    return verdict == EL_POSITION_GOOD;
}

/* Each load, and the position that followed, for LogLevel elastic:trace1. */
static void trace_position(void)
{
    el_control_state_t control = el_state_control(el_shared.state);
    uint64_t load = atomic_load(&el_shared.state->load_ppm);

    if (load != EL_STATE_NO_LOAD) {
        ap_log_error(APLOG_MARK, APLOG_TRACE1, 0, sampler.server,
                     "elastic: load %.3f, position %.3f of %u", (double)load / EL_PPM,
                     el_control_position(control), control.top);
    }
}

void el_sampler_take(uint64_t claim, uint64_t now)
{
    if (!el_shared.config.position || !follow(claim, now)) {
        read_load(claim, now);
    }
    el_past_note();
    trace_position();
}

static apr_status_t close_kept(void *data)
{
    (void)data;
    el_machine_close(&sampler.machine);
    if (sampler.position >= 0) {
        close(sampler.position);
        sampler.position = -1;
    }
    return APR_SUCCESS;
}

void el_sampler_open(server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);

    sampler.server = main_server;
    sampler.position = -1;
    el_machine_open(&sampler.machine, "", server->proc_stat, el_server_load(server),
                    el_clock_usec());
    keep_load_text();
    if (ap_unixd_config.chroot_dir) {
        el_machine_keep(&sampler.machine);
        if (el_shared.config.position) {
            sampler.position = open(el_shared.config.position, OPEN_FLAGS);
        }
        apr_pool_cleanup_register(pconf, NULL, close_kept, apr_pool_cleanup_null);
    }
    if (el_shared.config.control.mode != EL_CONTROL_OFF) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, main_server, "elastic: the load is read from %s",
                     sampler.machine.signals_text);
    }
}
