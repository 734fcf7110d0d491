#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "tools/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_DEFAULT "/run/elastic/elastic.position"

/* As ElasticInterval: below, a sample resolves next to nothing; above, nothing is followed. */
#define INTERVAL_MIN_MSEC 100
#define INTERVAL_MAX_MSEC 60000

/* More than any ladder has; the position's word has room for 65535. */
#define TOP_MAX 1000

static const char usage[] =
    "usage: elasticd [option...]\n"
    "\n"
    "Watches the CPU load of this machine and publishes how much effort compression may\n"
    "take, in a small file that web servers and other programs read.\n"
    "\n"
    "  -f, --file PATH        the position file (" FILE_DEFAULT ")\n"
    "  -p, --pid-file PATH    write the process's number there (none)\n"
    "  -F, --foreground       stay in the foreground, log to stderr\n"
    "  -i, --interval TIME    between samples, 100ms to 60s (500ms)\n"
    "  -l, --low PERCENT      effort goes up below this CPU load (50)\n"
    "  -H, --high PERCENT     effort goes down above this CPU load (80)\n"
    "  -b, --bypass PERCENT   above it, and at the floor, nothing is to be compressed (off)\n"
    "  -c, --control MODE     step or mix (mix)\n"
    "  -t, --top N            setups above the floor, 1 to 1000 (8)\n"
    "  -s, --start N          position to begin with, 0 to top (five eighths of top)\n"
    "  -L, --load SIGNAL      auto, stat, cgroup or psi (auto)\n"
    "      --proc-stat PATH   read in place of /proc/stat; implies --load stat\n"
    "      --root PATH        read the kernel's files below PATH\n"
    "  -n, --nice N           priority of the process, -20 to 19 (-5)\n"
    "      --show             print what the position file says, and end\n"
    "  -V, --version          print the version, and end\n"
    "  -h, --help             print this, and end\n"
    "\n"
    "Signals: TERM and INT end it, HUP makes it look at the machine's limits again.\n";

enum { OPTION_PROC_STAT = 256, OPTION_ROOT, OPTION_SHOW };

static const struct option names[] = {
    {"file", required_argument, NULL, 'f'},
    {"pid-file", required_argument, NULL, 'p'},
    {"foreground", no_argument, NULL, 'F'},
    {"interval", required_argument, NULL, 'i'},
    {"low", required_argument, NULL, 'l'},
    {"high", required_argument, NULL, 'H'},
    {"bypass", required_argument, NULL, 'b'},
    {"control", required_argument, NULL, 'c'},
    {"top", required_argument, NULL, 't'},
    {"start", required_argument, NULL, 's'},
    {"load", required_argument, NULL, 'L'},
    {"proc-stat", required_argument, NULL, OPTION_PROC_STAT},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"nice", required_argument, NULL, 'n'},
    {"show", no_argument, NULL, OPTION_SHOW},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool wrong(const char *option, const char *given, const char *allowed)
{
    fprintf(stderr, "elasticd: --%s: '%s' is not %s\n", option, given, allowed);
    return false;
}

/* The whole text as a number within bounds. */
static bool read_number(const char *text, double least, double most, double *number)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    /* In this order a NaN fails too. */
    if (errno != 0 || end == text || *end != '\0' || !(value >= least) || !(value <= most)) {
        return false;
    }
    *number = value;
    return true;
}

static bool read_whole(const char *text, long least, long most, long *number)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        return false;
    }
    *number = value;
    return true;
}

static bool read_percent(const char *option, const char *text, double *share)
{
    double percent;

    if (!read_number(text, 0, 100, &percent)) {
        return wrong(option, text, "a percentage of 0 to 100");
    }
    *share = percent / 100;
    return true;
}

/* `500ms`, `2s`, or a bare number of seconds, as ElasticInterval. */
static bool read_interval(const char *text, uint64_t *usec)
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
        return wrong("interval", text, "a time of 100ms to 60s");
    }
    memcpy(number, text, len);
    number[len] = '\0';
    if (!read_number(number, INTERVAL_MIN_MSEC / unit_msec, INTERVAL_MAX_MSEC / unit_msec,
                     &value)) {
        return wrong("interval", text, "a time of 100ms to 60s");
    }
    *usec = (uint64_t)(value * unit_msec * 1000 + 0.5);
    return true;
}

