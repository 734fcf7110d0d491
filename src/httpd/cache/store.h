/*
 * The cache of encodings. Entries are found by name and never become stale, because a name stands
 * for the bytes that were encoded. Entries that were not used for long are evicted.
 *
 * A name is a keyed hash of the body, the visitor who asked for it, and the virtual host unless
 * ElasticCacheScope is `all`. The key is made when httpd starts, or read from ElasticCacheKey, and
 * lives as long as httpd.
 *
 * ElasticCacheStore puts the entries in this machine's memory or on other machines. If the store
 * fails, requests go on as if it was empty: functions return false, count the fault, and log it at
 * most once a minute.
 */
#ifndef ELASTIC_CACHE_STORE_H
#define ELASTIC_CACHE_STORE_H

#include "httpd/cache/local.h"
#include "httpd/config/glue.h"

#include "elastic/engine.h"
#include "elastic/entry.h"
#include "elastic/ladder.h"

/*
 * In check_config, so in configtest too: warns if ElasticCache is On but its store's module is
 * missing. False, with a log line, if other machines would reach the store without a good key.
 */
bool el_store_check(server_rec *main_server);

/*
 * In post_config: opens the store, or adopts that from before a graceful restart if its settings
 * are the same. Without a store, httpd runs as with ElasticCache Off.
 */
void el_store_open(server_rec *main_server, apr_pool_t *pconf);

/* In pre_mpm, at a start and a restart but not at a graceful one: empties the store. */
void el_store_reset(server_rec *main_server);

/* In child_init; `threads`: several threads of this process serve requests. */
void el_store_child(bool threads);

/* True if there is a store. Any thread, like all functions below. */
bool el_store_is_open(void);

/* True if an encoding of `nbytes` fits. */
bool el_store_takes(uint64_t nbytes);

/* True if other machines use the store, too: it may have encodings of bodies new to this one. */
bool el_store_is_shared(void);

/* The texts that tell visitors apart; each may be NULL. */
typedef enum {
    EL_VISITOR_SENT_COOKIE,        /* as the client sent it */
    EL_VISITOR_SENT_AUTHORIZATION,
    EL_VISITOR_COOKIE,             /* as other modules left it */
    EL_VISITOR_AUTHORIZATION,
    EL_VISITOR_USER,
    EL_VISITOR_AUTH_TYPE,
    EL_VISITOR_CERTIFICATE,
    EL_VISITOR_TEXTS
} el_visitor_text_t;

typedef struct {
    const char *text[EL_VISITOR_TEXTS];
} el_visitor_t;

/* A name being computed, in the caller's memory. */
typedef struct {
    void *mac; /* of tools.h */
    bool good; /* nothing has failed yet */
    el_name_kind_t kind;
} el_fingerprint_t;

/*
 * Begins the name of `nbytes` bytes, of `kind`, for the virtual host of `r` and for `visitor`
 * alone. NULL: the name is the same for everybody.
 */
void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes);

/* Adds the next `nbytes` bytes. */
void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes);

/* Ends the name, which has no coding yet. Returns false if libcrypto failed. */
bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name);

/*
 * Makes it the name of the encoding in `coding` by `setup`. In place of the setup's level, it
 * contains `pinned`: a pinned level, or EL_NAME_ADAPTIVE.
 */
void el_name_encoding(el_name_t *name, el_coding_t coding, const el_setup_t *setup, int pinned);

/*
 * Finds the entry of `name`. If true, the caller owns it, and calls el_found_release() or gives
 * `buffer` and `release` away, for example to a bucket.
 */
bool el_store_get(const el_name_t *name, el_found_t *found);

/* Finds this process's local copy of the entry. Another process may have replaced the entry. */
bool el_store_get_local(const el_name_t *name, el_found_t *found);

/*
 * Copies `entry` (ignoring `written`) and stores it under `name`, replacing an older one. False if
 * it is too large or the store failed. `awaited`: other threads of this process wait for it, and
 * will find it even if the store takes it later or not at all.
 */
bool el_store_put(const el_name_t *name, const el_entry_t *entry, bool awaited);

/* True if the store has evicted nothing so far: a new entry displaces none. */
bool el_store_has_room(void);

/*
 * Notes that the body or file of `name` was seen, in any coding. Returns true if it had been seen
 * recently: only then is its encoding worth storing.
 */
bool el_store_note(const el_name_t *name);

/*
 * idle.c: with ElasticIdle, popular cached encodings are encoded again at the highest level while
 * CPU time is spare.
 *
 * One thread of one process does this. It has the CPU only while no other thread wants it
 * (host/process.h), and takes none of this module's locks that a request may wait for: the timer's
 * thread reads and writes the store for it. It does call malloc(): on a full CPU, 99.9 % of other
 * threads' allocations took at most 0.16 ms with and without it. Exit does not wait for it.
 */

/* In post_config, after el_shared_open() and el_store_open(): turns improving on or off. */
void el_improver_open(server_rec *main_server);

/* The goal of improving an encoding; EL_IDENTITY: leave it. */
typedef struct {
    el_coding_t coding;
    int level;
} el_target_t;

/*
 * The target for a body of `nbytes` for clients that like the codings of `set` equally, within the
 * level bounds of `range`; `setup` gives everything but the level. Any thread.
 */
el_target_t el_improver_target(const el_range_t *range, unsigned set, const el_setup_t *setup,
                               uint64_t nbytes);

/* Notes that the entry of `name` is sent, and may be improved to `target`. Any thread. */
void el_improver_note(const el_name_t *name, const el_entry_t *entry, el_target_t target);

#endif
