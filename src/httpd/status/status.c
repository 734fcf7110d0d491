#include "httpd/status/status.h"

#include "httpd/config/policy.h"
#include "httpd/state/shared.h"
#include "httpd/status/status_costs.h"
#include "httpd/control/timer.h"

#include "elastic/engine.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"
#include "mod_status.h"

#define HANDLER_NAME "elastic-status"

/* Micros of a second, or of a share. */
#define MILLION 1000000.

/* Room for the names and versions of all engines. */
#define ENGINES_SIZE 256

typedef struct {
    const char *key;
    const char *value;
    const char *text; /* for people */
    bool number;
} figure_t;

typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *figures;
} list_t;

static void add(list_t *list, const char *key, const char *text, bool is_number, const char *value)
{
    *(figure_t *)apr_array_push(list->figures) = (figure_t){key, value, text, is_number};
}

static void add_count(list_t *list, const char *key, const char *text, uint64_t value)
{
    add(list, key, text, true, apr_psprintf(list->pool, "%" APR_UINT64_T_FMT, value));
}

static void add_share(list_t *list, const char *key, const char *text, double value)
{
    add(list, key, text, true, apr_psprintf(list->pool, "%.3f", value));
}

static const char *control_word(void)
{
    static const char *const words[] = {
        [EL_CONTROL_STEP] = "step",
        [EL_CONTROL_MIX] = "mix",
        [EL_CONTROL_PREDICT] = "predict",
        [EL_CONTROL_OFF] = "off",
    };

    return el_shared.position ? "external" : words[el_shared.control.mode];
}

static void add_controller(list_t *list)
{
    const el_control_config_t *config = &el_shared.control;
    const el_state_t *state = el_shared.state;
    el_control_state_t control = el_state_control(state);
    uint64_t load = atomic_load_explicit(&state->load_ppm, memory_order_relaxed);

    add(list, "ElasticControl", "Controller", false, control_word());
    if (el_shared.position) {
        add_count(list, "ElasticFollows", "Follows the position file",
                  atomic_load(&state->source) == EL_SOURCE_FILE);
    }
    add(list, "ElasticLoad", "Load", false, apr_pstrdup(list->pool, el_timer_load()));
    /* Always a number, for programs: ElasticSamples tells whether there was a sample. */
    add_share(list, "ElasticCPU", "CPU load, last sample",
              load == EL_STATE_NO_LOAD ? 0 : (double)load / EL_PPM);
    add_share(list, "ElasticCPULow", "Effort goes up below", config->low);
    add_share(list, "ElasticCPUHigh", "Effort goes down above", config->high);
    add_count(list, "ElasticInterval", "Between samples, ms", el_shared.interval / 1000);
    add_count(list, "ElasticSamples", "Samples", atomic_load(&state->samples));
    add_count(list, "ElasticSteps", "Changes of the position", atomic_load(&state->steps));
    add_share(list, "ElasticPosition", "Position, 0 the floor, 1 the ceiling",
              control.top ? el_control_position(control) / control.top : 1);
}

static void add_levels(list_t *list, const server_rec *main_server)
{
    static const struct {
        el_coding_t coding;
        const char *key;
        const char *text;
    } rows[] = {
        {EL_GZIP, "ElasticLevelGzip", "Level of gzip"},
        {EL_BR, "ElasticLevelBr", "Level of br"},
        {EL_ZSTD, "ElasticLevelZstd", "Level of zstd"},
    };
    el_control_state_t control = el_state_control(el_shared.state);
    el_range_t ranges[EL_CODINGS];

    el_policy_ranges(main_server, ranges);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* A coding that is not used has the level 0. */
        add_count(list, rows[i].key, rows[i].text,
                  (uint64_t)el_shared_level(ranges[rows[i].coding]));
    }
    add_count(list, "ElasticBypass", "Bypass (1: nothing is compressed)", control.bypass);
}

static void add_counters(list_t *list)
{
    const el_counters_t *counters = el_shared.counters;

    add_count(list, "ElasticCompressed", "Compressed responses",
              el_counters_total(counters, EL_COUNT_COMPRESSED));
    add_count(list, "ElasticBytesIn", "Their bytes before",
              el_counters_total(counters, EL_COUNT_BYTES_IN));
    add_count(list, "ElasticBytesOut", "Their bytes after",
              el_counters_total(counters, EL_COUNT_BYTES_OUT));
    add_count(list, "ElasticCpuUsec", "CPU time in the encoders, µs",
              (uint64_t)el_work_usec(el_counters_work(counters)));
    add_count(list, "ElasticPrecompressed", "Responses served from siblings",
              el_counters_total(counters, EL_COUNT_PRECOMPRESSED));
    add_count(list, "ElasticProbes", "Probes of content that compresses badly",
              el_counters_total(counters, EL_COUNT_PROBES));
    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        add_count(list, apr_pstrcat(list->pool, "ElasticSkipped-", el_reason_note(reason), NULL),
                  apr_pstrcat(list->pool, "Not compressed: ", el_reason_text(reason), NULL),
                  el_counters_total(counters, (el_counter_t)(EL_COUNT_SKIPPED + reason)));
    }
}

