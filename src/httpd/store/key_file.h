/* The file of ElasticCacheKey: a secret that all servers of a fleet have, and nobody else. */
#ifndef ELASTIC_STORE_KEY_FILE_H
#define ELASTIC_STORE_KEY_FILE_H

#include "httpd/store/seal.h"

/* Bytes of the file, at most: more than any key has, and less than what was named by mistake. */
#define EL_KEY_FILE_MOST 4096

/*
 * Reads the file at `path` and makes the keys of all its bytes. NULL, or what is wrong with it, in
 * words that follow the path.
 */
const char *el_key_file_read(const char *path, el_seal_keys_t *keys);

#endif
