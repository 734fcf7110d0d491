/*
 * What the files of the glue share: the module record and what each of them registers. Everything
 * of httpd that is more than a call away from a core function lives here, one idea to a file.
 */
#ifndef MOD_ELASTIC_H
#define MOD_ELASTIC_H

#include "httpd.h"
#include "http_config.h"

#include <stdbool.h>
#include <stdint.h>

#define EL_FILTER_NAME "ELASTIC"

/* The record that LoadModule names. */
extern module AP_MODULE_DECLARE_DATA elastic_module;

#endif
