#include "httpd/state/stats.h"

#include "httpd/state/shared.h"
#include "httpd/state/vhosts.h"

#include "apr_strings.h"
#include "http_log.h"

EL_USE_LOG;

/* A gzip member's header and trailer, of ten and eight bytes (RFC 1952 §2.3). */
#define GZIP_FRAMING 18

void el_stats_skipped(request_rec *r, el_reason_t reason)
{
    apr_table_setn(r->notes, "elastic-reason", el_reason_note(reason));
    el_shared_count((el_counter_t)(EL_COUNT_SKIPPED + reason), 1);
    el_vhosts_counted(r->server, EL_VHOST_UNCOMPRESSED);
}

/* A tenth of apr_psprintf's price. */
static const char *decimal(apr_pool_t *pool, uint64_t value)
{
    return apr_off_t_toa(pool, (apr_off_t)value);
}

static uint64_t cpu_nsec(const el_usage_t *usage)
{
    return usage->cpu_nsec + usage->looked_nsec;
}

static const char *microseconds(apr_pool_t *pool, const el_usage_t *usage)
{
    return usage->sampled ? decimal(pool, cpu_nsec(usage) / 1000)
                          : apr_pstrcat(pool, "~", decimal(pool, usage->elapsed_nsec / 1000), NULL);
}

static void note_sizes(request_rec *r, uint64_t in, uint64_t out)
{
    apr_table_setn(r->notes, "elastic-in", decimal(r->pool, in));
    apr_table_setn(r->notes, "elastic-out", decimal(r->pool, out));
    if (in > 0) {
        apr_table_setn(r->notes, "elastic-ratio", decimal(r->pool, out * 100 / in));
    }
}

/* What one response took, and what it would have with mod_deflate. */
static void count_sampled(el_coding_t coding, int level, const el_usage_t *usage)
{
    el_measured_t stock = el_costs_stock(coding, level, usage->in, usage->out);

    el_shared_count(EL_COUNT_SAMPLED_IN, usage->in);
    el_shared_count(EL_COUNT_SAMPLED_OUT, usage->out);
    el_shared_count(EL_COUNT_SAMPLED_NSEC, cpu_nsec(usage));
    el_shared_count(EL_COUNT_STOCK_NSEC, stock.cpu_nsec);
    el_shared_count(EL_COUNT_STOCK_OUT, stock.out);
}

/* The notes and counters of a response that went out encoded by `engine`. */
static void count(request_rec *r, el_coding_t coding, const char *engine, int level,
                  const el_usage_t *usage)
{
    apr_table_unset(r->notes, "elastic-reason");
    apr_table_setn(r->notes, "elastic-coding", el_coding_info(coding)->token);
    apr_table_setn(r->notes, "elastic-engine", engine);
    apr_table_setn(r->notes, "elastic-level", apr_itoa(r->pool, level));
    note_sizes(r, usage->in, usage->out);
    apr_table_setn(r->notes, "elastic-usec", microseconds(r->pool, usage));
    el_shared_count(EL_COUNT_COMPRESSED, 1);
    el_shared_count(EL_COUNT_BYTES_IN, usage->in);
    el_shared_count(EL_COUNT_BYTES_OUT, usage->out);
    el_vhosts_compressed(r->server, usage->in, usage->out);
    el_shared_tally(coding, engine,
                    &(el_tally_body_t){usage->in, usage->out, usage->elapsed_nsec});
    if (el_coding_is_difference(coding)) {
        el_shared_count(EL_COUNT_DIFFERENCES, 1);
        el_shared_count(EL_COUNT_DIFFERENCES_IN, usage->in);
        el_shared_count(EL_COUNT_DIFFERENCES_OUT, usage->out);
    }
    if (usage->sampled) {
        count_sampled(coding, level, usage);
    }
}

void el_stats_encoded(request_rec *r, const el_plan_t *plan, int level, const el_usage_t *usage)
{
    el_measured_t measured = {usage->in, usage->out, usage->cpu_nsec, usage->fresh};

    count(r, plan->engine->coding, plan->engine->name, level, usage);
    el_shares_update(plan, level, usage->in, usage->out);
    if (usage->sampled) {
        el_costs_update(plan, level, &measured);
    }
}

void el_stats_kept(request_rec *r, el_coding_t coding, const char *engine, int level,
                   const el_usage_t *usage)
{
    apr_table_setn(r->notes, "elastic-setup",
                   apr_pstrcat(r->pool, engine, " ", apr_itoa(r->pool, level), NULL));
    count(r, coding, "cache", level, usage);
}

static void note_stock(request_rec *r, const el_stock_t *stock, el_note_t which, bool there,
                       uint64_t value)
{
    if (stock->note[which]) {
        apr_table_setn(r->notes, stock->note[which],
                       there ? decimal(r->pool, value) : "-");
    }
}

void el_stats_stock(request_rec *r, const el_stock_t *stock, el_coding_t coding,
                      const el_usage_t *usage)
{
    uint64_t framing = coding == EL_GZIP ? GZIP_FRAMING : 0;
    uint64_t out = usage->out > framing ? usage->out - framing : 0;

    /* Of an empty body mod_deflate notes nothing, mod_brotli all but the ratio. */
    note_stock(r, stock, EL_NOTE_INPUT, usage->in > 0 || coding != EL_GZIP, usage->in);
    note_stock(r, stock, EL_NOTE_OUTPUT, out > 0, out);
    note_stock(r, stock, EL_NOTE_RATIO, usage->in > 0, usage->in > 0 ? out * 100 / usage->in : 0);
}

void el_stats_sibling_fault(request_rec *r, el_sibling_fault_t fault, const char *path)
{
    el_counter_t counter = (el_counter_t)(EL_COUNT_SIBLING + fault);
    /* Somebody may have tried to change what others get, which the operator should hear of once. */
    bool warns = fault == EL_SIBLING_OWNER
                 && el_counters_total(el_shared.counters, counter) == 0;

    el_shared_count(counter, 1);
    ap_log_rerror(APLOG_MARK, warns ? APLOG_WARNING : APLOG_INFO, 0, r,
                  "elastic: %s is not sent: it is %s", path, el_sibling_fault_text(fault));
}

void el_stats_precompressed(request_rec *r, el_coding_t coding, uint64_t in, uint64_t out)
{
    static const char engine[] = "precompressed";

    apr_table_unset(r->notes, "elastic-reason");
    apr_table_setn(r->notes, "elastic-coding", el_coding_info(coding)->token);
    apr_table_setn(r->notes, "elastic-engine", engine);
    note_sizes(r, in, out);
    el_shared_count(EL_COUNT_PRECOMPRESSED, 1);
    el_vhosts_counted(r->server, EL_VHOST_PRECOMPRESSED);
    el_shared_tally(coding, engine, &(el_tally_body_t){in, out, 0});
}
