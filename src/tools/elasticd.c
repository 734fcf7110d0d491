/*
 * elasticd: monitor and set, as a process of its own. It samples the load, runs the controller that
 * the module has too, and writes the position into a file (position.h) for whoever compresses.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "elastic/control.h"
#include "host/clock.h"
#include "host/files.h"
#include "host/machine.h"
#include "tools/options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

/* sysexits(3) has no names for these that an init system would know: 2 is LSB's wrong usage. */
#define EXIT_USAGE 2

/* Static: two readings of 24 KB and the machine's 150. */
static struct {
    el_options_t options;
    el_machine_t machine;
    el_position_file_t file;
    el_control_state_t control;
    el_control_memory_t memory;
    el_reading_t readings[2];
    unsigned newest; /* of the readings */
    uint64_t samples;
    uint32_t load_ppm;
    bool sampling_failed; /* the last one did: logged once */
    bool writing_failed;  /* likewise */
    sigset_t signals;
} self;

/* systemd reads the number before a line as its priority; at a terminal it is left out. */
__attribute__((format(printf, 2, 3)))
static void say(int priority, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (self.options.foreground) {
        char line[512];

        vsnprintf(line, sizeof(line), format, args);
        if (getenv("JOURNAL_STREAM") != NULL) {
            fprintf(stderr, "<%d>%s\n", priority, line);
        } else {
            fprintf(stderr, "elasticd: %s\n", line);
        }
    } else {
        vsyslog(priority, format, args);
    }
    va_end(args);
}

static bool publish(bool stopped)
{
    el_position_t position = {
        .control = self.control,
        .updated_usec = el_clock_usec(),
        .samples = self.samples,
        .interval_msec = (uint32_t)((self.options.interval_usec + 999) / 1000),
        .load_ppm = self.load_ppm,
        .pid = (uint32_t)getpid(),
        .stopped = stopped,
    };
    bool good = el_position_file_write(&self.file, &position);

    if (good == self.writing_failed) {
        if (good) {
            say(LOG_NOTICE, "%s is written again", self.options.file);
        } else {
            say(LOG_WARNING, "%s cannot be written: %s; its readers use their own controllers "
                "until it can", self.options.file, strerror(errno));
        }
    }
    self.writing_failed = !good;
    return good;
}

