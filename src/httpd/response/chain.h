/*
 * The request's chain of output filters: where ELASTIC is put into it, what is taken out, what else
 * stands there. Names of filters are compared without regard to case, as httpd does.
 */
#ifndef ELASTIC_CHAIN_H
#define ELASTIC_CHAIN_H

#include "httpd/base/records.h"

/* In post_config: finds httpd's records of the filters by their names. */
void el_chain_configure(void);

/* The insert_filter hook. */
void el_chain_insert(request_rec *r);

/* Whether AddOutputFilterByType put `f` there: the operator has named the type with it. */
bool el_chain_by_type(const ap_filter_t *f);

/* Whether a stock compressor stands in the chain from `f` on. */
bool el_chain_has_stock(const ap_filter_t *f);

/* Whether a filter of `record` stands in the chain from `f` on, and can be seen. */
bool el_chain_has(const ap_filter_t *f, el_record_t record);

/*
 * Whether a filter that may change the body stands in the request's chain: any content filter but
 * the compressors and those that are known to touch the header only or to copy.
 */
bool el_chain_changes_body(const request_rec *r);

#endif