static bool read_mode(const char *text, el_control_mode_t *mode)
{
    if (strcmp(text, "step") == 0) {
        *mode = EL_CONTROL_STEP;
    } else if (strcmp(text, "mix") == 0) {
        *mode = EL_CONTROL_MIX;
    } else {
        return wrong("control", text, "step or mix");
    }
    return true;
}

static bool read_load(const char *text, el_load_kind_t *kind)
{
    for (int k = 0; k < EL_LOAD_KINDS; k++) {
        if (strcmp(text, el_load_kind_word((el_load_kind_t)k)) == 0) {
            *kind = (el_load_kind_t)k;
            return true;
        }
    }
    return wrong("load", text, "auto, stat, cgroup or psi");
}

static bool read_count(const char *option, const char *text, long least, long most,
                       const char *allowed, long *number)
{
    return read_whole(text, least, most, number) || wrong(option, text, allowed);
}

static bool read_value(int option, el_options_t *options)
{
    long number = 0;

    switch (option) {
    case 'i':
        return read_interval(optarg, &options->interval_usec);
    case 'l':
        return read_percent("low", optarg, &options->control.low);
    case 'H':
        return read_percent("high", optarg, &options->control.high);
    case 'b':
        return read_percent("bypass", optarg, &options->control.bypass);
    case 'c':
        return read_mode(optarg, &options->control.mode);
    case 'L':
        return read_load(optarg, &options->load);
    case 's':
        return read_number(optarg, 0, TOP_MAX, &options->start)
               || wrong("start", optarg, "a position of 0 to --top");
    case 't':
        if (!read_count("top", optarg, 1, TOP_MAX, "a number of 1 to 1000", &number)) {
            return false;
        }
        options->control.top = (unsigned)number;
        return true;
    default:
        if (!read_count("nice", optarg, -20, 19, "a number of -20 to 19", &number)) {
            return false;
        }
        options->nice = (int)number;
        options->nice_given = true;
        return true;
    }
}

static bool read_option(int option, el_options_t *options)
{
    switch (option) {
    case 'f':
        options->file = optarg;
        return true;
    case 'p':
        options->pid_file = optarg;
        return true;
    case 'F':
        options->foreground = true;
        return true;
    case OPTION_PROC_STAT:
        options->proc_stat = optarg;
        options->load = EL_LOAD_STAT;
        return true;
    case OPTION_ROOT:
        options->root = optarg;
        return true;
    case OPTION_SHOW:
        options->show = true;
        return true;
    case '?':
        return false;
    default:
        return read_value(option, options);
    }
}

/* What only shows when all was read. */
static bool fit_together(el_options_t *options)
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

el_options_result_t el_options_read(int argc, char **argv, el_options_t *options)
{
    int option;

    *options = (el_options_t){
        .file = FILE_DEFAULT,
        .root = "",
        .control = {.mode = EL_CONTROL_MIX, .low = 0.5, .high = 0.8, .bypass = 2, .top = 8},
        .interval_usec = 500000,
        .start = -1,
        .nice = -5,
    };
    while ((option = getopt_long(argc, argv, "f:p:Fi:l:H:b:c:t:s:L:n:Vh", names, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return EL_OPTIONS_DONE;
        }
        if (option == 'V') {
            puts("elasticd (mod_elastic) " ELASTIC_VERSION);
            return EL_OPTIONS_DONE;
        }
        if (!read_option(option, options)) {
            fputs("Try 'elasticd --help'.\n", stderr);
            return EL_OPTIONS_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "elasticd: '%s' is no option\nTry 'elasticd --help'.\n", argv[optind]);
        return EL_OPTIONS_WRONG;
    }
    return fit_together(options) ? EL_OPTIONS_RUN : EL_OPTIONS_WRONG;
}
