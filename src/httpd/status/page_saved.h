/* The part of the status page that says what was saved, today and since the start. */
#ifndef ELASTIC_STATUS_PAGE_SAVED_H
#define ELASTIC_STATUS_PAGE_SAVED_H

#include "httpd/base/glue.h"

void el_page_write_saved(request_rec *r);

#endif
