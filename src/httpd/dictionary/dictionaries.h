/*
 * The dictionaries of this server (RFC 9842): the files of ElasticDictionaryFile, and responses
 * that were given out as dictionaries, stored in the folder of ElasticDictionaryStore.
 *
 * Files are read once with the configuration, so a URL always serves the same content, even if the
 * file changes. If the folder fails, responses are sent as if it was not configured: functions
 * return false, count the fault, and log it at most once a minute.
 */
#ifndef ELASTIC_DICTIONARY_DICTIONARIES_H
#define ELASTIC_DICTIONARY_DICTIONARIES_H

#include "httpd/config/config.h"

#include "elastic/dictionary.h"
#include "engines/engines.h"

/* The files' URL path on each host, followed by digits of the file's hash. */
#define EL_SITE_FOLDER "/.well-known/elastic-dictionary/"

/*
 * For check_config, and so for configtest: reads the files of all servers. Warns if a file or the
 * folder cannot be used, or if there is an ElasticDictionary but no folder.
 */
void el_dictionaries_check(server_rec *main_server, apr_pool_t *pconf);

/*
 * For post_config: opens the folder; clearing the pool given to el_dictionaries_check() closes it.
 * Without a folder only files are dictionaries.
 */
void el_dictionaries_open(server_rec *main_server);

/* True if there may be a dictionary. Any thread, as all functions below. */
bool el_dictionaries_are_open(void);

/* Bytes of the largest dictionary that the folder takes; 0: no folder. */
size_t el_dictionaries_most(void);

/* Stores the `nbytes` as a dictionary that is given out by `entry`. False on failure. */
bool el_dictionaries_keep(const el_dictionary_entry_t *entry, const void *bytes, size_t nbytes);

/*
 * Finds the dictionary with this SHA-256. EL_DICTIONARY_USED if the server gave it out for such a
 * request, as `*entry` tells; otherwise the reason against it.
 */
el_dictionary_reason_t el_dictionaries_find(const server_rec *server,
                                            const uint8_t hash[EL_DICTIONARY_HASH],
                                            const el_dictionary_request_t *request,
                                            el_dictionary_entry_t *entry);

/*
 * Prepares a dictionary that was found for `coding` at `level`. EL_DICTIONARY_USED: `*dictionary`
 * is ready, perhaps for another level, and the caller releases it. Otherwise the reason against it.
 */
el_dictionary_reason_t el_dictionaries_prepare(const uint8_t hash[EL_DICTIONARY_HASH],
                                               el_coding_t coding, int level,
                                               el_dictionary_t **dictionary);

/* True if the file was read and is for `origin` (as in el_dictionary_entry_t). */
bool el_site_file_is_for(const el_dictionary_file_t *file, const char *origin);

/* filter.c gives out dictionaries (RFC 9842 §2.1): responses, and ElasticDictionaryFile's. */

/*
 * The filter turns responses into dictionaries by ElasticDictionary: it sets Use-As-Dictionary,
 * copies the body as it passes, and stores the copy at the end. It also sets the Link of
 * ElasticDictionaryLink (§3). It runs before ELASTIC, so it sees the identity. For register_hooks
 * and insert_filter.
 */
void el_dictionary_filter_register(void);
void el_dictionary_filter_insert(request_rec *r);

/*
 * The URLs of ElasticDictionaryFile. translate, for pre_translate_name and translate_name, keeps
 * other mappings of URLs away from them. map, for map_to_storage, keeps <Directory> and .htaccess
 * away; <Location> applies. The handler returns OK or an error status, or DECLINED if the request
 * is for no file.
 */
int el_dictionary_translate(request_rec *r);
int el_dictionary_map(request_rec *r);
int el_dictionary_handler(request_rec *r);

#endif
