#include "httpd/status/status.h"

#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/status/figures.h"
#include "httpd/status/page.h"

#include "ap_expr.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "mod_status.h"

EL_USE_LOG;

#define PREFIX "elastic-"
#define STATUS PREFIX "status"
#define METRICS PREFIX "metrics"

/*
 * The SetHandler directives of the server's own configuration, by the pointers to what httpd has
 * parsed them into: merges copy those, and .htaccess brings pointers of its own. Of pconf.
 */
static apr_hash_t *configured;

static void collect_handlers(const core_dir_config *dir);

/* Those of sections, each of which may have others within. */
static void collect_sections(const apr_array_header_t *sections)
{
    for (int i = 0; sections && i < sections->nelts; i++) {
        collect_handlers(
            ap_get_core_module_config(APR_ARRAY_IDX(sections, i, ap_conf_vector_t *)));
    }
}

static void collect_handlers(const core_dir_config *dir)
{
    if (dir->expr_handler) {
        apr_hash_set(configured, apr_pmemdup(apr_hash_pool_get(configured), &dir->expr_handler,
                                             sizeof(dir->expr_handler)),
                     sizeof(dir->expr_handler), dir);
    }
    collect_sections(dir->sec_file);
    collect_sections(dir->sec_if);
}

void el_status_configure(server_rec *main_server, apr_pool_t *pconf)
{
    configured = apr_hash_make(pconf);
    for (server_rec *server = main_server; server; server = server->next) {
        const core_server_config *core = ap_get_core_module_config(server->module_config);

        collect_handlers(ap_get_core_module_config(server->lookup_defaults));
        collect_sections(core->sec_dir);
        collect_sections(core->sec_url);
    }
}

/*
 * Whether a SetHandler of the server's own configuration has chosen the request's handler. A tenant
 * could by any other way: AddHandler, RewriteRule, or SetHandler in a .htaccess.
 */
static bool is_configured(request_rec *r)
{
    const core_dir_config *dir = ap_get_core_module_config(r->per_dir_config);
    const char *error, *name;

    if (!dir->expr_handler
        || !apr_hash_get(configured, &dir->expr_handler, sizeof(dir->expr_handler))) {
        return false;
    }
    name = ap_expr_str_exec(r, dir->expr_handler, &error);
    return !error && strcasecmp(name, r->handler) == 0;
}

/* --- metrics */

/* What the format, which knows no infos, calls a kind, and what the names of samples end with. */
static const struct {
    const char *type;
    const char *suffix;
} kinds[] = {
    [EL_METRIC_GAUGE] = {"gauge", ""},
    [EL_METRIC_COUNTER] = {"counter", "_total"},
    [EL_METRIC_HISTOGRAM] = {"histogram", ""},
    [EL_METRIC_INFO] = {"gauge", "_info"},
};

static void write_family(request_rec *r, const el_family_t *family)
{
    const char *suffix = kinds[family->kind].suffix;

    ap_rprintf(r, "# HELP %s%s %s\n", family->name, suffix, family->help);
    ap_rprintf(r, "# TYPE %s%s %s\n", family->name, suffix, kinds[family->kind].type);
}

/*
 * As it stands between a label's quotes. Metrics are UTF-8; the names of virtual hosts are ASCII,
 * or nobody can ask for them.
 */
static const char *escaped(apr_pool_t *pool, const char *value)
{
    char *text = apr_palloc(pool, 2 * strlen(value) + 1), *to = text;

    for (; *value; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            *to++ = '\\';
        }
        *to++ = *value == '\n' ? 'n' : (unsigned char)*value < 0x80 ? *value : '?';
    }
    *to = '\0';
    return text;
}

static const char *label_of(request_rec *r, const el_figure_t *figure)
{
    const char *value = figure->label_value ? figure->label_value : figure->value;

    return apr_psprintf(r->pool, "%s=\"%s\"", figure->label, escaped(r->pool, value));
}

/*
 * The family that begins with the figure `i`; the number of the one behind it. The figures of an
 * info are the labels of its one sample.
 */
