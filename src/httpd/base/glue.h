/*
 * What every file of the glue starts from: httpd's own types, and how its lines reach the error
 * log. Everything of httpd that is more than a call away from a core function lives here, one idea
 * to a file.
 */
#ifndef MOD_ELASTIC_H
#define MOD_ELASTIC_H

#include "httpd.h"
#include "http_config.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * In a file that writes to the error log, in place of APLOG_USE_MODULE: the lines bear the name of
 * the first record that is loaded, and LogLevel elastic:debug (or deflate:debug where only that one
 * is) finds them. httpd looks for this very name.
 */
extern int el_log_index;
#define EL_USE_LOG static int *const aplog_module_index = &el_log_index

/*
 * Before a function that few responses need, where all come by its caller: compiled into it, it
 * would have each of them save and restore the registers that it uses.
 */
#define EL_RARE __attribute__((noinline))

/* Takes part in httpd's hooks; once for each configuration, however many records call it. */
void el_hooks_register(apr_pool_t *pconf);

#endif
