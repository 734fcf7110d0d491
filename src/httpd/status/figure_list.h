/*
 * A figure of the status: a key for programs, a text for people and the metric that it is for
 * monitoring; and how a list of them is made, from rows of what is known before the values.
 */
#ifndef ELASTIC_STATUS_FIGURE_LIST_H
#define ELASTIC_STATUS_FIGURE_LIST_H

#include "httpd/base/glue.h"

typedef enum { EL_METRIC_GAUGE, EL_METRIC_COUNTER, EL_METRIC_HISTOGRAM, EL_METRIC_INFO } el_metric_t;

/*
 * A family of metrics. Its name begins with "elastic_" and ends with its unit, "seconds", "bytes" or
 * "ratio", where it has one; what the kind adds, such as "_total", is not part of it.
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
    const char *label;         /* NULL: the family's only sample; where its kind is info, of the value */
    const char *label_value;   /* NULL: the figure's */
    const char *sample;        /* the value in the family's unit */
} el_figure_t;

/* How many of a key's unit are one of its metric's. */
#define MILLIS 1e3
#define MICROS 1e6
#define NANOS 1e9

/* What is known of a figure before its value. */
typedef struct {
    const char *key;
    const char *text;
    el_family_t own;           /* a family of this figure alone; without a name: none */
    const el_family_t *family; /* one that has others too, or NULL */
    const char *label;
    const char *label_value;
    double per_unit; /* of the key's unit in the family's; 0: they are the same */
} el_row_t;

/* Families of their own. */
#define GAUGE(name, help) {name, EL_METRIC_GAUGE, help}
#define COUNTER(name, help) {name, EL_METRIC_COUNTER, help}
#define NONE {NULL, EL_METRIC_GAUGE, NULL}

/* A row of a family of its own, in whose unit the key's is `per_unit`; of one that it shares. */
#define ROW(key, text, own) {key, text, own, NULL, NULL, NULL, 0}
#define ROW_IN(per_unit, key, text, own) {key, text, own, NULL, NULL, NULL, per_unit}
#define ROW_OF(family, key, text, label, value) {key, text, NONE, family, label, value, 0}

/* The figures so far. */
typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *figures; /* el_figure_t */
} el_list_t;

/*
 * Each adds a figure of `row`, which outlives the list where it has a family of its own, and a text
 * from the list's pool: a word; a number as `text` in the key's unit; a count; three decimals.
 */
void el_add_text(el_list_t *list, const el_row_t *row, const char *value);
void el_add_number(el_list_t *list, const el_row_t *row, const char *text, double value);
void el_add_count(el_list_t *list, const el_row_t *row, uint64_t value);
void el_add_share(el_list_t *list, const el_row_t *row, double value);

#endif
