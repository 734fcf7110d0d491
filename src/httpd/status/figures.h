/*
 * The figures of the status: what the shared block holds, with a key for programs and a text for
 * people. Every form of the status is written from this list.
 */
#ifndef ELASTIC_STATUS_FIGURES_H
#define ELASTIC_STATUS_FIGURES_H

#include "httpd/base/glue.h"

typedef struct {
    const char *key;
    const char *value;
    const char *text; /* for people */
    bool number;
} el_figure_t;

/* The figures (el_figure_t) now, from `pool`. */
apr_array_header_t *el_figures(apr_pool_t *pool);

#endif
