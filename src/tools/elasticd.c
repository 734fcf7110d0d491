/*
 * elasticd: monitoring and control in a process of its own. It samples the load, runs the module's
 * controller, and writes the position to a file (control.h) for every compressor on the machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "elastic/control.h"
#include "host/process.h"
#include "host/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

typedef struct {
    const char *file;
    const char *pid_file; /* NULL: none */
    const char *root;     /* prefix of the kernel's files; "" for this machine */
    const char *proc_stat; /* NULL: `root`/proc/stat */
    el_control_config_t control;
    el_load_kind_t load;
    uint64_t interval_usec;
    double start;      /* initial position */
    int nice;
    bool nice_given;
    bool foreground;
    bool show;         /* print the position file and exit */
} options_t;

/* The result of reading the command line. */
typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG } result_t;

#define FILE_DEFAULT "/run/elastic/elastic.position"

/* As ElasticInterval's: shorter samples resolve too little, longer ones follow too late. */
#define INTERVAL_MIN_MSEC 100
#define INTERVAL_MAX_MSEC 60000

/* More than any range of levels; a packed position holds 65535. */
#define TOP_MAX 1000

typedef struct row row_t;

/* Reads `text` into the options. False if the row does not allow it. */
typedef bool reader_t(const row_t *row, const char *text, options_t *options);

/* An option. The help, getopt's tables and the error messages come from these rows. */
struct row {
    char letter; /* 0: only a long name */
    const char *name;
    const char *argument; /* as the help calls it; NULL: no argument */
    const char *help;
    reader_t *read; /* NULL: main prints something and exits */
    size_t at;      /* offset of the field in options_t */
    const char *allowed;
};

/* The field of `row` in `options`. */
#define FIELD(type) (*(type *)((char *)options + row->at))

/* Reads the whole text as a number within bounds. */
static bool elasticd_read_number(const char *text, double least, double most, double *number)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    /* Written so that a NaN fails. */
    if (errno != 0 || end == text || *end != '\0' || !(value >= least) || !(value <= most)) {
        return false;
    }
    *number = value;
    return true;
}

static bool elasticd_read_text(const row_t *row, const char *text, options_t *options)
{
    FIELD(const char *) = text;
    return true;
}

static bool elasticd_read_flag(const row_t *row, const char *text, options_t *options)
{
    (void)text;
    FIELD(bool) = true;
    return true;
}

static bool elasticd_read_percent(const row_t *row, const char *text, options_t *options)
{
    double percent;

    if (!elasticd_read_number(text, 0, 100, &percent)) {
        return false;
    }
    FIELD(double) = percent / 100;
    return true;
}

/* `500ms`, `2s`, or a number of seconds, as for ElasticInterval. */
static bool elasticd_read_interval(const row_t *row, const char *text, options_t *options)
{
    char number[32];
    size_t len = strlen(text);
    double unit_msec = 1000, value;

    if (len > 2 && strcmp(text + len - 2, "ms") == 0) {
        unit_msec = 1;
        len -= 2;
    } else if (len > 1 && text[len - 1] == 's') {
        len--;
    }
    if (len >= sizeof(number)) {
        return false;
    }
    memcpy(number, text, len);
    number[len] = '\0';
    if (!elasticd_read_number(number, INTERVAL_MIN_MSEC / unit_msec, INTERVAL_MAX_MSEC / unit_msec,
                              &value)) {
        return false;
    }
    FIELD(uint64_t) = (uint64_t)(value * unit_msec * 1000 + 0.5);
    return true;
}

static bool elasticd_read_mode(const row_t *row, const char *text, options_t *options)
{
    bool step = strcmp(text, "step") == 0;

    FIELD(el_control_mode_t) = step ? EL_CONTROL_STEP : EL_CONTROL_MIX;
    return step || strcmp(text, "mix") == 0;
}

static bool elasticd_read_load(const row_t *row, const char *text, options_t *options)
{
    for (int kind = 0; kind < EL_LOAD_KINDS; kind++) {
        if (strcmp(text, el_load_words[kind]) == 0) {
            FIELD(el_load_kind_t) = (el_load_kind_t)kind;
            return true;
        }
    }
    return false;
}

static bool elasticd_read_proc_stat(const row_t *row, const char *text, options_t *options)
{
    options->load = EL_LOAD_STAT;
    return elasticd_read_text(row, text, options);
}

