/*
 * Improving: what the store has and is asked for often is encoded again at the highest level, while
 * CPU time is spare (ElasticIdle).
 *
 * One thread of one process decodes and encodes. It has the CPU only while nobody else wants it
 * (host/process.h), and so takes no lock that a request may wait for: the timer's thread of that
 * process reads the store for it, and writes what it has made. Nobody waits for that thread: a
 * process that ends while it is in a call leaves it behind.
 */
#ifndef ELASTIC_CACHE_IMPROVER_H
#define ELASTIC_CACHE_IMPROVER_H

#include "httpd/config/glue.h"

#include "elastic/engine.h"
#include "elastic/entry.h"
#include "elastic/ladder.h"

/* In post_config, after el_shared_open() and el_store_open(): has the timer improve, or not. */
void el_improver_open(server_rec *main_server);

/* What an encoding may become; EL_IDENTITY: it stays as it is. */
typedef struct {
    el_coding_t coding;
    int level;
} el_target_t;

/*
 * What a body of `nbytes` may become that is encoded within the bounds `range`, for clients that
 * like the codings of `set` equally, as `setup` says but for the level. Any thread.
 */
el_target_t el_improver_target(const el_range_t *range, unsigned set, const el_setup_t *setup,
                               uint64_t nbytes);

/* The entry of `name` goes out, and may become `target`. Any thread. */
void el_improver_note(const el_name_t *name, const el_entry_t *entry, el_target_t target);

#endif
