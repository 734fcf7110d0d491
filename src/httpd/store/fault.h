/* What goes wrong with the store: counted, and logged once a minute at most by all children. */
#ifndef ELASTIC_STORE_FAULT_H
#define ELASTIC_STORE_FAULT_H

#include "httpd/base/glue.h"

/* `what` happened, a clause; `rv` is APR's reason, or APR_SUCCESS. Any thread. */
void el_store_fault(apr_status_t rv, const char *what);

#endif
