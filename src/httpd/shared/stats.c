#include "httpd/shared/stats.h"

#include "httpd/config/config.h"
#include "httpd/shared/shared.h"

#include "host/process.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "http_log.h"
#include "http_main.h"

EL_USE_LOG;

/* --- virtual hosts */

static const char other[] = "other";

static const char *name_of_slot[EL_VHOSTS + 1];

/* A server's slot stands in its settings of the record that is always loaded. */
static unsigned stats_slot_of(const server_rec *server)
{
    const el_values_t *values =
        ap_get_module_config(server->module_config, el_record_of_requests());

    return values->slot;
}

/* The distinct names of the configuration, in its order. */
typedef struct {
    size_t count, most;
    const char *name[EL_VHOSTS];
    uint64_t hash[EL_VHOSTS];
} names_t;

/* Returns the number of the server's name and adds a new name; EL_VHOSTS if there is no slot. */
static size_t stats_number_of(names_t *names, const server_rec *server, apr_pool_t *pool)
{
    char *name = apr_pstrdup(pool, server->server_hostname ? server->server_hostname : "");
    size_t i = 0;

    for (char *at = name; *at; at++) {
        *at = (char)apr_tolower(*at);
    }
    while (i < names->count && strcmp(names->name[i], name) != 0) {
        i++;
    }
    if (i == names->count && i < names->most && strcmp(name, other) != 0) {
        names->name[i] = name;
        names->hash[i] = el_vhosts_hash(name);
        names->count++;
    }
    return i < names->count ? i : EL_VHOSTS;
}

/* Lists the servers in the configuration's order; httpd has the last virtual host first. */
static apr_array_header_t *stats_in_order(server_rec *main_server, apr_pool_t *pool)
{
    apr_array_header_t *servers = apr_array_make(pool, 16, sizeof(server_rec *));
    server_rec **first;

    for (server_rec *server = main_server; server; server = server->next) {
        APR_ARRAY_PUSH(servers, server_rec *) = server;
    }
    first = (server_rec **)servers->elts;
    for (int i = 1, j = servers->nelts - 1; i < j; i++, j--) {
        server_rec *server = first[i];

        first[i] = first[j];
        first[j] = server;
    }
    return servers;
}

void el_vhosts_open(server_rec *main_server, apr_pool_t *pconf)
{
    int64_t most = el_server_of(main_server)->values.value[EL_SERVER_VHOSTS];
    const module *record = el_record_of_requests();
    size_t size = el_record_loaded(EL_RECORD_ELASTIC) ? sizeof(el_server_t) : sizeof(el_stock_t);
    const apr_array_header_t *servers = stats_in_order(main_server, pconf);
    names_t names = {.most = (size_t)most};
    size_t *number = apr_palloc(pconf, (size_t)servers->nelts * sizeof(*number));
    unsigned slot[EL_VHOSTS + 1] = {[EL_VHOSTS] = EL_VHOST_OTHER};

    memset(name_of_slot, 0, sizeof(name_of_slot));
    for (int i = 0; i < servers->nelts; i++) {
        number[i] = stats_number_of(&names, APR_ARRAY_IDX(servers, i, server_rec *), pconf);
    }
    el_vhosts_assign(&el_shared.block->vhosts, names.hash, names.count, slot);
    for (int i = 0; i < servers->nelts; i++) {
        ap_conf_vector_t *settings = APR_ARRAY_IDX(servers, i, server_rec *)->module_config;
        el_values_t *values;

        name_of_slot[slot[number[i]]] = number[i] < names.count ? names.name[number[i]] : other;
        /* Servers without our directives share the main server's settings; each needs a copy. */
        values = apr_pmemdup(pconf, ap_get_module_config(settings, record), size);
        values->slot = slot[number[i]];
        ap_set_module_config(settings, record, values);
    }
}

static void stats_count_vhost(unsigned slot, el_vhost_count_t count, uint64_t add)
{
    el_vhosts_add(&el_shared.block->vhosts, el_shared.process, slot, count, add);
}

const char *el_vhosts_name(unsigned slot)
{
    return name_of_slot[slot];
}

/* --- responses */

/* A gzip member's header and trailer: ten and eight bytes (RFC 1952 §2.3). */
#define GZIP_FRAMING 18

void el_stats_skipped(request_rec *r, el_reason_t reason)
{
    apr_table_setn(r->notes, "elastic-reason", el_reasons[reason].note);
    el_shared_count((el_counter_t)(EL_COUNT_SKIPPED + (unsigned)reason), 1);
    stats_count_vhost(stats_slot_of(r->server), EL_VHOST_UNCOMPRESSED, 1);
}

/* Room for a number and its mark, or an engine's name. */
#define NUMBER_ROOM 40

