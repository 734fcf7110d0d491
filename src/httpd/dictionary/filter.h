/*
 * How dictionaries are given out (RFC 9842 §2.1): responses that become dictionaries, and the URLs
 * of ElasticDictionaryFile.
 */
#ifndef ELASTIC_DICTIONARY_FILTER_H
#define ELASTIC_DICTIONARY_FILTER_H

#include "httpd/config/glue.h"

/*
 * The filter makes responses dictionaries, as ElasticDictionary says: Use-As-Dictionary goes out
 * with the header, the body is copied as it passes, and kept at its end. It also sets the Link of
 * ElasticDictionaryLink (§3). It stands before ELASTIC: the identity passes here. Called in
 * register_hooks and insert_filter.
 */
void el_dictionary_filter_register(void);
void el_dictionary_filter_insert(request_rec *r);

/*
 * The files of ElasticDictionaryFile, each at its own URL. In pre_translate_name and
 * translate_name: no other mapping of URLs applies to them. In map_to_storage: no <Directory> and
 * no .htaccess does, but each <Location>. In a handler: OK or the status of the answer; DECLINED
 * if the request is for no file.
 */
int el_dictionary_translate(request_rec *r);
int el_dictionary_map(request_rec *r);
int el_dictionary_handler(request_rec *r);

#endif
