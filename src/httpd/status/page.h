/*
 * The status page for people: what was saved, the last hour, what needs attention, and why
 * responses were not compressed; below it every figure. It works without scripts, and loads nothing
 * from elsewhere.
 */
#ifndef ELASTIC_STATUS_PAGE_H
#define ELASTIC_STATUS_PAGE_H

#include "httpd/base/glue.h"

/* Answers with the page, and sets its media type and policy; `figures` are el_figures(). */
void el_page_answer(request_rec *r, const apr_array_header_t *figures);

/* The table of all figures, which mod_status's page has too. */
void el_page_write_figures(request_rec *r, const apr_array_header_t *figures);

/* Answers with the style sheet or the script where the query `name` is for one; else false. */
bool el_page_answer_part(request_rec *r, const char *name);

#endif
