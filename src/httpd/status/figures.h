/*
 * The figures of the status: what the shared block holds. Every form of the status is written from
 * this list; of histograms it has none, see metrics.c.
 */
#ifndef ELASTIC_STATUS_FIGURES_H
#define ELASTIC_STATUS_FIGURES_H

#include "httpd/base/glue.h"

/* The figures (el_figure_t of figure_list.h) now, from `pool`. */
apr_array_header_t *el_figures(apr_pool_t *pool);

#endif
