/*
 * The part of the store that lies in this machine's memory: a cache of httpd's socache provider
 * shmcb, used under a lock. It lives in the parent process, and outlives graceful restarts:
 * children of both generations use it then.
 */
#ifndef ELASTIC_CACHE_SHMCB_H
#define ELASTIC_CACHE_SHMCB_H

#include "httpd/base/glue.h"
#include "httpd/cache/local.h"

/*
 * In post_config: opens the cache of `nbytes` that shmcb makes of `arguments`, or finds that of
 * before where neither these nor the provider have changed. Bytes of the largest encoding that it
 * takes; 0, with a line in the log, where there is none; a cache of before is gone then.
 */
size_t el_shmcb_open(const char *arguments, uint64_t nbytes, server_rec *main_server);

/* Before the children of a restart: an empty cache, where there is one. Returns the same. */
size_t el_shmcb_reset(server_rec *main_server);

/* Gives the memory back, where there is a cache. */
void el_shmcb_close(void);

/* How many entries it has at most, where there is a cache. */
uint32_t el_shmcb_entries(void);

/* The store's functions, of this part; any thread. */
bool el_shmcb_has_room(void);
bool el_shmcb_get(const el_name_t *name, el_found_t *found);
bool el_shmcb_put(const el_name_t *name, const el_entry_t *entry);

#endif