static bool elasticd_read_start(const row_t *row, const char *text, options_t *options)
{
    return elasticd_read_number(text, 0, TOP_MAX, &FIELD(double));
}

/* An integer, for --nice and --top. */
static bool elasticd_read_whole(const row_t *row, const char *text, options_t *options)
{
    bool nice = row->letter == 'n';
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < (nice ? -20 : 1)
        || value > (nice ? 19 : TOP_MAX)) {
        return false;
    }
    if (nice) {
        options->nice = (int)value;
        options->nice_given = true;
    } else {
        options->control.top = (unsigned)value;
    }
    return true;
}

#define AT(member) offsetof(options_t, member)
#define PERCENTAGE "a percentage of 0 to 100"

static const row_t rows[] = {
    {'f', "file", "PATH", "the position file (" FILE_DEFAULT ")", elasticd_read_text, AT(file),
     NULL},
    {'p', "pid-file", "PATH", "write the process's number there (none)", elasticd_read_text,
     AT(pid_file), NULL},
    {'F', "foreground", NULL, "stay in the foreground, log to stderr", elasticd_read_flag,
     AT(foreground), NULL},
    {'i', "interval", "TIME", "between samples, 100ms to 60s (500ms)", elasticd_read_interval,
     AT(interval_usec), "a time of 100ms to 60s"},
    {'l', "low", "PERCENT", "levels go up below this CPU load (50)", elasticd_read_percent,
     AT(control.low), PERCENTAGE},
    {'H', "high", "PERCENT", "levels go down above this CPU load (80)", elasticd_read_percent,
     AT(control.high), PERCENTAGE},
    {'b', "bypass", "PERCENT", "above it, at the lowest levels, nothing is to be compressed (off)",
     elasticd_read_percent, AT(control.bypass), PERCENTAGE},
    {'c', "control", "MODE", "step or mix (mix)", elasticd_read_mode, AT(control.mode),
     "step or mix"},
    {'t', "top", "N", "steps from the lowest levels to the highest, 1 to 1000 (8)",
     elasticd_read_whole, AT(control.top), "a number of 1 to 1000"},
    {'s', "start", "N", "step to begin with, 0 to top (five eighths of top)",
     elasticd_read_start, AT(start), "a number of 0 to --top"},
    {'L', "load", "SIGNAL", "auto, stat or cgroup (auto)", elasticd_read_load, AT(load),
     "auto, stat or cgroup"},
    {0, "proc-stat", "PATH", "read in place of /proc/stat; implies --load stat",
     elasticd_read_proc_stat, AT(proc_stat), NULL},
    {0, "root", "PATH", "read the kernel's files below PATH", elasticd_read_text, AT(root), NULL},
    {'n', "nice", "N", "priority of the process, -20 to 19 (-5)", elasticd_read_whole, AT(nice),
     "a number of -20 to 19"},
    {0, "show", NULL, "print what the position file says, and end", elasticd_read_flag,
     AT(show), NULL},
    {'V', "version", NULL, "print the version, and end", NULL, 0, NULL},
    {'h', "help", NULL, "print this, and end", NULL, 0, NULL},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* The code for getopt_long(): the letter, or a number above all letters. */
static int elasticd_code_of(size_t row)
{
    return rows[row].letter ? rows[row].letter : 256 + (int)row;
}

/* Fills getopt's tables: `letters` has two characters a row, `names` one element more. */
static void elasticd_fill_tables(char *letters, struct option *names)
{
    for (size_t i = 0; i < ROWS; i++) {
        bool takes = rows[i].argument != NULL;

        names[i] = (struct option){rows[i].name, takes ? required_argument : no_argument, NULL,
                                   elasticd_code_of(i)};
        if (rows[i].letter) {
            *letters++ = rows[i].letter;
            if (takes) {
                *letters++ = ':';
            }
        }
    }
    names[ROWS] = (struct option){0};
    *letters = '\0';
}

static void elasticd_print_help(void)
{
    puts("usage: elasticd [option...]\n"
         "\n"
         "Watches the CPU load of this machine and publishes how low or high compression levels\n"
         "may be, in a small file that web servers and other programs read.\n");
    for (size_t i = 0; i < ROWS; i++) {
        char letter[] = {'-', rows[i].letter, ',', '\0'};
        const char *argument = rows[i].argument != NULL ? rows[i].argument : "";

        printf("  %-3s --%s %-*s%s\n", rows[i].letter ? letter : "", rows[i].name,
               (int)(16 - strlen(rows[i].name)), argument, rows[i].help);
    }
    puts("\n"
         "Signals: TERM and INT end it, HUP makes it look at the machine's limits again.");
}

/* Checks that need all options. */
static bool elasticd_fit_together(options_t *options)
{
    if (options->control.low >= options->control.high) {
        fprintf(stderr, "elasticd: --low %g is not below --high %g\n", 100 * options->control.low,
                100 * options->control.high);
        return false;
    }
    if (options->start < 0) {
        options->start = options->control.top * 5. / 8;
    }
    if (options->start > options->control.top) {
        fprintf(stderr, "elasticd: --start %g is beyond --top %u\n", options->start,
                options->control.top);
        return false;
    }
    return true;
}

static result_t elasticd_refuse(void)
{
    fputs("Try 'elasticd --help'.\n", stderr);
    return OPTIONS_WRONG;
}

/* The strings point into `argv`. */
static result_t elasticd_options_read(int argc, char **argv, options_t *options)
{
    char letters[2 * ROWS + 1];
    struct option names[ROWS + 1];
    int code;

    *options = (options_t){
        .file = FILE_DEFAULT,
        .root = "",
        .control = {.mode = EL_CONTROL_MIX, .low = 0.5, .high = 0.8, .bypass = 2, .top = 8},
        .interval_usec = 500000,
        .start = -1,
        .nice = -5,
    };
    elasticd_fill_tables(letters, names);
    while ((code = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const row_t *row = rows;

        while (row < rows + ROWS && elasticd_code_of((size_t)(row - rows)) != code) {
            row++;
        }
        if (row == rows + ROWS) {
            return elasticd_refuse();
        }
        if (code == 'h') {
            elasticd_print_help();
            return OPTIONS_DONE;
        }
        if (code == 'V') {
            puts("elasticd (mod_elastic) " ELASTIC_VERSION);
            return OPTIONS_DONE;
        }
        if (!row->read(row, optarg, options)) {
            fprintf(stderr, "elasticd: --%s: '%s' is not %s\n", row->name, optarg, row->allowed);
            return elasticd_refuse();
        }
    }
    if (optind < argc) {
        fprintf(stderr, "elasticd: '%s' is not an option\n", argv[optind]);
        return elasticd_refuse();
    }
    return elasticd_fit_together(options) ? OPTIONS_RUN : OPTIONS_WRONG;
}

/* The LSB's code for wrong usage; init systems do not know those of sysexits(3). */
#define EXIT_USAGE 2

/* Static: two readings of 24 KB, and 150 KB of el_machine_t. */
static struct {
    options_t options;
    el_machine_t machine;
    el_position_file_t file;
    el_control_state_t control;
    el_control_memory_t memory;
    el_reading_t readings[2];
    unsigned newest; /* index of the latest reading */
    uint64_t samples;
    uint32_t load_ppm;
    bool sampling_failed; /* the last sample failed; logged once */
    bool writing_failed;  /* the last write failed; logged once */
    sigset_t signals;
} self;

/* systemd reads a priority at the beginning of each line; a terminal gets none. */
__attribute__((format(printf, 2, 3)))
static void elasticd_say(int priority, const char *format, ...)
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

static bool elasticd_publish(bool stopped)
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
            elasticd_say(LOG_NOTICE, "%s is written again", self.options.file);
        } else {
            elasticd_say(LOG_WARNING,
                         "%s cannot be written: %s; its readers use their own controllers "
                         "until it can", self.options.file, strerror(errno));
        }
    }
    self.writing_failed = !good;
    return good;
}