static apr_array_header_t *figures_of(request_rec *r)
{
    list_t list = {r->pool, apr_array_make(r->pool, 48, sizeof(figure_t))};
    uint64_t started = atomic_load(&el_shared.counters->started);
    uint64_t now = el_shared_now();

    add(&list, "ElasticVersion", "mod_elastic", false, ELASTIC_VERSION);
    add(&list, "ElasticEngines", "Built in", false,
        el_engine_list(apr_palloc(r->pool, ENGINES_SIZE), ENGINES_SIZE));
    add_count(&list, "ElasticUptime", "Running for, s",
              now > started ? (uint64_t)((double)(now - started) / MILLION) : 0);
    add_controller(&list);
    add_levels(&list, ap_server_conf);
    add_counters(&list);
    return list.figures;
}

/* For programs; people get a table. */
static void add_costs(request_rec *r, apr_array_header_t *figures)
{
    const apr_array_header_t *rows = el_status_costs(r->pool, ap_server_conf);
    list_t list = {r->pool, figures};

    for (int i = 0; i < rows->nelts; i++) {
        const el_cost_row_t *row = &APR_ARRAY_IDX(rows, i, el_cost_row_t);

        add(&list,
            apr_psprintf(r->pool, "ElasticCost-%s-%d", el_coding_info(row->coding)->token,
                         row->level),
            "", false, el_status_costs_value(r->pool, row));
    }
}

static void write_lines(request_rec *r, apr_array_header_t *figures)
{
    add_costs(r, figures);
    for (int i = 0; i < figures->nelts; i++) {
        const figure_t *figure = &APR_ARRAY_IDX(figures, i, figure_t);

        ap_rprintf(r, "%s: %s\n", figure->key, figure->value);
    }
}

/* Keys and values hold nothing that JSON would have escaped. */
static void write_json(request_rec *r, apr_array_header_t *figures)
{
    add_costs(r, figures);
    ap_rputs("{", r);
    for (int i = 0; i < figures->nelts; i++) {
        const figure_t *figure = &APR_ARRAY_IDX(figures, i, figure_t);
        const char *quote = figure->number ? "" : "\"";

        ap_rprintf(r, "%s\n  \"%s\": %s%s%s", i ? "," : "", figure->key, quote, figure->value,
                   quote);
    }
    ap_rputs("\n}\n", r);
}

static void write_table(request_rec *r, const apr_array_header_t *figures)
{
    ap_rputs("<table>\n", r);
    for (int i = 0; i < figures->nelts; i++) {
        const figure_t *figure = &APR_ARRAY_IDX(figures, i, figure_t);

        ap_rprintf(r, "<tr><th scope=\"row\">%s</th><td>%s</td><td><code>%s</code></td></tr>\n",
                   ap_escape_html(r->pool, figure->text), ap_escape_html(r->pool, figure->value),
                   figure->key);
    }
    ap_rputs("</table>\n", r);
}

static void write_page(request_rec *r, const apr_array_header_t *figures)
{
    ap_rputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>mod_elastic</title>\n<style>\n"
             "body { font-family: sans-serif; margin: 1em auto; max-width: 60em; padding: 0 1em }\n"
             "th { font-weight: normal; text-align: left } td { text-align: right }\n"
             "th, td { border-bottom: 1px solid #ddd; padding: .25em .75em .25em 0 }\n"
             "</style>\n</head>\n<body>\n<h1>mod_elastic</h1>\n",
             r);
    write_table(r, figures);
    el_status_costs_write(r, ap_server_conf);
    ap_rputs("<p>For programs: <a href=\"?auto\">lines</a>, <a href=\"?json\">JSON</a>.</p>\n"
             "</body>\n</html>\n",
             r);
}

/* Every response asks this; most handlers' names differ in the first letter. */
static bool is_status(const char *handler)
{
    return handler && *handler == *HANDLER_NAME && strcmp(handler, HANDLER_NAME) == 0;
}

EL_RARE static int answer(request_rec *r)
{
    const char *query = r->args ? r->args : "";
    apr_array_header_t *figures;

    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET) {
        return DECLINED;
    }
    figures = figures_of(r);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    if (strcmp(query, "auto") == 0) {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        write_lines(r, figures);
    } else if (strcmp(query, "json") == 0) {
        ap_set_content_type(r, "application/json");
        write_json(r, figures);
    } else {
        ap_set_content_type(r, "text/html; charset=utf-8");
        write_page(r, figures);
    }
    return OK;
}

int el_status_handler(request_rec *r)
{
    return is_status(r->handler) ? answer(r) : DECLINED;
}

int el_status_section(request_rec *r, int flags)
{
    apr_array_header_t *figures = figures_of(r);

    if (flags & AP_STATUS_SHORT) {
        write_lines(r, figures);
    } else {
        ap_rputs("<hr>\n<h2>mod_elastic</h2>\n", r);
        write_table(r, figures);
        el_status_costs_write(r, ap_server_conf);
    }
    return OK;
}
