/* What every file of the glue starts from: httpd's types, and how lines reach the error log. */
#ifndef ELASTIC_BASE_GLUE_H
#define ELASTIC_BASE_GLUE_H

#include "httpd.h"
#include "http_config.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * In a file that writes to the error log, in place of APLOG_USE_MODULE: the lines bear the name of
 * the first record that is loaded, so that LogLevel elastic:debug (deflate:debug where only that
 * record is loaded) selects them. httpd's log macros use this very name.
 */
extern int el_log_index;
#define EL_USE_LOG static int *const aplog_module_index = &el_log_index

/*
 * Before a function that few responses need: inlined into its caller, it would make every response
 * save and restore the registers that it uses.
 */
#define EL_RARE __attribute__((noinline))

#endif