static void note_sampling(bool good, const char *path)
{
    if (good != self.sampling_failed) {
        return;
    }
    self.sampling_failed = !good;
    if (good) {
        say(LOG_NOTICE, "the CPU load can be read from %s again, sampling resumes", path);
    } else {
        say(LOG_WARNING, "the CPU load cannot be read from %s%s%s; nothing is published until it "
            "can", path, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
}

/* Samples, controls and publishes. Where there is no load to go by, the file becomes stale. */
static void tick(uint64_t now)
{
    el_reading_t *before = &self.readings[self.newest];
    el_reading_t *after = &self.readings[1 - self.newest];
    el_observation_t observed = {0};
    const char *path = "";
    bool good;

    if (el_machine_refresh(&self.machine, now)) {
        say(LOG_NOTICE, "the CPU load is read from %s", self.machine.signals_text);
    }
    good = el_machine_read(&self.machine, now, after, &path);
    note_sampling(good, path);
    if (!good) {
        return;
    }
    self.newest = 1 - self.newest;
    if (!el_reading_busy(&self.machine.signals, self.machine.masked ? &self.machine.mask : NULL,
                         before, after, &observed.busy)) {
        return;
    }
    self.samples++;
    self.load_ppm = (uint32_t)(observed.busy * 1e6 + 0.5);
    self.control = el_control_next(&self.options.control, &observed, &self.memory, self.control);
    publish(false);
}

/* Waits for a signal until `due`; 0 where none came. */
static int wait_until(uint64_t due)
{
    uint64_t now = el_clock_usec();
    uint64_t left = due > now ? due - now : 0;
    struct timespec timeout = {(time_t)(left / 1000000), (long)(left % 1000000 * 1000)};
    int signal_number = sigtimedwait(&self.signals, NULL, &timeout);

    return signal_number > 0 ? signal_number : 0;
}

static int run(void)
{
    uint64_t due = el_clock_usec();

    for (;;) {
        uint64_t now;

        switch (wait_until(due)) {
        case SIGTERM:
        case SIGINT:
            publish(true);
            say(LOG_NOTICE, "ends after a signal");
            return EXIT_SUCCESS;
        case SIGHUP:
            el_machine_open(&self.machine, self.options.root, self.options.proc_stat,
                            self.options.load, el_clock_usec());
            say(LOG_NOTICE, "the CPU load is read from %s", self.machine.signals_text);
            continue;
        default:
            break;
        }
        now = el_clock_usec();
        if (el_control_due(due, now)) {
            tick(now);
            due = el_control_schedule(due, now, self.options.interval_usec);
        }
    }
}

static int show(void)
{
    el_position_t position = {0};
    uint64_t now = el_clock_usec();
    el_position_verdict_t verdict = el_position_file_read(self.options.file, -1, now, &position);

    if (verdict == EL_POSITION_SHORT && errno != 0) {
        fprintf(stderr, "elasticd: %s cannot be read: %s\n", self.options.file, strerror(errno));
        return EXIT_FAILURE;
    }
    printf("%s %s\n", self.options.file, el_position_text(verdict));
    if (position.updated_usec != 0) {
        printf("position %.5f of %u\nbypass   %s\n", el_control_position(position.control),
               position.control.top, position.control.bypass ? "yes" : "no");
        if (position.load_ppm != EL_POSITION_NO_LOAD) {
            printf("load     %.3f\n", position.load_ppm / 1e6);
        }
        printf("samples  %llu, one each %u ms\npid      %u\n",
               (unsigned long long)position.samples, position.interval_msec, position.pid);
    }
    return verdict == EL_POSITION_GOOD ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The position to begin with: where the one before has left off, if there was one. */
static void take_over(void)
{
    el_position_t left = {0};
    el_position_verdict_t verdict =
        el_position_file_read(self.options.file, -1, el_clock_usec(), &left);
    el_control_state_t start = {.top = self.options.control.top};

    if (verdict == EL_POSITION_GOOD || verdict == EL_POSITION_STOPPED) {
        start = el_position_scale(left.control, self.options.control.top);
    } else {
        start = el_control_at(start, self.options.start);
    }
    self.control = el_control_clamp(&self.options.control, start);
}

static bool open_file(void)
{
    switch (el_position_file_open(&self.file, self.options.file)) {
    case EL_POSITION_FILE_OPEN:
        return true;
    case EL_POSITION_FILE_TAKEN:
        fprintf(stderr, "elasticd: another elasticd writes %s already\n", self.options.file);
        return false;
    case EL_POSITION_FILE_REFUSED:
        fprintf(stderr, "elasticd: %s exists and is not a position file; remove it, or choose "
                        "another --file\n", self.options.file);
        return false;
    default:
        fprintf(stderr, "elasticd: %s cannot be opened: %s\n", self.options.file,
                strerror(errno));
        return false;
    }
}

/* A priority above the servers': it is wanted most when they leave nothing. */
static void set_priority(void)
{
    if (setpriority(PRIO_PROCESS, 0, self.options.nice) != 0
        && (self.options.nice_given || errno != EACCES)) {
        say(LOG_WARNING, "the priority cannot be set: %s", strerror(errno));
    }
}

static bool write_pid_file(void)
{
    int fd;
    bool good;

    if (self.options.pid_file == NULL) {
        return true;
    }
    fd = open(self.options.pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    good = fd >= 0 && dprintf(fd, "%ld\n", (long)getpid()) > 0;
    if (!good) {
        say(LOG_ERR, "the pid file %s cannot be written: %s", self.options.pid_file,
            strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

/* Signals are waited for, not caught: nothing is ever interrupted. */
static void hold_signals(void)
{
    sigemptyset(&self.signals);
    sigaddset(&self.signals, SIGTERM);
    sigaddset(&self.signals, SIGINT);
    sigaddset(&self.signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &self.signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    int status;

    switch (el_options_read(argc, argv, &self.options)) {
    case EL_OPTIONS_DONE:
        return EXIT_SUCCESS;
    case EL_OPTIONS_WRONG:
        return EXIT_USAGE;
    default:
        break;
    }
    if (self.options.show) {
        return show();
    }
    take_over();
    if (!open_file()) {
        return EXIT_FAILURE;
    }
    hold_signals();
    /* The working directory stays: paths may be relative to it. */
    if (!self.options.foreground && daemon(1, 0) != 0) {
        fprintf(stderr, "elasticd: it cannot go to the background: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    openlog("elasticd", LOG_PID, LOG_DAEMON);
    set_priority();
    if (!write_pid_file()) {
        return EXIT_FAILURE;
    }
    self.load_ppm = EL_POSITION_NO_LOAD;
    el_machine_open(&self.machine, self.options.root, self.options.proc_stat, self.options.load,
                    el_clock_usec());
    say(LOG_NOTICE, "writes %s; the CPU load is read from %s", self.options.file,
        self.machine.signals_text);
    status = run();
    if (self.options.pid_file != NULL) {
        unlink(self.options.pid_file);
    }
    el_position_file_close(&self.file);
    return status;
}