static int write_figures(request_rec *r, const apr_array_header_t *figures, int i)
{
    const el_family_t *family = APR_ARRAY_IDX(figures, i, el_figure_t).family;
    const char *suffix = kinds[family->kind].suffix;
    bool is_info = family->kind == EL_METRIC_INFO;

    write_family(r, family);
    if (is_info) {
        ap_rprintf(r, "%s%s{", family->name, suffix);
    }
    for (int first = i; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (figure->family != family) {
            break;
        }
        if (is_info) {
            ap_rprintf(r, "%s%s", i > first ? "," : "", label_of(r, figure));
        } else if (figure->label) {
            ap_rprintf(r, "%s%s{%s} %s\n", family->name, suffix, label_of(r, figure),
                       figure->sample);
        } else {
            ap_rprintf(r, "%s%s %s\n", family->name, suffix, figure->sample);
        }
    }
    if (is_info) {
        ap_rputs("} 1\n", r);
    }
    return i;
}

static void write_histogram(request_rec *r, const el_family_t *family, el_tally_kind_t kind,
                            el_coding_t coding)
{
    const el_tally_bound_t *bounds = el_tally_bounds(kind);
    const char *label = apr_psprintf(r->pool, "coding=\"%s\"", el_coding_info(coding)->token);
    el_tally_total_t total;
    uint64_t count = 0;

    el_tally_read(&el_shared.block->tally, coding, kind, &total);
    for (size_t class = 0; class <= EL_TALLY_BOUNDS; class++) {
        count += total.count[class];
        ap_rprintf(r, "%s_bucket{%s,le=\"%s\"} %" APR_UINT64_T_FMT "\n", family->name, label,
                   class < EL_TALLY_BOUNDS ? bounds[class].text : "+Inf", count);
    }
    ap_rprintf(r, "%s_count{%s} %" APR_UINT64_T_FMT "\n", family->name, label, count);
    ap_rprintf(r, "%s_sum{%s} %.15g\n", family->name, label,
               (double)total.sum / el_tally_scale(kind));
}

/* What a histogram is of is in its name, so that a query needs no label for it. */
static void write_histograms(request_rec *r)
{
    static const el_family_t families[EL_TALLY_KINDS] = {
        [EL_TALLY_TIME] = {"elastic_encoding_seconds", EL_METRIC_HISTOGRAM,
                           "Time elapsed in the encoder"},
        [EL_TALLY_SIZE] = {"elastic_body_size_bytes", EL_METRIC_HISTOGRAM,
                           "Bodies before they were encoded"},
    };

    for (int kind = 0; kind < EL_TALLY_KINDS; kind++) {
        write_family(r, &families[kind]);
        for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
            write_histogram(r, &families[kind], (el_tally_kind_t)kind, (el_coding_t)coding);
        }
    }
}

/* By what made the encoding. */
static void write_made(request_rec *r)
{
    static const el_family_t families[EL_TALLY_COUNTS] = {
        [EL_TALLY_RESPONSES] = {"elastic_coding_responses", EL_METRIC_COUNTER,
                                "Encoded responses, by coding and what made the encoding"},
        [EL_TALLY_IN] = {"elastic_coding_input_bytes", EL_METRIC_COUNTER,
                         "Bodies of encoded responses, before, by coding and what made it"},
        [EL_TALLY_OUT] = {"elastic_coding_output_bytes", EL_METRIC_COUNTER,
                          "Bodies of encoded responses, after, by coding and what made it"},
    };

    for (int which = 0; which < EL_TALLY_COUNTS; which++) {
        write_family(r, &families[which]);
        for (int i = 0; i < EL_TALLY_SERIES_COUNT; i++) {
            el_tally_series_t series = (el_tally_series_t)i;
            const el_tally_series_info_t *info = el_tally_info(series);

            ap_rprintf(r, "%s_total{coding=\"%s\",engine=\"%s\"} %" APR_UINT64_T_FMT "\n",
                       families[which].name, el_coding_info(info->coding)->token, info->engine,
                       el_tally_made(&el_shared.block->tally, series, (el_tally_count_t)which));
        }
    }
}