/* Samples, controls and publishes. Without a load the file is left to become stale. */
static void elasticd_tick(uint64_t now)
{
    el_reading_t *before = &self.readings[self.newest];
    el_reading_t *after = &self.readings[1 - self.newest];
    el_observation_t observed = {0};
    const char *path = "";
    bool good, log; /* log only changes */

    if (el_machine_refresh(&self.machine, now)) {
        elasticd_say(LOG_NOTICE, "the CPU load is read from %s", self.machine.signals_text);
    }
    good = el_machine_read(&self.machine, now, after, &path);
    log = good == self.sampling_failed;
    self.sampling_failed = !good;
    if (log && good) {
        elasticd_say(LOG_NOTICE, "the CPU load can be read from %s again, sampling resumes", path);
    } else if (log) {
        elasticd_say(LOG_WARNING,
                     "the CPU load cannot be read from %s%s%s; nothing is published until it "
                     "can", path, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
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
    elasticd_publish(false);
}

static int elasticd_run(void)
{
    uint64_t due = el_clock_usec();

    for (;;) {
        uint64_t now = el_clock_usec(), left = due > now ? due - now : 0;
        struct timespec timeout = {(time_t)(left / 1000000), (long)(left % 1000000 * 1000)};

        switch (sigtimedwait(&self.signals, NULL, &timeout)) {
        case SIGTERM:
        case SIGINT:
            elasticd_publish(true);
            elasticd_say(LOG_NOTICE, "ends after a signal");
            return EXIT_SUCCESS;
        case SIGHUP:
            el_machine_open(&self.machine, self.options.root, self.options.proc_stat,
                            self.options.load, el_clock_usec());
            elasticd_say(LOG_NOTICE, "the CPU load is read from %s", self.machine.signals_text);
            continue;
        default:
            break;
        }
        now = el_clock_usec();
        if (now >= due) {
            elasticd_tick(now);
            due = el_control_schedule(due, now, self.options.interval_usec);
        }
    }
}

static int elasticd_show(void)
{
    el_position_t position = {0};
    uint64_t now = el_clock_usec();
    el_position_verdict_t verdict = el_position_file_read(self.options.file, -1, now, &position);

    if (verdict == EL_POSITION_SHORT && errno != 0) {
        fprintf(stderr, "elasticd: %s cannot be read: %s\n", self.options.file, strerror(errno));
        return EXIT_FAILURE;
    }
    printf("%s %s\n", self.options.file, el_position_texts[verdict]);
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

/* Sets the initial position: the last one of an earlier elasticd, or --start. */
static void elasticd_take_over(void)
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

static bool elasticd_open_file(void)
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

static bool elasticd_write_pid_file(void)
{
    int fd;
    bool good;

    if (self.options.pid_file == NULL) {
        return true;
    }
    fd = open(self.options.pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    good = fd >= 0 && dprintf(fd, "%ld\n", (long)getpid()) > 0;
    if (!good) {
        elasticd_say(LOG_ERR, "the pid file %s cannot be written: %s", self.options.pid_file,
                     strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

int main(int argc, char **argv)
{
    int status;

    switch (elasticd_options_read(argc, argv, &self.options)) {
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    default:
        break;
    }
    if (self.options.show) {
        return elasticd_show();
    }
    elasticd_take_over();
    if (!elasticd_open_file()) {
        return EXIT_FAILURE;
    }
    /* Blocked and taken by sigtimedwait(), so that they interrupt nothing. */
    sigemptyset(&self.signals);
    sigaddset(&self.signals, SIGTERM);
    sigaddset(&self.signals, SIGINT);
    sigaddset(&self.signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &self.signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* Keeps the working directory: paths may be relative to it. */
    if (!self.options.foreground && daemon(1, 0) != 0) {
        fprintf(stderr, "elasticd: it cannot go to the background: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    openlog("elasticd", LOG_PID, LOG_DAEMON);
    /* Above the servers' priority: elasticd matters most when they leave no CPU time. */
    if (setpriority(PRIO_PROCESS, 0, self.options.nice) != 0
        && (self.options.nice_given || errno != EACCES)) {
        elasticd_say(LOG_WARNING, "the priority cannot be set: %s", strerror(errno));
    }
    if (!elasticd_write_pid_file()) {
        return EXIT_FAILURE;
    }
    self.load_ppm = EL_POSITION_NO_LOAD;
    el_machine_open(&self.machine, self.options.root, self.options.proc_stat, self.options.load,
                    el_clock_usec());
    elasticd_say(LOG_NOTICE, "writes %s; the CPU load is read from %s", self.options.file,
                 self.machine.signals_text);
    status = elasticd_run();
    if (self.options.pid_file != NULL) {
        unlink(self.options.pid_file);
    }
    el_position_file_close(&self.file);
    return status;
}
