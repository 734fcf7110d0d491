/*
 * The filter that makes responses dictionaries (RFC 9842 §2.1), where ElasticDictionary says so:
 * Use-As-Dictionary goes out with the header, the body is copied as it passes, and kept at its end.
 * It also sets the Link of ElasticDictionaryLink (§3).
 */
#ifndef ELASTIC_FILTERS_DICTIONARY_H
#define ELASTIC_FILTERS_DICTIONARY_H

#include "httpd/base/glue.h"

void el_dictionary_filter_register(void);

/* In insert_filter, before ELASTIC is added: the identity passes here. */
void el_dictionary_filter_insert(request_rec *r);

#endif