/*
 * Writes `mark` (unless it is NUL) and a number into the room at `*at`, and moves `*at` on. One
 * allocation for several numbers takes a quarter of the time of one for each.
 */
static char *stats_write_number(char **at, char mark, uint64_t value)
{
    char *text = *at += NUMBER_ROOM;

    *--text = '\0';
    do {
        *--text = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    *--text = mark;
    return text + (mark == '\0');
}

/*
 * Notes an encoding and its sizes, and counts it for monitoring. `at` has room for three numbers.
 * Each note is set once per response, so it is added without a look-up.
 */
static void stats_note_body(request_rec *r, el_coding_t coding, const char *engine, char *at,
                            const el_usage_t *usage)
{
    el_tally_body_t body = {usage->in, usage->out, usage->elapsed_nsec};
    el_tally_series_t series = el_tally_find(coding, engine);

    apr_table_unset(r->notes, "elastic-reason");
    apr_table_addn(r->notes, "elastic-coding", el_coding_info(coding)->token);
    apr_table_addn(r->notes, "elastic-engine", engine);
    apr_table_addn(r->notes, "elastic-in", stats_write_number(&at, '\0', body.in));
    apr_table_addn(r->notes, "elastic-out", stats_write_number(&at, '\0', body.out));
    if (body.in > 0) {
        apr_table_addn(r->notes, "elastic-ratio",
                       stats_write_number(&at, '\0', body.out * 100 / body.in));
    }
    if (series < EL_TALLY_SERIES_COUNT) {
        el_tally_add(&el_shared.block->tally, el_shared.process, series, &body);
    }
}

/* Sets the notes and counters of a response that `engine` encoded. */
static void stats_count(request_rec *r, el_coding_t coding, const char *engine, int level,
                        const el_usage_t *usage)
{
    unsigned slot = stats_slot_of(r->server);
    uint64_t cpu_nsec = usage->cpu_nsec + usage->looked_nsec;
    uint64_t nsec = usage->sampled ? cpu_nsec : usage->elapsed_nsec;
    char *at = apr_palloc(r->pool, 5 * NUMBER_ROOM);

    stats_note_body(r, coding, engine, at + 2 * NUMBER_ROOM, usage);
    apr_table_addn(r->notes, "elastic-level", stats_write_number(&at, '\0', (unsigned)level));
    apr_table_addn(r->notes, "elastic-usec",
                   stats_write_number(&at, usage->sampled ? '\0' : '~', nsec / 1000));
    el_shared_count(EL_COUNT_COMPRESSED, 1);
    el_shared_count(EL_COUNT_BYTES_IN, usage->in);
    el_shared_count(EL_COUNT_BYTES_OUT, usage->out);
    stats_count_vhost(slot, EL_VHOST_COMPRESSED, 1);
    stats_count_vhost(slot, EL_VHOST_BYTES_IN, usage->in);
    stats_count_vhost(slot, EL_VHOST_BYTES_OUT, usage->out);
    if (el_coding_needs_dictionary(coding)) {
        el_shared_count(EL_COUNT_DIFFERENCES, 1);
        el_shared_count(EL_COUNT_DIFFERENCES_IN, usage->in);
        el_shared_count(EL_COUNT_DIFFERENCES_OUT, usage->out);
    }
    if (usage->sampled) {
        el_shared_count(EL_COUNT_SAMPLED_IN, usage->in);
        el_shared_count(EL_COUNT_SAMPLED_NSEC, cpu_nsec);
    }
}

void el_stats_encoded(request_rec *r, const el_plan_t *plan, int level, const el_usage_t *usage)
{
    el_measured_t measured = {usage->in, usage->out, usage->cpu_nsec, usage->fresh};

    stats_count(r, plan->engine->coding, plan->engine->name, level, usage);
    el_shares_update(plan, level, usage->in, usage->out);
    if (usage->sampled) {
        el_costs_update(plan, level, &measured);
    }
}

void el_stats_cached(request_rec *r, el_coding_t coding, const char *engine, int level,
                   const el_usage_t *usage)
{
    char *at = apr_palloc(r->pool, NUMBER_ROOM), *setup = stats_write_number(&at, ' ',
                                                                             (unsigned)level);
    size_t len = strlen(engine);

    stats_count(r, coding, "cache", level, usage);
    apr_table_addn(r->notes, "elastic-setup", memcpy(setup - len, engine, len));
}

static void stats_note_stock(request_rec *r, const el_stock_t *stock, el_note_t which, bool there,
                             uint64_t value)
{
    if (stock->note[which]) {
        apr_table_setn(r->notes, stock->note[which],
                       there ? apr_off_t_toa(r->pool, (apr_off_t)value) : "-");
    }
}

void el_stats_stock(request_rec *r, const el_stock_t *stock, el_coding_t coding,
                      const el_usage_t *usage)
{
    uint64_t framing = coding == EL_GZIP ? GZIP_FRAMING : 0;
    uint64_t out = usage->out > framing ? usage->out - framing : 0;

    /* mod_deflate notes nothing of an empty body, and mod_brotli all but the ratio. */
    stats_note_stock(r, stock, EL_NOTE_INPUT, usage->in > 0 || coding != EL_GZIP, usage->in);
    stats_note_stock(r, stock, EL_NOTE_OUTPUT, out > 0, out);
    stats_note_stock(r, stock, EL_NOTE_RATIO, usage->in > 0,
                     usage->in > 0 ? out * 100 / usage->in : 0);
}

void el_stats_precompressed_fault(request_rec *r, el_precompressed_fault_t fault, const char *path,
                                  bool news)
{
    el_counter_t counter = (el_counter_t)(EL_COUNT_PRECOMPRESSED_FAULT + (unsigned)fault);
    /* Another owner may be an attack on other users' responses: warn the operator once. */
    bool warns = news || (fault == EL_PRECOMPRESSED_OWNER
                          && el_counters_total(&el_shared.block->counters, counter) == 0);

    el_shared_count(counter, 1);
    ap_log_rerror(APLOG_MARK, warns ? APLOG_WARNING : APLOG_INFO, 0, r,
                  "elastic: the precompressed file %s is not sent: it is %s%s", path,
                  el_precompressed_fault_texts[fault],
                  news ? "; remove it, or run elastic-precompress again" : "");
}

void el_stats_cache_fault(apr_status_t rv, const char *what)
{
    el_shared_count(EL_COUNT_CACHE_FAULTS, 1);
    if (el_cache_state_may_complain(&el_shared.block->cache, el_clock_sec())) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, ap_server_conf,
                     "elastic: ElasticCacheStore: %s; responses are compressed without it", what);
    }
}

