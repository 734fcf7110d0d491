/*
 * The figures of the status: what the shared block holds. Each has a key for programs, a text for
 * people and the metric that it is for monitoring. Every form of the status is written from this
 * list; of histograms it has none, see status.c.
 */
#ifndef ELASTIC_STATUS_FIGURES_H
#define ELASTIC_STATUS_FIGURES_H

#include "httpd/base/glue.h"

#include "elastic/http.h"

typedef enum {
    EL_METRIC_GAUGE, EL_METRIC_COUNTER, EL_METRIC_HISTOGRAM, EL_METRIC_INFO
} el_metric_t;

/*
 * A family of metrics. Its name begins with "elastic_" and ends with its unit, "seconds", "bytes"
 * or "ratio", where it has one; what the kind adds, such as "_total", is not part of it.
 */
typedef struct {
    const char *name;
    el_metric_t kind;
    const char *help;
} el_family_t;

typedef struct {
    const char *key;
    const char *value;
    const char *text;          /* for people */
    bool number;
    const el_family_t *family; /* NULL: no metric; those of a family follow each other */
    const char *label;         /* NULL: the family's only sample; of an info, the value's */
    const char *label_value;   /* NULL: the figure's */
    const char *sample;        /* the value in the family's unit */
} el_figure_t;

/* The figures (el_figure_t) now, from `pool`. */
apr_array_header_t *el_figures(apr_pool_t *pool);

/*
 * Adds the costs of each setup within the server's bounds, for programs: of each class of sizes
 * nanoseconds for a KB, a slash, percent. They have no text and no metric.
 */
void el_figures_add_costs(apr_array_header_t *figures);

#endif
