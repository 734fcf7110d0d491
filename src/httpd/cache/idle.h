/*
 * ElasticIdle: cached encodings that are asked for often are encoded again at the highest level,
 * while CPU time is spare.
 *
 * One thread of one process decodes and encodes. It has the CPU only while nobody else wants it
 * (host/process.h). It takes none of this module's locks that a request may wait for: the timer's
 * thread of that process reads the store for it, and writes the result. It does call malloc(),
 * where it has an arena of its own: on a full CPU, allocations of other threads took no longer with
 * it than without. The process exits without joining this thread.
 */
#ifndef ELASTIC_CACHE_IDLE_H
#define ELASTIC_CACHE_IDLE_H

#include "httpd/config/glue.h"

#include "elastic/engine.h"
#include "elastic/entry.h"
#include "elastic/ladder.h"

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
