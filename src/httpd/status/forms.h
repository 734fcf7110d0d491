/* The status: the shared block in words. One list of figures, and the forms to write it in. */
#ifndef ELASTIC_STATUS_FORMS_H
#define ELASTIC_STATUS_FORMS_H

#include "httpd/config/glue.h"

/* In post_config: finds the SetHandler directives that may choose the handlers below. */
void el_status_configure(server_rec *main_server, apr_pool_t *pconf);

/*
 * SetHandler elastic-status: HTML, `?auto` lines of `Key: value`, `?json` one object,
 * `?openmetrics` metrics. SetHandler elastic-metrics: metrics. 403 unless a SetHandler of the
 * server's own configuration has chosen them.
 */
int el_status_handler(request_rec *r);

/* mod_status's hook: the same figures as a section of its page. */
int el_status_section(request_rec *r, int flags);

/*
 * In test_config: writes the settings in force, for programs, if httpd was started with `-t -D
 * DUMP_ELASTIC`. docs/manual/status.md has the form.
 */
void el_dump(apr_pool_t *pool, server_rec *main_server);

/*
 * page.c: the page for people. Warnings, savings, load and levels, the last hour, responses by
 * coding and by reason; below them the other figures. `?manual` says what to do about a reason. No
 * scripts, and nothing from elsewhere.
 */

typedef struct el_family el_family_t;

/*
 * A figure of the status: a key for programs, a text for people, and a metric for monitoring. Every
 * form of the status is written from one list of these; only histograms are not in it.
 */
typedef struct {
    const char *key;
    const char *value;
    const char *text;          /* for people */
    bool number;
    bool idle;                 /* nothing follows from it by the configuration: not for people */
    const el_family_t *family; /* NULL: no metric; those of a family follow each other */
    const char *label;         /* NULL: the family's only sample; of an info, the value's */
    const char *label_value;   /* NULL: the figure's value */
    const char *sample;        /* the value in the family's unit */
} el_figure_t;

/* Answers with the page, its style sheet, or the reasons; `figures` are of el_figure_t. */
void el_page_answer(request_rec *r, const apr_array_header_t *figures);

/* Writes a table of the figures for people whose keys have that beginning. */
void el_page_write_figures(request_rec *r, const apr_array_header_t *figures,
                           const char *beginning);

#endif
