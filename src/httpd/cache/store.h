/*
 * The store: encodings that were made once, found again by their names, whoever made them. Entries
 * are never stale, because a name stands for the bytes that were encoded. Entries that were not
 * used for long make room for others.
 *
 * A name is a keyed hash of the body, of the visitor who asked for it, and of the virtual host
 * unless ElasticCacheScope is `all`. The key is made when httpd starts, or comes from
 * ElasticCacheKey, and lives as long as httpd does.
 *
 * ElasticCacheStore says whether it lies in this machine's memory or on other machines. If it has a
 * fault, a request goes on as if it was empty: functions return false, count the fault, and log it
 * once a minute at most.
 */
#ifndef ELASTIC_CACHE_STORE_H
#define ELASTIC_CACHE_STORE_H

#include "httpd/cache/local.h"
#include "httpd/config/glue.h"

#include "elastic/engine.h"
#include "elastic/entry.h"
#include "elastic/ladder.h"

/*
 * In check_config, so in configtest too: warns if ElasticCache is On and there will be no store.
 * False, with a line in the log, if it must not be opened: other machines would reach it, and there
 * is no good key.
 */
bool el_store_check(server_rec *main_server);

/*
 * In post_config: opens the store, or finds the one of before a graceful restart if nothing about
 * it has changed. Without a store the server runs as with ElasticCache Off.
 */
void el_store_open(server_rec *main_server, apr_pool_t *pconf);

/* In pre_mpm, at a start and at a restart, not at a graceful one: an empty store. */
void el_store_reset(server_rec *main_server);

/* In child_init; `threads` if several threads of this process serve requests. */
void el_store_child(bool threads);

/* True if there is a store; any thread, as all below. */
bool el_store_is_open(void);

/* True if it may keep an encoding of `nbytes`. */
bool el_store_takes(uint64_t nbytes);

/* True if other machines put encodings into it, of bodies that this one has not seen. */
bool el_store_is_shared(void);

/* The texts that tell one visitor from another; NULL if there is none. */
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

/* A name that is being computed; the caller's memory. */
typedef struct {
    void *mac; /* of tools.h */
    bool good; /* nothing has failed */
    el_name_kind_t kind;
} el_fingerprint_t;

/*
 * Begins the name of `nbytes` bytes, of `kind`, for the virtual host of `r`, and for `visitor`
 * alone; NULL: for everybody.
 */
void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes);

/* Adds the next `nbytes` of them, at `data`. */
void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes);

/* Ends the name, which is of no coding yet. False if libcrypto failed. */
bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name);

/*
 * Makes it the name of the encoding in `coding` by `setup`, except its level: that is `pinned`, or
 * EL_NAME_ADAPTIVE.
 */
void el_name_encoding(el_name_t *name, el_coding_t coding, const el_setup_t *setup, int pinned);

/*
 * Finds the entry of `name`. True: the caller owns it, and calls el_found_release(), or gives
 * `buffer` and `release` away, for instance to a bucket.
 */
bool el_store_get(const el_name_t *name, el_found_t *found);

/*
 * Finds the copy that this process has of it in its own memory. Another process may have stored
 * another entry since.
 */
bool el_store_get_local(const el_name_t *name, el_found_t *found);

/*
 * Copies `entry`, whose `written` is not read, and keeps it under `name` in place of another. False
 * if it is too large or the store failed. If other threads of this process wait for it, `awaited`,
 * they find it even if the store takes it later, or not at all.
 */
bool el_store_put(const el_name_t *name, const el_entry_t *entry, bool awaited);

/* True if the store has driven nothing out yet: a new entry takes nobody's place. */
bool el_store_has_room(void);

/*
 * Notes that the body, or file, of `name` was seen, whatever the coding. True if it had been seen
 * recently: only then is its encoding worth keeping.
 */
bool el_store_note(const el_name_t *name);

/*
 * idle.c, for ElasticIdle: cached encodings that are asked for often are encoded again at the
 * highest level, while CPU time is spare.
 *
 * One thread of one process decodes and encodes. It has the CPU only while nobody else wants it
 * (host/process.h). It takes none of this module's locks that a request may wait for: the timer's
 * thread of that process reads the store for it, and writes the result. It does call malloc(): on
 * a full CPU, 99.9 % of other threads' allocations took at most 0.16 ms, with it as without. The
 * process exits without joining this thread.
 */

/* In post_config, after el_shared_open() and el_store_open(): has the timer improve, or not. */
void el_improver_open(server_rec *main_server);

/* An encoding that another may be improved to; EL_IDENTITY: it stays as it is. */
typedef struct {
    el_coding_t coding;
    int level;
} el_target_t;

/*
 * The target for a body of `nbytes` that is encoded within the bounds `range`, for clients that
 * like the codings of `set` equally, as `setup` says except its level. Any thread.
 */
el_target_t el_improver_target(const el_range_t *range, unsigned set, const el_setup_t *setup,
                               uint64_t nbytes);

/* Notes that the entry of `name` goes out, and may become `target`. Any thread. */
void el_improver_note(const el_name_t *name, const el_entry_t *entry, el_target_t target);

#endif
