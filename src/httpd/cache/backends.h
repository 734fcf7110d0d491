/* The two places in which the store (store.h) may lie: this machine's memory, or other machines. */
#ifndef ELASTIC_CACHE_BACKENDS_H
#define ELASTIC_CACHE_BACKENDS_H

#include "httpd/cache/tools.h"
#include "httpd/cache/local.h"
#include "httpd/config/glue.h"

/*
 * shmcb.c: a cache of httpd's socache provider shmcb, used under a lock. It lives in the parent
 * process, and outlives graceful restarts: then children of both generations use it.
 */

/*
 * In post_config: opens the cache of `nbytes` that shmcb makes of `arguments`, or finds the one of
 * before if neither these nor the provider have changed. Bytes of the largest encoding that it
 * takes; 0, with a line in the log, if there is none: then a cache of before is gone.
 */
size_t el_shmcb_open(const char *arguments, uint64_t nbytes, server_rec *main_server);

/* Before the children of a restart: empties the cache, if there is one. Returns the same. */
size_t el_shmcb_reset(server_rec *main_server);

/* Gives the memory back, if there is a cache. */
void el_shmcb_close(void);

/* The number of entries that an open cache has at most. */
uint32_t el_shmcb_entries(void);

/*
 * True if children have ended while they used it: after the first one it goes on, empty, and after
 * the next it is off until it is opened again. Any thread.
 */
bool el_shmcb_is_broken(void);

/* The store's functions, for this backend; any thread. */
bool el_shmcb_has_room(void);
bool el_shmcb_get(const el_name_t *name, el_found_t *found);
bool el_shmcb_put(const el_name_t *name, const el_entry_t *entry);

/*
 * remote.c: redis or memcached, by the clients of httpd's socache providers. Only the threads of
 * workers.c call these, because they block: a request waits for EL_REMOTE_PATIENCE at most. After a
 * failure, no process calls for a growing time.
 *
 * Names are HMACs, and values are sealed (tools.h). A value that is longer than the provider can
 * take is stored in pieces, which are sealed as one.
 */

/* µs that a request waits for an answer: about the time of encoding. */
#define EL_REMOTE_PATIENCE 5000

typedef struct {
    const char *provider;
    const char *arguments;
    const el_seal_keys_t *keys; /* which live as long as the configuration */
    size_t most;                /* bytes of an encoding */
} el_remote_config_t;

/*
 * In post_config, if the provider is loaded. False, with a line in the log, if it refuses its
 * arguments.
 */
bool el_remote_open(const el_remote_config_t *config, server_rec *main_server, apr_pool_t *pconf);

/* In post_config, before that, or in place of it. */
void el_remote_close(void);

/* In child_init: starts the threads. */
void el_remote_child(void);

/* True if it was opened; any thread, as all below. */
bool el_remote_is_open(void);

/*
 * Finds the entry of `name`, as el_entry_write() made it: `*nbytes` at `*entry`, within the memory
 * that is returned, which the caller releases with el_pool_buffer_release(). NULL if it is not
 * there, does not come in time, or bodies in flight may hold no more. `*waited` is how many µs the
 * request has waited before; this call's are added.
 */
void *el_remote_get(const el_name_t *name, uint64_t *waited, const uint8_t **entry, size_t *nbytes);

/*
 * Copies an entry, and has it stored later. False if it is too large, too many wait to be stored,
 * or the store does not work.
 */
bool el_remote_put(const el_name_t *name, const el_entry_t *entry);

#endif