void el_stats_precompressed(request_rec *r, el_coding_t coding, uint64_t in, uint64_t out)
{
    stats_note_body(r, coding, "precompressed", apr_palloc(r->pool, 3 * NUMBER_ROOM),
                    &(el_usage_t){.in = in, .out = out});
    el_shared_count(EL_COUNT_PRECOMPRESSED, 1);
    stats_count_vhost(stats_slot_of(r->server), EL_VHOST_PRECOMPRESSED, 1);
}

/* --- the last hour and today */

/* In µs. */
#define MINUTE 60000000u

/* The number of this minute; larger than the history is long, so that no age goes below 0. */
static uint64_t stats_minute_now(void)
{
    return el_clock_usec() / MINUTE + EL_HISTORY_MINUTES;
}

void el_past_today(uint64_t counts[EL_PAST_COUNTS])
{
    el_counters_t *counters = &el_shared.block->counters;

    counts[EL_PAST_TIME] = el_clock_usec() - atomic_load(&counters->started);
    counts[EL_PAST_IN] = el_counters_total(counters, EL_COUNT_BYTES_IN);
    counts[EL_PAST_OUT] = el_counters_total(counters, EL_COUNT_BYTES_OUT);
    counts[EL_PAST_CPU] = el_counters_cpu_usec(counters)
                          + el_counters_total(counters, EL_COUNT_IMPROVED_NSEC) / 1000;
    for (int i = 0; i < EL_PAST_COUNTS; i++) {
        counts[i] -= atomic_load(&el_shared.block->history.before[i]);
    }
}

void el_past_note(void)
{
    el_control_state_t control = el_state_control(&el_shared.block->state);
    const el_counters_t *counters = &el_shared.block->counters;
    uint64_t load = atomic_load_explicit(&el_shared.block->state.load_ppm, memory_order_relaxed);
    uint64_t today[EL_PAST_COUNTS];
    apr_time_exp_t now;

    if (load == EL_STATE_NO_LOAD) {
        return;
    }
    apr_time_exp_lt(&now, apr_time_now());
    el_past_today(today);
    /* Unique for each day. */
    el_history_begin(&el_shared.block->history,
                     (uint64_t)(now.tm_year * 366 + now.tm_yday + 1), today);
    el_history_add(&el_shared.block->history, stats_minute_now(),
                   (el_history_point_t){
                       .load = (double)load / EL_PPM,
                       .position = control.top ? el_control_position(control) / control.top : 1,
                       .saved = (double)el_counters_total(counters, EL_COUNT_BYTES_IN)
                                - (double)el_counters_total(counters, EL_COUNT_BYTES_OUT),
                   });
}

bool el_past_minute(unsigned age, el_history_point_t *point)
{
    return el_history_get(&el_shared.block->history, stats_minute_now() - age, point);
}
