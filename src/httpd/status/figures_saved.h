/* The figures of what was saved today, beside mod_deflate, and at the operator's prices. */
#ifndef ELASTIC_STATUS_FIGURES_SAVED_H
#define ELASTIC_STATUS_FIGURES_SAVED_H

#include "httpd/status/figure_list.h"

void el_figures_add_saved(el_list_t *list);

#endif
