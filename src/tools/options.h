/* What elasticd's command line says. */
#ifndef ELASTIC_TOOLS_OPTIONS_H
#define ELASTIC_TOOLS_OPTIONS_H

#include "elastic/control.h"
#include "elastic/load.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *file;
    const char *pid_file; /* NULL: none */
    const char *root;     /* where the machine's files are; "" for this one */
    const char *proc_stat; /* NULL: `root`/proc/stat */
    el_control_config_t control;
    el_load_kind_t load;
    uint64_t interval_usec;
    double start;      /* position to begin with */
    int nice;
    bool nice_given;
    bool foreground;
    bool show;         /* print what the file says, and end */
} el_options_t;

/* What is to be done next. */
typedef enum { EL_OPTIONS_RUN, EL_OPTIONS_DONE, EL_OPTIONS_WRONG } el_options_result_t;

/*
 * Reads the command line. DONE where it asked for help or the version, which is then printed; WRONG
 * where it is wrong, and stderr says what is. Strings are those of `argv`.
 */
el_options_result_t el_options_read(int argc, char **argv, el_options_t *options);

#endif