static void write_vhosts(request_rec *r)
{
    static const struct {
        el_vhost_count_t count;
        el_family_t family;
    } rows[] = {
        {EL_VHOST_COMPRESSED, {"elastic_vhost_compressed_responses", EL_METRIC_COUNTER,
                               "Responses that went out compressed, by virtual host"}},
        {EL_VHOST_UNCOMPRESSED, {"elastic_vhost_uncompressed_responses", EL_METRIC_COUNTER,
                                 "Responses that were not compressed, by virtual host"}},
        {EL_VHOST_PRECOMPRESSED, {"elastic_vhost_precompressed_responses", EL_METRIC_COUNTER,
                                  "Responses served from precompressed files, by virtual host"}},
        {EL_VHOST_BYTES_IN, {"elastic_vhost_input_bytes", EL_METRIC_COUNTER,
                             "Bodies of compressed responses, before, by virtual host"}},
        {EL_VHOST_BYTES_OUT, {"elastic_vhost_output_bytes", EL_METRIC_COUNTER,
                              "Bodies of compressed responses, after, by virtual host"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_family(r, &rows[i].family);
        for (unsigned slot = 0; slot <= EL_VHOST_OTHER; slot++) {
            const char *name = el_vhosts_name(slot);

            if (name) {
                ap_rprintf(r, "%s_total{vhost=\"%s\"} %" APR_UINT64_T_FMT "\n",
                           rows[i].family.name, escaped(r->pool, name),
                           el_vhosts_total(&el_shared.block->vhosts, slot, rows[i].count));
            }
        }
    }
}

/* Answers with all metrics in Prometheus's text format 0.0.4. */
static void answer_metrics(request_rec *r)
{
    const apr_array_header_t *figures = el_figures(r->pool);
    int i = 0;

    ap_set_content_type(r, "text/plain; version=0.0.4; charset=utf-8");
    while (i < figures->nelts) {
        i = APR_ARRAY_IDX(figures, i, el_figure_t).family ? write_figures(r, figures, i) : i + 1;
    }
    write_vhosts(r);
    write_made(r);
    write_histograms(r);
}

/* --- the other forms */

static void write_lines(request_rec *r, apr_array_header_t *figures)
{
    el_figures_add_costs(figures);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        ap_rprintf(r, "%s: %s\n", figure->key, figure->value);
    }
}

/* Keys and values hold nothing that JSON would have escaped. */
static void write_json(request_rec *r, apr_array_header_t *figures)
{
    el_figures_add_costs(figures);
    ap_rputs("{", r);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);
        const char *quote = figure->number ? "" : "\"";

        ap_rprintf(r, "%s\n  \"%s\": %s%s%s", i ? "," : "", figure->key, quote, figure->value,
                   quote);
    }
    ap_rputs("\n}\n", r);
}

/* What a query asks for in place of the page. */
static void answer_status(request_rec *r)
{
    const char *query = r->args ? r->args : "";

    if (strcmp(query, "openmetrics") == 0) {
        answer_metrics(r);
    } else if (strcmp(query, "auto") == 0) {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        write_lines(r, el_figures(r->pool));
    } else if (strcmp(query, "json") == 0) {
        ap_set_content_type(r, "application/json");
        write_json(r, el_figures(r->pool));
    } else {
        el_page_answer(r, el_figures(r->pool));
    }
}

EL_RARE static int answer(request_rec *r)
{
    bool is_metrics = strcmp(r->handler, METRICS) == 0;

    if (!is_metrics && strcmp(r->handler, STATUS) != 0) {
        return DECLINED;
    }
    if (!is_configured(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      "elastic: %s: the handler %s answers only where SetHandler names it in the "
                      "server's own configuration, not in .htaccess and not by other directives",
                      r->uri, r->handler);
        return HTTP_FORBIDDEN;
    }
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET) {
        return DECLINED;
    }
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    if (is_metrics) {
        answer_metrics(r);
    } else {
        answer_status(r);
    }
    return OK;
}

/* Every response asks this; most handlers' names differ in the first letter. */
int el_status_handler(request_rec *r)
{
    return r->handler && *r->handler == *PREFIX && strncmp(r->handler, PREFIX, strlen(PREFIX)) == 0
               ? answer(r) : DECLINED;
}

int el_status_section(request_rec *r, int flags)
{
    apr_array_header_t *figures = el_figures(r->pool);

    if (flags & AP_STATUS_SHORT) {
        write_lines(r, figures);
    } else {
        ap_rputs("<hr>\n<h2>mod_elastic</h2>\n", r);
        el_page_write_figures(r, figures, "");
    }
    return OK;
}
