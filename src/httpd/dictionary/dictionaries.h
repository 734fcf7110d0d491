/*
 * The dictionaries of this server (RFC 9842): those of ElasticDictionaryFile, and those that it has
 * given out, in the folder of ElasticDictionaryStore. Whatever is wrong with the folder, responses
 * go out as if it was not configured: functions return false, count the fault, and log it once a
 * minute at most.
 */
#ifndef ELASTIC_DICTIONARY_DICTIONARIES_H
#define ELASTIC_DICTIONARY_DICTIONARIES_H

#include "httpd/config/glue.h"

#include "elastic/dictionary.h"
#include "engines/dictionary.h"

/*
 * In check_config, so in configtest too: reads the files, and warns where one or the folder cannot
 * be used, or where there is an ElasticDictionary and no folder.
 */
void el_dictionaries_check(server_rec *main_server, apr_pool_t *pconf);

/* In post_config: opens the folder. Without one there are no dictionaries but the files. */
void el_dictionaries_open(server_rec *main_server, apr_pool_t *pconf);

/* Whether there may be any dictionary; any thread, as all below. */
bool el_dictionaries_are_open(void);

/* Bytes of the largest dictionary that can be kept; 0: there is no folder. */
size_t el_dictionaries_most(void);

/* Keeps the `nbytes` as a dictionary that is given out as `entry` says. False: it must not be. */
bool el_dictionaries_keep(const el_dictionary_entry_t *entry, const void *bytes, size_t nbytes);

/*
 * Whether the server gives out, or has given out, the dictionary of this SHA-256 for such a
 * request: EL_DICTIONARY_USED, and `*entry` is what as; otherwise why not.
 */
el_dictionary_reason_t el_dictionaries_find(const server_rec *server,
                                            const uint8_t hash[EL_DICTIONARY_HASH],
                                            const el_dictionary_request_t *request,
                                            el_dictionary_entry_t *entry);

/*
 * Prepares what was found for `coding` at `level`. EL_DICTIONARY_USED: `*dictionary` is there,
 * maybe for another level, and stays until the caller releases it. Otherwise why not.
 */
el_dictionary_reason_t el_dictionaries_prepare(const uint8_t hash[EL_DICTIONARY_HASH],
                                               el_coding_t coding, int level,
                                               el_dictionary_t **dictionary);

#endif
