/*
 * The statistics in the shared block: counters and log notes of responses, counts of virtual hosts,
 * the last hour, and today. Any thread.
 */
#ifndef ELASTIC_SHARED_STATS_H
#define ELASTIC_SHARED_STATS_H

#include "httpd/config/dropin.h"
#include "httpd/shared/costs.h"

#include "elastic/counters.h"
#include "elastic/decide.h"

/*
 * One response in this many has its CPU time measured; totals are scaled by the sampled bytes. The
 * thread's CPU clock is a system call of half a microsecond, twenty times the monotonic clock.
 */
#define EL_STATS_EVERY 16

/* Bytes and time of one response. */
typedef struct {
    bool sampled; /* CPU time is measured, too */
    bool fresh;   /* the encoder's context was made for this body */
    uint64_t in;  /* bytes */
    uint64_t out;
    uint64_t elapsed_nsec;
    uint64_t cpu_nsec;
    uint64_t looked_nsec; /* CPU time of a look-up that found no cached encoding */
} el_usage_t;

/* The body goes out as it is, for `reason`. */
void el_stats_skipped(request_rec *r, el_reason_t reason);

/* The body went out encoded by `plan`; `level` is as in el_costs_update(). */
void el_stats_encoded(request_rec *r, const el_plan_t *plan, int level, const el_usage_t *usage);

/* The body went out in a cached encoding of `engine` at `level`; `usage` is the look-up's. */
void el_stats_cached(request_rec *r, el_coding_t coding, const char *engine, int level,
                   const el_usage_t *usage);

/*
 * Sets the notes that DeflateFilterNote and BrotliFilterNote name: bytes in, bytes out without
 * gzip's framing, and their ratio in percent; "-" if the stock module would note nothing.
 */
void el_stats_stock(request_rec *r, const el_stock_t *stock, el_coding_t coding,
                    const el_usage_t *usage);

/*
 * The precompressed file at `path` suits the client but is not sent. Logs it, as a warning if
 * `news` or if it is the first file of a foreign owner since the start.
 */
void el_stats_precompressed_fault(request_rec *r, el_precompressed_fault_t fault, const char *path,
                                  bool news);

/*
 * Counts a fault of the cache's store. Logs the clause `what` and the text of `rv`, unless that is
 * APR_SUCCESS; at most once a minute for all children.
 */
void el_stats_cache_fault(apr_status_t rv, const char *what);

/* A precompressed file of `out` bytes was sent in place of a file of `in` bytes. */
void el_stats_precompressed(request_rec *r, el_coding_t coding, uint64_t in, uint64_t out);

/*
 * In post_config, after el_shared_open(): gives virtual hosts their slots by ServerName; ports do
 * not count. The first ElasticVhosts names have slots of their own, all others share the last.
 */
void el_vhosts_open(server_rec *main_server, apr_pool_t *pconf);

/* The name at `slot`, 0 … EL_VHOST_OTHER, in lower case; NULL if nothing is counted there. */
const char *el_vhosts_name(unsigned slot);

/* Notes the present load, position, bytes saved and day. Called by the child that took a sample. */
void el_past_note(void);

/*
 * The means of the minute `age` minutes ago, 0 … EL_HISTORY_MINUTES - 1, by the minutes of
 * el_clock_usec(), and the bytes saved in it; false: no sample in it.
 */
bool el_past_minute(unsigned age, el_history_point_t *point);

/* The counts since local midnight, or since the start if that is later. */
void el_past_today(uint64_t counts[EL_PAST_COUNTS]);

#endif
