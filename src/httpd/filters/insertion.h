/* The insert_filter hook: where ELASTIC is put into the chain, and what else is found there. */
#ifndef ELASTIC_FILTERS_INSERTION_H
#define ELASTIC_FILTERS_INSERTION_H

#include "httpd/base/glue.h"

void el_insertion(request_rec *r);

#endif
