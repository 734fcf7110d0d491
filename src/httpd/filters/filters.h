/* The filter of dictionaries, and the URLs of their files. */
#ifndef ELASTIC_FILTERS_FILTERS_H
#define ELASTIC_FILTERS_FILTERS_H

#include "httpd/config/glue.h"

/*
 * Makes responses dictionaries (RFC 9842 §2.1), where ElasticDictionary says so: Use-As-Dictionary
 * goes out with the header, the body is copied as it passes, and kept at its end. It also sets the
 * Link of ElasticDictionaryLink (§3). Put in before ELASTIC: the identity passes here.
 */
void el_dictionary_filter_register(void);
void el_dictionary_filter_insert(request_rec *r);

/*
 * The files of ElasticDictionaryFile, each at its own URL. In pre_translate_name and
 * translate_name: whatever else maps URLs, has no part in these. In map_to_storage: no <Directory>
 * and no .htaccess is for them, but each <Location> is. In a handler: OK, where it was answered, or
 * its status; DECLINED: the request is for none of them.
 */
int el_dictionary_translate(request_rec *r);
int el_dictionary_map(request_rec *r);
int el_dictionary_handler(request_rec *r);

#endif
