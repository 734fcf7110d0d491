#include "httpd/status/page.h"

#include "httpd/status/figures.h"
#include "httpd/status/page_parts.h"

#include "http_protocol.h"

/* Nothing but what the page itself refers to, and nobody else's page around it. */
static const char policy[] = "default-src 'none'; style-src 'self'; script-src 'self'; "
                             "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'self'";

static const char style[] =
    ":root { color-scheme: light dark; --line: #ccc; --load: #b3261e; --position: #1558b0 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --line: #555; --load: #ff8a80; --position: #8ab4f8 }\n"
    "}\n"
    "body { font-family: sans-serif; line-height: 1.4; margin: 1em auto; max-width: 60em;"
    " padding: 0 1em }\n"
    "h2 { font-size: 1.1em; margin: 1.5em 0 .5em }\n"
    ".saved p { margin: 0 }\n"
    ".saved + table { margin-top: 1em }\n"
    ".large { font-size: 2em }\n"
    ".warnings { border: 2px solid var(--load); padding: 0 1em }\n"
    ".warnings h2 { margin-top: .5em }\n"
    "figure { margin: 0 }\n"
    "svg { display: block; height: 9em; width: 100% }\n"
    "polyline, path { fill: none; vector-effect: non-scaling-stroke }\n"
    "path { stroke: var(--line) }\n"
    "polyline { stroke-width: 2 }\n"
    "polyline.load { stroke: var(--load) }\n"
    "polyline.position { stroke: var(--position); stroke-dasharray: 6 3 }\n"
    "span.load { color: var(--load) }\n"
    "span.position { color: var(--position) }\n"
    "section, details { overflow-x: auto }\n"
    "table { border-collapse: collapse; width: 100% }\n"
    "th { font-weight: normal; text-align: left }\n"
    "td, thead th + th { text-align: right }\n"
    "th, td { border-bottom: 1px solid var(--line); padding: .25em .75em .25em 0 }\n"
    "th, code { overflow-wrap: anywhere }\n"
    "@media (max-width: 40em) {\n"
    "  table { font-size: .8em }\n"
    "  th, td { padding-right: .4em }\n"
    "}\n"
    "dt { font-weight: bold }\n"
    "dt:target { text-decoration: underline }\n";

/*
 * Brings the page up to date while it is seen, and nobody selects, follows or reads along in it.
 * A link to a reason opens what lies closed around it.
 */
static const char script[] =
    "const open = () => document.getElementById(location.hash.slice(1))\n"
    "  ?.closest('details')?.setAttribute('open', '');\n"
    "const refresh = async () => {\n"
    "  const shown = document.querySelector('main');\n"
    "  if (document.hidden || shown.contains(document.activeElement) || String(getSelection())\n"
    "      || shown.querySelector('details[open]')) {\n"
    "    return;\n"
    "  }\n"
    "  const answer = await fetch(location.pathname, { cache: 'no-store' });\n"
    "  if (answer.ok) {\n"
    "    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');\n"
    "    shown.replaceWith(page.querySelector('main'));\n"
    "  }\n"
    "};\n"
    "addEventListener('hashchange', open);\n"
    "open();\n"
    "setInterval(() => refresh().catch(() => {}), 10000);\n";

bool el_page_answer_part(request_rec *r, const char *name)
{
    static const struct {
        const char *name;
        const char *type;
        const char *text;
    } parts[] = {
        {"style", "text/css; charset=utf-8", style},
        {"script", "text/javascript; charset=utf-8", script},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(name, parts[i].name) == 0) {
            ap_set_content_type(r, parts[i].type);
            ap_rputs(parts[i].text, r);
            return true;
        }
    }
    return false;
}

/* What the figures are of, in the page's order: by the first row that has the beginning of a key. */
static const struct {
    const char *title;
    const char *keys[2];
} sections[] = {
    {"The store of encodings", {"ElasticCache", "ElasticImproved"}},
    {"Dictionaries", {"ElasticDictionar", "ElasticDifference"}},
    {"Other figures", {""}},
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static size_t section_of(const el_figure_t *figure)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        for (size_t k = 0; k < 2 && sections[i].keys[k]; k++) {
            if (strncmp(figure->key, sections[i].keys[k], strlen(sections[i].keys[k])) == 0) {
                return i;
            }
        }
    }
    return SECTIONS - 1;
}

/* Whether anything was counted there. */
static bool is_used(const apr_array_header_t *figures, size_t section)
{
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (section_of(figure) == section && strcmp(figure->value, "0") != 0) {
            return true;
        }
    }
    return false;
}

static void write_figure(request_rec *r, const el_figure_t *figure)
{
    ap_rprintf(r, "<tr><th scope=\"row\">%s</th><td>%s</td><td><code>%s</code></td></tr>\n",
               ap_escape_html(r->pool, figure->text), ap_escape_html(r->pool, figure->value),
               figure->key);
}

void el_page_write_figures(request_rec *r, const apr_array_header_t *figures)
{
    ap_rputs("<table>\n", r);
    for (int i = 0; i < figures->nelts; i++) {
        write_figure(r, &APR_ARRAY_IDX(figures, i, el_figure_t));
    }
    ap_rputs("</table>\n", r);
}

static void write_sections(request_rec *r, const apr_array_header_t *figures)
{
    for (size_t section = 0; section < SECTIONS; section++) {
        if (!is_used(figures, section)) {
            continue;
        }
        ap_rprintf(r, "<section>\n<h2>%s</h2>\n<table>\n", sections[section].title);
        for (int i = 0; i < figures->nelts; i++) {
            const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

            if (section_of(figure) == section) {
                write_figure(r, figure);
            }
        }
        ap_rputs("</table>\n</section>\n", r);
    }
}

void el_page_write_costs(request_rec *r)
{
    static const char *const classes[EL_SIZE_CLASSES] = {
        "up to 2 KB", "2 to 8 KB", "8 to 32 KB", "32 to 128 KB", "over 128 KB",
    };
    const apr_array_header_t *rows = el_cost_rows(r->pool);

    ap_rputs("<h2>What setups cost</h2>\n"
             "<p>CPU time per KB of a body, and what is left of it, by the body's size. "
             "<b>Bold</b> was measured here of late; the rest is derived from built-in costs.</p>\n"
             "<table>\n<tr><th scope=\"col\">Setup</th>",
             r);
    for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
        ap_rprintf(r, "<th scope=\"col\">%s</th>", classes[c]);
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

void el_page_answer(request_rec *r, const apr_array_header_t *figures)
{
    ap_set_content_type(r, "text/html; charset=utf-8");
    apr_table_setn(r->headers_out, "Content-Security-Policy", policy);
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    ap_rputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>mod_elastic</title>\n<link rel=\"stylesheet\" href=\"?style\">\n"
             "<script src=\"?script\" defer></script>\n"
             "</head>\n<body>\n<h1>mod_elastic</h1>\n<main>\n",
             r);
    el_page_write_warnings(r);
    el_page_write_saved(r);
    el_page_write_hour(r);
    el_page_write_codings(r);
    el_page_write_reasons(r);
    el_page_write_vhosts(r);
    write_sections(r, figures);
    ap_rputs("<section>\n", r);
    el_page_write_costs(r);
    ap_rputs("</section>\n</main>\n<p>For programs: <a href=\"?auto\">lines</a>, "
             "<a href=\"?json\">JSON</a>, <a href=\"?openmetrics\">metrics</a>.</p>\n"
             "</body>\n</html>\n",
             r);
}
