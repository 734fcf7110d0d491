/*
 * The filters that change no body, and where all of the module's are put into a response's chain.
 * Each is registered once; el_…_insert() are called in insert_filter.
 */
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

/*
 * ElasticExplain: a response header field that says what was decided. It is added behind
 * mod_cache's filter, so that what is stored has none, and no cache behind httpd may store the
 * response. Put in by insert_error_filter too, for what ended before insert_filter.
 */
void el_explain_register(void);
void el_explain_insert(request_rec *r);

/*
 * ElasticPadding: a response header field of random length. It is added behind mod_cache's filter,
 * so that what is stored has none, and each response that is served of it its own.
 */
void el_padding_register(void);

/*
 * A guard for mod_cache, which el_ranges_configure() looks for in post_config: it takes Range out
 * of the request while it revalidates and puts it back behind our filter, so that httpd's BYTERANGE
 * would slice a cached body in a dynamic coding. Other than a precompressed file's, such bytes
 * differ from one response to the next: a client must never join their slices.
 */
void el_ranges_configure(void);
void el_ranges_register(void);
void el_ranges_insert(request_rec *r);

/* Where ELASTIC is put into the chain, and what else is found there. */
void el_insertion(request_rec *r);

/* Registers the filter that counts the responses which go out as they are. */
void el_insertion_register(void);

#endif
