/*
 * The status page for people: warnings, what was saved, load and levels, the last hour, responses
 * by coding and by reason; below them every figure. It has no scripts, and loads nothing from
 * elsewhere.
 */
#ifndef ELASTIC_STATUS_PAGE_H
#define ELASTIC_STATUS_PAGE_H

#include "httpd/base/glue.h"

/* Answers with the page, or with its style sheet (`?style`); `figures` are el_figures(). */
void el_page_answer(request_rec *r, const apr_array_header_t *figures);

/* The table of those figures whose keys have that beginning; mod_status's page has all. */
void el_page_write_figures(request_rec *r, const apr_array_header_t *figures,
                           const char *beginning);

#endif
