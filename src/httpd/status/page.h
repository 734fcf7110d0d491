/*
 * The status page for people: warnings, what was saved, load and levels, the last hour, responses
 * by coding and by reason; below them every figure. It has no scripts, and loads nothing from
 * elsewhere.
 */
#ifndef ELASTIC_STATUS_PAGE_H
#define ELASTIC_STATUS_PAGE_H

#include "httpd/config/glue.h"

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
    const el_family_t *family; /* NULL: no metric; those of a family follow each other */
    const char *label;         /* NULL: the family's only sample; of an info, the value's */
    const char *label_value;   /* NULL: the figure's value */
    const char *sample;        /* the value in the family's unit */
} el_figure_t;

/* Answers with the page, or with its style sheet (`?style`); `figures` are of el_figure_t. */
void el_page_answer(request_rec *r, const apr_array_header_t *figures);

/* Writes a table of the figures whose keys have that beginning. */
void el_page_write_figures(request_rec *r, const apr_array_header_t *figures,
                           const char *beginning);

#endif
