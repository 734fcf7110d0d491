/* The two places for the cache's store (store.h): this machine's memory, or other machines. */
#ifndef ELASTIC_CACHE_BACKENDS_H
#define ELASTIC_CACHE_BACKENDS_H

#include "httpd/cache/tools.h"
#include "httpd/cache/local.h"
#include "httpd/config/glue.h"

/*
 * shmcb.c: a cache of httpd's socache provider shmcb, used under a lock. The parent process owns
 * it. It outlives graceful restarts, when children of both generations use it.
 */

/*
 * In post_config: opens a cache of `nbytes` with shmcb's `arguments`, or adopts the previous one if
 * arguments and provider are the same. Returns the bytes of the largest encoding that fits; 0 if
 * there is no cache, which is logged. A previous cache is then gone.
 */
size_t el_shmcb_open(const char *arguments, uint64_t nbytes, server_rec *main_server);

/* In pre_mpm: empties the cache, if there is one. Returns the same as el_shmcb_open(). */
size_t el_shmcb_reset(server_rec *main_server);

/* Frees the cache's memory, if there is one. */
void el_shmcb_close(void);

/* The most entries that an open cache holds. */
uint32_t el_shmcb_entries(void);

/*
 * True if the cache is off because two children ended while using it; after the first, it went on
 * empty. It stays off until it is opened again. Any thread.
 */
bool el_shmcb_is_broken(void);

/* The store's functions for this backend; any thread. */
bool el_shmcb_has_room(void);
bool el_shmcb_get(const el_name_t *name, el_found_t *found);
bool el_shmcb_put(const el_name_t *name, const el_entry_t *entry);

/*
 * remote.c: redis or memcached, through the clients of httpd's socache providers. These block, so
 * only worker threads call them, and a request waits at most EL_REMOTE_PATIENCE. After a failure,
 * all processes pause for a growing time.
 *
 * Names are HMACs and values are sealed (tools.h). A value that is too long for the provider is
 * sealed as a whole and stored in pieces.
 */

/* µs that a request waits for an answer: about the time of encoding. */
#define EL_REMOTE_PATIENCE 5000

typedef struct {
    const char *provider;
    const char *arguments;
    const el_seal_keys_t *keys; /* they live as long as the configuration */
    size_t most;                /* bytes of the largest encoding */
} el_remote_config_t;

/* In post_config, if the provider is loaded. False, and logged, if it refuses its arguments. */
bool el_remote_open(const el_remote_config_t *config, server_rec *main_server, apr_pool_t *pconf);

/* In post_config: forgets the previous store. */
void el_remote_close(void);

/* In child_init: starts the threads. */
void el_remote_child(void);

/* True if the store was opened. Any thread, like all functions below. */
bool el_remote_is_open(void);

/*
 * Finds the entry of `name`, as el_entry_write() made it: `*nbytes` bytes at `*entry`. Returns the
 * memory that holds it, for el_pool_buffer_release(). NULL if it is missing, late, or the memory
 * for bodies is used up. `*waited` is the request's waiting time so far, µs; adds this call's.
 */
void *el_remote_get(const el_name_t *name, uint64_t *waited, const uint8_t **entry, size_t *nbytes);

/* Copies an entry to store it later. False: too large, too many tasks, or the store is down. */
bool el_remote_put(const el_name_t *name, const el_entry_t *entry);

#endif
