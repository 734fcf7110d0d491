/*
 * The costs that the ladder is built from: what each setup within the server's bounds is expected to
 * take, and to leave of a body.
 */
#ifndef ELASTIC_STATUS_STATUS_COSTS_H
#define ELASTIC_STATUS_STATUS_COSTS_H

#include "httpd/base/glue.h"

#include "elastic/coding.h"
#include "elastic/cost.h"

typedef struct {
    el_coding_t coding;
    int level;
    el_cost_t cost[EL_SIZE_CLASSES];
    bool measured[EL_SIZE_CLASSES]; /* here, of late */
} el_cost_row_t;

/* The rows, el_cost_row_t, coding by coding with levels rising; from `pool`. */
apr_array_header_t *el_status_costs(apr_pool_t *pool);

/* A row's costs as a value for programs: for each class nanoseconds per KB, a slash, percent. */
const char *el_status_costs_value(apr_pool_t *pool, const el_cost_row_t *row);

/* Writes the rows as a table for people. */
void el_status_costs_write(request_rec *r);

#endif
