#include "httpd/status/status_costs.h"

#include "httpd/config/policy.h"
#include "httpd/state/costs.h"

#include "apr_strings.h"
#include "http_protocol.h"

/* A body's length that stands for each class, and the class's name; see cost.h. */
static const struct {
    uint64_t nbytes;
    const char *text;
} classes[EL_SIZE_CLASSES] = {
    {1024, "up to 2 KB"},        {4096, "2 to 8 KB"},          {16384, "8 to 32 KB"},
    {65536, "32 to 128 KB"},     {300 * 1024, "over 128 KB"},
};

static el_cost_row_t row_of(el_coding_t coding, int level)
{
    el_cost_row_t row = {.coding = coding, .level = level};

    for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
        el_setup_t setup = {.level = level, .size_hint = classes[c].nbytes};

        row.cost[c] = el_costs_expect(coding, &setup, true);
        row.measured[c] = el_costs_age(coding, &setup) < EL_ESTIMATE_FADE;
    }
    return row;
}

apr_array_header_t *el_status_costs(apr_pool_t *pool)
{
    apr_array_header_t *rows = apr_array_make(pool, 32, sizeof(el_cost_row_t));
    const el_range_t *range = el_policy_ranges();

    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        for (int level = range[coding].min;
             range[coding].enabled && level <= range[coding].max; level++) {
            *(el_cost_row_t *)apr_array_push(rows) = row_of((el_coding_t)coding, level);
        }
    }
    return rows;
}

const char *el_status_costs_value(apr_pool_t *pool, const el_cost_row_t *row)
{
    const char *value = "";

    for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
        value = apr_psprintf(pool, "%s%s%u/%.1f", value, c ? " " : "", row->cost[c].nsec,
                             row->cost[c].size / 100.);
    }
    return value;
}

void el_status_costs_write(request_rec *r)
{
    const apr_array_header_t *rows = el_status_costs(r->pool);

    ap_rputs("<h2>What setups cost</h2>\n"
             "<p>CPU time per KB of a body, and what is left of it, by the body's size. "
             "<b>Bold</b> was measured here of late; the rest is derived from built-in costs.</p>\n"
             "<table>\n<tr><th scope=\"col\">Setup</th>",
             r);
    for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
        ap_rprintf(r, "<th scope=\"col\">%s</th>", classes[c].text);
    }
    ap_rputs("</tr>\n", r);
    for (int i = 0; i < rows->nelts; i++) {
        const el_cost_row_t *row = &APR_ARRAY_IDX(rows, i, el_cost_row_t);

        ap_rprintf(r, "<tr><th scope=\"row\">%s %d</th>", el_coding_info(row->coding)->token,
                   row->level);
        for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
            const char *tag = row->measured[c] ? "b" : "span";

            ap_rprintf(r, "<td><%s>%.1f µs, %.1f %%</%s></td>", tag, row->cost[c].nsec / 1000.,
                       row->cost[c].size / 100., tag);
        }
        ap_rputs("</tr>\n", r);
    }
    ap_rputs("</table>\n", r);
}
