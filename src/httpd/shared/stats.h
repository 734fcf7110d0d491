/*
 * The statistics, in the shared block: of a response, with notes for the access log; of virtual
 * hosts; of the last hour and today. Any thread.
 */
#ifndef ELASTIC_SHARED_STATS_H
#define ELASTIC_SHARED_STATS_H

#include "httpd/config/stock.h"
#include "httpd/shared/costs.h"

#include "elastic/counters.h"
#include "elastic/decide.h"

/*
 * One response in so many has its CPU time taken: that is a system call of half a microsecond,
 * twenty times the price of the monotonic clock; the totals are scaled by the sampled bytes.
 */
#define EL_STATS_EVERY 16

/* What the encoder used for one response. */
typedef struct {
    bool sampled; /* CPU time is taken beside the time elapsed */
    bool fresh;   /* the context was made for this body */
    uint64_t in;  /* bytes */
    uint64_t out;
    uint64_t elapsed_nsec;
    uint64_t cpu_nsec;
    uint64_t looked_nsec; /* CPU time before, in which no encoding of the body was found */
} el_usage_t;

/* The body goes out as it is, for `reason`. */
void el_stats_skipped(request_rec *r, el_reason_t reason);

/* The body went out encoded by `plan`; `level` is the user's. */
void el_stats_encoded(request_rec *r, const el_plan_t *plan, int level, const el_usage_t *usage);

/*
 * The body went out in an encoding that was kept: `engine` had made it at `level`. `usage` is of
 * finding it.
 */
void el_stats_cached(request_rec *r, el_coding_t coding, const char *engine, int level,
                   const el_usage_t *usage);

/*
 * The notes that DeflateFilterNote and BrotliFilterNote name: bytes in, bytes out without gzip's
 * framing, and their ratio in percent; "-" for nothing.
 */
void el_stats_stock(request_rec *r, const el_stock_t *stock, el_coding_t coding,
                    const el_usage_t *usage);

/*
 * The precompressed file at `path`, which the client would take, is not sent. A warning in the log
 * names it where that is `news`, and the first one of another owner since the start; all others are
 * named at the level info.
 */
void el_stats_precompressed_fault(request_rec *r, el_precompressed_fault_t fault, const char *path,
                                  bool news);

/*
 * `what`, a clause, went wrong with the store of encodings; `rv` is APR's reason, or APR_SUCCESS.
 * Counted, and logged once a minute at most by all children.
 */
void el_stats_cache_fault(apr_status_t rv, const char *what);

/* A precompressed file of `out` bytes was sent in place of a file of `in` bytes. */
void el_stats_precompressed(request_rec *r, el_coding_t coding, uint64_t in, uint64_t out);

/*
 * In post_config, after el_shared_open(): gives virtual hosts their slots. The first names of the
 * configuration, as many as ElasticVhosts says, have counts of their own, by ServerName, whatever
 * the port; all others share the last ones. `pconf` is the configuration's.
 */
void el_vhosts_open(server_rec *main_server, apr_pool_t *pconf);

/* The name at `slot`, 0 … EL_VHOST_OTHER, in lower case; NULL where nothing is counted there. */
const char *el_vhosts_name(unsigned slot);

/* Notes load, position and day as they are now; called by whoever has taken a sample. */
void el_past_note(void);

/* The means of the minute `age` minutes ago, 0 … EL_HISTORY_MINUTES - 1; false: no sample in it. */
bool el_past_minute(unsigned age, el_history_point_t *point);

/* What was counted since midnight of this place's time, or since the start where that is later. */
void el_past_today(uint64_t counts[EL_PAST_COUNTS]);

#endif
