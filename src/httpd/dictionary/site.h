/*
 * The dictionaries of ElasticDictionaryFile: read once with the configuration, so that what is
 * served under the name of a content is that content, whatever becomes of the file.
 */
#ifndef ELASTIC_DICTIONARY_SITE_H
#define ELASTIC_DICTIONARY_SITE_H

#include "httpd/config/config.h"

/* Where they are on each host; behind it come EL_SITE_DIGITS hexadecimal digits of the hash. */
#define EL_SITE_FOLDER "/.well-known/elastic-dictionary/"
#define EL_SITE_DIGITS 32

/*
 * In check_config, so in configtest too: reads the files of all servers. One that cannot be read is
 * a warning, and its directive has no effect.
 */
void el_site_files_read(server_rec *main_server, apr_pool_t *pconf);

/* Whether there is any; any thread, as all below. */
bool el_site_files_are_there(void);

/* Whether the file was read and is for `origin`, as in an entry of elastic/dictionary.h. */
bool el_site_file_is_for(const el_dictionary_file_t *file, const char *origin);

/* The server's file that has the path `url` on that origin; NULL: none. */
const el_dictionary_file_t *el_site_file_at(const server_rec *server, const char *origin,
                                            const char *url);

/*
 * The server's file of this SHA-256 that is for that origin; NULL: none. Without an origin, of any
 * server for any.
 */
const el_dictionary_file_t *el_site_file_of(const server_rec *server, const char *origin,
                                            const uint8_t hash[EL_DICTIONARY_HASH]);

#endif
