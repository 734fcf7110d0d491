/*
 * The dictionaries of this server (RFC 9842): those of ElasticDictionaryFile, and those that it has
 * given out, in the folder of ElasticDictionaryStore.
 *
 * Files are read once with the configuration, so a URL that names a content always serves that
 * content, whatever becomes of the file. If the folder has a fault, responses go out as if it was
 * not configured: functions return false, count the fault, and log it once a minute at most.
 */
#ifndef ELASTIC_DICTIONARY_DICTIONARIES_H
#define ELASTIC_DICTIONARY_DICTIONARIES_H

#include "httpd/config/config.h"

#include "elastic/dictionary.h"
#include "engines/engines.h"

/* The folder of the files on each host. A file's name there begins like the hash of its bytes. */
#define EL_SITE_FOLDER "/.well-known/elastic-dictionary/"

/*
 * In check_config, so in configtest too: reads the files of all servers. Warns if a file or the
 * folder cannot be used, or if there is an ElasticDictionary and no folder.
 */
void el_dictionaries_check(server_rec *main_server, apr_pool_t *pconf);

/*
 * In post_config: opens the folder, until the pool of the check is cleared. Without one there are
 * no dictionaries but the files.
 */
void el_dictionaries_open(server_rec *main_server);

/* True if there may be any dictionary; any thread, as all below. */
bool el_dictionaries_are_open(void);

/* Bytes of the largest dictionary that can be kept; 0: there is no folder. */
size_t el_dictionaries_most(void);

/* Keeps the `nbytes` as a dictionary that is given out as `entry` says. False if it failed. */
bool el_dictionaries_keep(const el_dictionary_entry_t *entry, const void *bytes, size_t nbytes);

/*
 * Looks for the dictionary of this SHA-256. EL_DICTIONARY_USED: the server gives it out, or has
 * given it out, for such a request, as `*entry` says. Otherwise the reason against it.
 */
el_dictionary_reason_t el_dictionaries_find(const server_rec *server,
                                            const uint8_t hash[EL_DICTIONARY_HASH],
                                            const el_dictionary_request_t *request,
                                            el_dictionary_entry_t *entry);

/*
 * Prepares a dictionary that was found for `coding` at `level`. EL_DICTIONARY_USED: `*dictionary`
 * is ready, maybe for another level, and stays until the caller releases it. Otherwise the reason
 * against it.
 */
el_dictionary_reason_t el_dictionaries_prepare(const uint8_t hash[EL_DICTIONARY_HASH],
                                               el_coding_t coding, int level,
                                               el_dictionary_t **dictionary);

/* True if the file was read and is for `origin`, as in an entry of elastic/dictionary.h. */
bool el_site_file_is_for(const el_dictionary_file_t *file, const char *origin);

/*
 * filter.c: gives dictionaries out (RFC 9842 §2.1): responses that become dictionaries, and the
 * URLs of ElasticDictionaryFile.
 */

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
