/* The parts of the status page that tell what is, written as HTML. */
#ifndef ELASTIC_STATUS_PAGE_PARTS_H
#define ELASTIC_STATUS_PAGE_PARTS_H

#include "httpd/base/glue.h"

/* What somebody should look after; nothing where there is nothing. */
void el_page_write_warnings(request_rec *r);

/* What was saved. */
void el_page_write_saved(request_rec *r);

/* Load and position of the last hour, drawn. */
void el_page_write_hour(request_rec *r);

/* Responses by coding and what made their encoding. */
void el_page_write_codings(request_rec *r);

/* Responses that were not compressed, by reason, with what each reason means. */
void el_page_write_reasons(request_rec *r);

/* Responses and bytes by virtual host. */
void el_page_write_vhosts(request_rec *r);

#endif
