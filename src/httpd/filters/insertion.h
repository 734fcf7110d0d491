/* The insert_filter hook: where ELASTIC is put into the chain, and what else is found there. */
#ifndef ELASTIC_FILTERS_INSERTION_H
#define ELASTIC_FILTERS_INSERTION_H

#include "httpd/base/glue.h"

void el_insertion(request_rec *r);

/* Registers the filter that counts the responses which go out as they are. */
void el_insertion_register(void);

#endif
