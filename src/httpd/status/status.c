#include "httpd/status/status.h"

#include "httpd/status/figure_list.h"
#include "httpd/status/figures.h"
#include "httpd/status/metrics.h"
#include "httpd/status/page.h"
#include "httpd/status/status_costs.h"

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
 * The SetHandler directives of the server's own configuration, by the pointers to what httpd has parsed
 * them into: merges copy those, and .htaccess brings pointers of its own. Of pconf.
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

/* For programs; people get a table. */
static void add_costs(request_rec *r, apr_array_header_t *figures)
{
    const apr_array_header_t *rows = el_status_costs(r->pool);

    for (int i = 0; i < rows->nelts; i++) {
        const el_cost_row_t *row = &APR_ARRAY_IDX(rows, i, el_cost_row_t);

        *(el_figure_t *)apr_array_push(figures) = (el_figure_t){
            .key = apr_psprintf(r->pool, "ElasticCost-%s-%d", el_coding_info(row->coding)->token,
                                row->level),
            .value = el_status_costs_value(r->pool, row),
        };
    }
}

static void write_lines(request_rec *r, apr_array_header_t *figures)
{
    add_costs(r, figures);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        ap_rprintf(r, "%s: %s\n", figure->key, figure->value);
    }
}

/* Keys and values hold nothing that JSON would have escaped. */
static void write_json(request_rec *r, apr_array_header_t *figures)
{
    add_costs(r, figures);
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
        el_metrics_answer(r);
    } else if (strcmp(query, "auto") == 0) {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        write_lines(r, el_figures(r->pool));
    } else if (strcmp(query, "json") == 0) {
        ap_set_content_type(r, "application/json");
        write_json(r, el_figures(r->pool));
    } else if (!el_page_answer_part(r, query)) {
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
        el_metrics_answer(r);
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
        el_page_write_figures(r, figures);
        el_status_costs_write(r);
    }
    return OK;
}
