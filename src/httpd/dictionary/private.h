/*
 * Private pages that are the dictionaries of their own next versions (`revisit private=COOKIE`): in
 * memory that the children share, and nowhere else. Each is found by a keyed hash (HMAC-SHA-256) of
 * the origin, the session and the page's SHA-256, so that to any other session it is not there. The
 * key is random, and lives as long as httpd's parent process; so does the memory, over graceful
 * restarts and others. What is new takes the place of what is oldest.
 *
 * A session is a text that names the cookie and has its value. Any thread. Functions return false
 * where there is no memory for such pages.
 */
#ifndef ELASTIC_DICTIONARY_PRIVATE_H
#define ELASTIC_DICTIONARY_PRIVATE_H

#include "httpd/base/glue.h"

#include "elastic/dictionary.h"
#include "elastic/difference.h"

/*
 * In post_config: takes `nbytes` of memory, or finds those of before where they are as many; 0: gives
 * them back.
 */
void el_private_open(size_t nbytes, server_rec *main_server);

/* A page of a session, by what a request says of it. */
typedef struct {
    const char *session;
    const char *origin;
    const uint8_t *hash; /* its SHA-256, of EL_DICTIONARY_HASH bytes */
} el_private_name_t;

/* Keeps the page, of entry->origin; false where it is too large, too. */
bool el_private_put(const el_private_name_t *name, const el_dictionary_entry_t *entry,
                    const void *bytes, size_t nbytes);

/* Finds the entry of a page. */
bool el_private_find(const el_private_name_t *name, el_dictionary_entry_t *entry);

/* The page's bytes, for the caller to free(); NULL where it is not there, or memory is short. */
uint8_t *el_private_read(const el_private_name_t *name, size_t *nbytes);

#endif
