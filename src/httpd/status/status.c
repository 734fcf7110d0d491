#include "httpd/status/status.h"

#include "httpd/status/figure_list.h"
#include "httpd/status/figures.h"
#include "httpd/status/metrics.h"
#include "httpd/status/page.h"
#include "httpd/status/status_costs.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "mod_status.h"

#define PREFIX "elastic-"
#define STATUS PREFIX "status"
#define METRICS PREFIX "metrics"

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
