#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "tools/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_DEFAULT "/run/elastic/elastic.position"

/* As ElasticInterval: below, a sample resolves next to nothing; above, nothing is followed. */
#define INTERVAL_MIN_MSEC 100
#define INTERVAL_MAX_MSEC 60000

/* More than any ladder has; the position's word has room for 65535. */
#define TOP_MAX 1000

typedef struct row row_t;

/* Reads `text` into the options; false where it is not what the row allows. */
typedef bool reader_t(const row_t *row, const char *text, el_options_t *options);

/* An option. The help text, getopt's tables and the refusals follow from its row. */
struct row {
    char letter; /* 0: it has its long name only */
    const char *name;
    const char *argument; /* as the help calls it; NULL: it takes none */
    const char *help;
    reader_t *read; /* NULL: it is answered and ends the program */
    size_t at;      /* of its field in el_options_t */
    const char *allowed;
};

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

static void *field(const row_t *row, el_options_t *options)
{
    return (char *)options + row->at;
}

static bool read_text(const row_t *row, const char *text, el_options_t *options)
{
    *(const char **)field(row, options) = text;
    return true;
}

static bool read_flag(const row_t *row, const char *text, el_options_t *options)
{
    (void)text;
    *(bool *)field(row, options) = true;
    return true;
}

static bool read_percent(const row_t *row, const char *text, el_options_t *options)
{
    double percent;

    if (!read_number(text, 0, 100, &percent)) {
        return false;
    }
    *(double *)field(row, options) = percent / 100;
    return true;
}

/* `500ms`, `2s`, or a bare number of seconds, as ElasticInterval. */
static bool read_interval(const row_t *row, const char *text, el_options_t *options)
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
    if (!read_number(number, INTERVAL_MIN_MSEC / unit_msec, INTERVAL_MAX_MSEC / unit_msec,
                     &value)) {
        return false;
    }
    *(uint64_t *)field(row, options) = (uint64_t)(value * unit_msec * 1000 + 0.5);
    return true;
}

static bool read_mode(const row_t *row, const char *text, el_options_t *options)
{
    bool step = strcmp(text, "step") == 0;

    *(el_control_mode_t *)field(row, options) = step ? EL_CONTROL_STEP : EL_CONTROL_MIX;
    return step || strcmp(text, "mix") == 0;
}

static bool read_load(const row_t *row, const char *text, el_options_t *options)
{
    for (int kind = 0; kind < EL_LOAD_KINDS; kind++) {
        if (strcmp(text, el_load_kind_word((el_load_kind_t)kind)) == 0) {
            *(el_load_kind_t *)field(row, options) = (el_load_kind_t)kind;
            return true;
        }
    }
    return false;
}

static bool read_proc_stat(const row_t *row, const char *text, el_options_t *options)
{
    options->load = EL_LOAD_STAT;
    return read_text(row, text, options);
}

static bool read_start(const row_t *row, const char *text, el_options_t *options)
{
    return read_number(text, 0, TOP_MAX, field(row, options));
}

static bool read_top(const row_t *row, const char *text, el_options_t *options)
{
    long number;

    if (!read_whole(text, 1, TOP_MAX, &number)) {
        return false;
    }
    *(unsigned *)field(row, options) = (unsigned)number;
    return true;
}

static bool read_nice(const row_t *row, const char *text, el_options_t *options)
{
    long number;

    if (!read_whole(text, -20, 19, &number)) {
        return false;
    }
    *(int *)field(row, options) = (int)number;
    options->nice_given = true;
    return true;
}

#define AT(field) offsetof(el_options_t, field)
#define PERCENTAGE "a percentage of 0 to 100"

