#include "httpd/status/page_saved.h"

#include "httpd/state/past.h"
#include "httpd/state/shared.h"
#include "httpd/status/page_parts.h"

#include "apr_strings.h"
#include "http_protocol.h"

#include <math.h>

static void write_bytes(request_rec *r, const char *when, const el_savings_t *savings)
{
    uint64_t saved = savings->in > savings->out ? savings->in - savings->out : 0;

    ap_rprintf(r,
               "<div><h2>Saved %s</h2><p class=\"large\">%s</p><p>%.0f %% of %s, in "
               "%" APR_UINT64_T_FMT " responses; %" APR_UINT64_T_FMT
               " more from precompressed files</p></div>\n",
               when, el_page_bytes(r->pool, saved),
               savings->in ? 100. * (double)saved / (double)savings->in : 0,
               el_page_bytes(r->pool, savings->in), savings->responses, savings->precompressed);
}

/* Differences: the word has the sign. */
static const char *bytes_less(apr_pool_t *pool, double nbytes)
{
    return apr_psprintf(pool, "%s %s", el_page_bytes(pool, (uint64_t)fabs(nbytes)),
                        nbytes < 0 ? "more" : "less");
}

static const char *time_less(apr_pool_t *pool, double usec)
{
    return apr_psprintf(pool, "%.2f s %s", fabs(usec) / 1e6, usec < 0 ? "more" : "less");
}

static const char *money_less(apr_pool_t *pool, double money)
{
    return apr_psprintf(pool, fabs(money) < 0.1 ? "%.4f %s" : "%.2f %s", fabs(money),
                        money < 0 ? "more" : "less");
}

static void write_row(request_rec *r, const char *name, const char *today, const char *ever)
{
    ap_rprintf(r, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td></tr>\n", name, today, ever);
}

static const char *seconds(apr_pool_t *pool, const el_savings_t *savings)
{
    return apr_psprintf(pool, "%.2f s", (savings->encoding_usec + savings->beside_usec) / 1e6);
}

static void write_money(request_rec *r, const el_savings_t *today, const el_savings_t *ever)
{
    const el_goal_t *goal = &el_shared.config.control.goal;
    el_savings_money_t since = el_savings_money(today, goal), all = el_savings_money(ever, goal);

    write_row(r, "Money, against no compression", money_less(r->pool, since.plain),
              money_less(r->pool, all.plain));
    write_row(r, "Money, against mod_deflate 6", money_less(r->pool, since.stock),
              money_less(r->pool, all.stock));
}

static void write_comparison(request_rec *r, const el_savings_t *today, const el_savings_t *ever)
{
    const el_goal_t *goal = &el_shared.config.control.goal;
    bool has_prices = el_goal_has_prices(goal);

    ap_rputs("<table>\n<thead><tr><th scope=\"col\">What it took</th><th scope=\"col\">Today</th>"
             "<th scope=\"col\">Since the start</th></tr></thead>\n<tbody>\n", r);
    write_row(r, "CPU time", seconds(r->pool, today), seconds(r->pool, ever));
    write_row(r, "CPU time, against mod_deflate 6", time_less(r->pool, el_savings_cpu(today)),
              time_less(r->pool, el_savings_cpu(ever)));
    write_row(r, "Bytes, against mod_deflate 6", bytes_less(r->pool, el_savings_bytes(today)),
              bytes_less(r->pool, el_savings_bytes(ever)));
    if (has_prices) {
        write_money(r, today, ever);
    }
    ap_rputs("</tbody>\n</table>\n", r);
    if (has_prices) {
        ap_rprintf(r, "<p>Prices: %.4f for an hour of a core, %.4f for a GB sent (ElasticGoal).</p>\n",
                   goal->per_core_hour, goal->per_gbyte);
    } else {
        ap_rputs("<p>No money is shown: <code>ElasticGoal cost PRICE/h PRICE/GB</code> would give "
                 "prices.</p>\n", r);
    }
}

void el_page_write_saved(request_rec *r)
{
    el_savings_t today = el_past_today(), ever = el_past_ever();

    ap_rputs("<section>\n<div class=\"saved\">\n", r);
    write_bytes(r, "today", &today);
    write_bytes(r, "since the start", &ever);
    ap_rputs("</div>\n", r);
    write_comparison(r, &today, &ever);
    ap_rputs("</section>\n", r);
}