static const row_t rows[] = {
    {'f', "file", "PATH", "the position file (" FILE_DEFAULT ")", read_text, AT(file), NULL},
    {'p', "pid-file", "PATH", "write the process's number there (none)", read_text, AT(pid_file),
     NULL},
    {'F', "foreground", NULL, "stay in the foreground, log to stderr", read_flag, AT(foreground),
     NULL},
    {'i', "interval", "TIME", "between samples, 100ms to 60s (500ms)", read_interval,
     AT(interval_usec), "a time of 100ms to 60s"},
    {'l', "low", "PERCENT", "effort goes up below this CPU load (50)", read_percent,
     AT(control.low), PERCENTAGE},
    {'H', "high", "PERCENT", "effort goes down above this CPU load (80)", read_percent,
     AT(control.high), PERCENTAGE},
    {'b', "bypass", "PERCENT", "above it, and at the floor, nothing is to be compressed (off)",
     read_percent, AT(control.bypass), PERCENTAGE},
    {'c', "control", "MODE", "step or mix (mix)", read_mode, AT(control.mode), "step or mix"},
    {'t', "top", "N", "setups above the floor, 1 to 1000 (8)", read_top, AT(control.top),
     "a number of 1 to 1000"},
    {'s', "start", "N", "position to begin with, 0 to top (five eighths of top)", read_start,
     AT(start), "a position of 0 to --top"},
    {'L', "load", "SIGNAL", "auto, stat or cgroup (auto)", read_load, AT(load),
     "auto, stat or cgroup"},
    {0, "proc-stat", "PATH", "read in place of /proc/stat; implies --load stat", read_proc_stat,
     AT(proc_stat), NULL},
    {0, "root", "PATH", "read the kernel's files below PATH", read_text, AT(root), NULL},
    {'n', "nice", "N", "priority of the process, -20 to 19 (-5)", read_nice, AT(nice),
     "a number of -20 to 19"},
    {0, "show", NULL, "print what the position file says, and end", read_flag, AT(show), NULL},
    {'V', "version", NULL, "print the version, and end", NULL, 0, NULL},
    {'h', "help", NULL, "print this, and end", NULL, 0, NULL},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What getopt_long() gives for a row: its letter, or a number beyond all letters. */
static int code_of(size_t row)
{
    return rows[row].letter ? rows[row].letter : 256 + (int)row;
}

static const row_t *row_of(int code)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (code_of(i) == code) {
            return &rows[i];
        }
    }
    return NULL;
}

/* getopt's tables: `letters` has room for two characters a row, `names` for one row more. */
static void fill_tables(char *letters, struct option *names)
{
    for (size_t i = 0; i < ROWS; i++) {
        bool takes = rows[i].argument != NULL;

        names[i] = (struct option){rows[i].name, takes ? required_argument : no_argument, NULL,
                                   code_of(i)};
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

static void print_help(void)
{
    puts("usage: elasticd [option...]\n"
         "\n"
         "Watches the CPU load of this machine and publishes how much effort compression may\n"
         "take, in a small file that web servers and other programs read.\n");
    for (size_t i = 0; i < ROWS; i++) {
        char letter[] = {'-', rows[i].letter, ',', '\0'};
        const char *argument = rows[i].argument != NULL ? rows[i].argument : "";

        printf("  %-3s --%s %-*s%s\n", rows[i].letter ? letter : "", rows[i].name,
               (int)(16 - strlen(rows[i].name)), argument, rows[i].help);
    }
    puts("\n"
         "Signals: TERM and INT end it, HUP makes it look at the machine's limits again.");
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

static el_options_result_t refuse(void)
{
    fputs("Try 'elasticd --help'.\n", stderr);
    return EL_OPTIONS_WRONG;
}

el_options_result_t el_options_read(int argc, char **argv, el_options_t *options)
{
    char letters[2 * ROWS + 1];
    struct option names[ROWS + 1];
    int code;

    *options = (el_options_t){
        .file = FILE_DEFAULT,
        .root = "",
        .control = {.mode = EL_CONTROL_MIX, .low = 0.5, .high = 0.8, .bypass = 2, .top = 8},
        .interval_usec = 500000,
        .start = -1,
        .nice = -5,
    };
    fill_tables(letters, names);
    while ((code = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const row_t *row = row_of(code);

        if (row == NULL) {
            return refuse();
        }
        if (code == 'h') {
            print_help();
            return EL_OPTIONS_DONE;
        }
        if (code == 'V') {
            puts("elasticd (mod_elastic) " ELASTIC_VERSION);
            return EL_OPTIONS_DONE;
        }
        if (!row->read(row, optarg, options)) {
            fprintf(stderr, "elasticd: --%s: '%s' is not %s\n", row->name, optarg, row->allowed);
            return refuse();
        }
    }
    if (optind < argc) {
        fprintf(stderr, "elasticd: '%s' is not an option\n", argv[optind]);
        return refuse();
    }
    return fit_together(options) ? EL_OPTIONS_RUN : EL_OPTIONS_WRONG;
}
