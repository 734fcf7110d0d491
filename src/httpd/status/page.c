#include "httpd/status/page.h"

#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/status/figures.h"

#include "elastic/decide.h"
#include "host/clock.h"

#include "apr_strings.h"
#include "http_protocol.h"

#include <math.h>

/* µs after a start for which nothing is missed that takes some samples to come. */
#define STARTING 60000000u

/* The drawing: a step for each minute, and the height of a share of 1. */
#define STEP 10
#define HEIGHT 100

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

static uint64_t total(el_counter_t counter)
{
    return el_counters_total(&el_shared.block->counters, counter);
}

/* A number of bytes with a unit, such as "1.2 MB", from `pool`. */
static const char *bytes_text(apr_pool_t *pool, uint64_t nbytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    double value = (double)nbytes;
    size_t unit = 0;

    while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    return apr_psprintf(pool, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* The lowest levels in each minute of the hour. */
static bool was_at_the_floor(void)
{
    el_history_point_t point;

    for (unsigned age = 0; age < EL_HISTORY_MINUTES; age++) {
        if (!el_past_minute(age, &point) || point.position > 0) {
            return false;
        }
    }
    return true;
}

static bool is_never_sampled(void)
{
    return el_shared.config.control.mode != EL_CONTROL_OFF
           && atomic_load(&el_shared.block->state.samples) == 0
           && el_clock_usec() > atomic_load(&el_shared.block->counters.started) + STARTING;
}

static void write_warning(request_rec *r, const char *text, bool *is_open)
{
    ap_rprintf(r, "%s<li>%s</li>\n",
               *is_open ? "" : "<section class=\"warnings\">\n<h2>Warnings</h2>\n<ul>\n",
               ap_escape_html(r->pool, text));
    *is_open = true;
}

/* What somebody should look after; nothing where there is nothing. */
static void write_warnings(request_rec *r)
{
    const el_state_t *state = &el_shared.block->state;
    const struct {
        bool holds;
        const char *text;
    } warnings[] = {
        {is_never_sampled(),
         "The load was never sampled, so the levels do not follow it"},
        {atomic_load(&state->sampling_failed),
         "The load cannot be read: the error log says why"},
        {el_shared.config.position && atomic_load(&state->source) != EL_SOURCE_FILE,
         "The position file is not followed: the error log says why"},
        {el_state_control(state).bypass,
         "Nothing is compressed, because the load is above ElasticBypass"},
        {was_at_the_floor(),
         "The lowest levels for an hour: the CPU is busy all the time"},
        {total((el_counter_t)(EL_COUNT_SKIPPED + EL_REASON_ERROR)) > 0,
         "Encoders have failed: the error log says why"},
        {total((el_counter_t)(EL_COUNT_SKIPPED + EL_REASON_MEMORY)) > 0,
         "Bodies were not compressed for lack of memory: see ElasticMaxMemory"},
        {total(EL_COUNT_CACHE_FAULTS) > 0,
         "The store of encodings has had faults: the error log says which"},
    };
    const apr_array_header_t *configured = el_warnings(r->pool);
    bool is_open = false;

    for (int i = 0; i < configured->nelts; i++) {
        write_warning(r, APR_ARRAY_IDX(configured, i, const char *), &is_open);
    }
    for (size_t i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++) {
        if (warnings[i].holds) {
            write_warning(r, warnings[i].text, &is_open);
        }
    }
    if (is_open) {
        ap_rputs("</ul>\n</section>\n", r);
    }
}

/* What was saved. */
static void write_saved(request_rec *r)
{
    uint64_t in = total(EL_COUNT_BYTES_IN), out = total(EL_COUNT_BYTES_OUT);
    uint64_t saved = in > out ? in - out : 0;
    uint64_t usec = el_counters_cpu_usec(&el_shared.block->counters)
                    + (total(EL_COUNT_EXPLORED_NSEC) + total(EL_COUNT_IMPROVED_NSEC)) / 1000;

    ap_rprintf(r,
               "<section class=\"saved\">\n<h2>Saved since the start</h2>"
               "<p class=\"large\">%s</p><p>%.0f %% of %s, in %" APR_UINT64_T_FMT " responses, for "
               "%.2f s of CPU time; %" APR_UINT64_T_FMT " more from precompressed files</p>\n"
               "</section>\n",
               bytes_text(r->pool, saved), in ? 100. * (double)saved / (double)in : 0,
               bytes_text(r->pool, in), total(EL_COUNT_COMPRESSED), (double)usec / 1e6,
               total(EL_COUNT_PRECOMPRESSED));
}

static double load_of(const el_history_point_t *point)
{
    return point->load;
}

static double position_of(const el_history_point_t *point)
{
    return point->position;
}

/* A line for each run of minutes without a gap. */
static void write_line(request_rec *r, const char *name,
                       double (*share)(const el_history_point_t *point))
{
    bool is_open = false;

    for (int age = EL_HISTORY_MINUTES - 1; age >= 0; age--) {
        el_history_point_t point;
        bool there = el_past_minute((unsigned)age, &point);

        if (there != is_open) {
            ap_rprintf(r, there ? "<polyline class=\"%s\" points=\"" : "\"/>\n", name);
        }
        if (there) {
            int x = (EL_HISTORY_MINUTES - 1 - age) * STEP;

            /* Twice, a step wide: a minute alone shows too. */
            ap_rprintf(r, "%d,%.1f %d,%.1f ", x, HEIGHT * (1 - share(&point)), x + STEP,
                       HEIGHT * (1 - share(&point)));
        }
        is_open = there;
    }
    ap_rputs(is_open ? "\"/>\n" : "", r);
}

/* Load and position of the last hour, drawn. */
static void write_hour(request_rec *r)
{
    ap_rprintf(r,
               "<section>\n<h2>The last hour</h2>\n<figure>\n"
               "<svg viewBox=\"0 -5 %d %d\" role=\"img\" preserveAspectRatio=\"none\" "
               "aria-label=\"Load and position of each minute of the last hour\">\n"
               "<path class=\"grid\" d=\"M0 0H%dM0 %dH%dM0 %dH%d\"/>\n",
               EL_HISTORY_MINUTES * STEP, HEIGHT + 10, EL_HISTORY_MINUTES * STEP, HEIGHT / 2,
               EL_HISTORY_MINUTES * STEP, HEIGHT, EL_HISTORY_MINUTES * STEP);
    write_line(r, "load", load_of);
    write_line(r, "position", position_of);
    ap_rputs("</svg>\n<figcaption><span class=\"load\">CPU load</span>, 0 to 100 % · "
             "<span class=\"position\">position of the levels</span>, lowest to highest · an hour "
             "ago to now</figcaption>\n</figure>\n</section>\n",
             r);
}

static void write_series(request_rec *r, el_tally_series_t series)
{
    const el_tally_series_info_t *info = el_tally_info(series);
    uint64_t count = el_tally_made(&el_shared.block->tally, series, EL_TALLY_RESPONSES);
    uint64_t in = el_tally_made(&el_shared.block->tally, series, EL_TALLY_IN);
    uint64_t out = el_tally_made(&el_shared.block->tally, series, EL_TALLY_OUT);

    if (count > 0) {
        ap_rprintf(r,
                   "<tr><th scope=\"row\">%s, %s</th><td>%" APR_UINT64_T_FMT
                   "</td><td>%s</td><td>%s</td><td>%.1f %%</td></tr>\n",
                   el_coding_info(info->coding)->token, info->engine, count,
                   bytes_text(r->pool, in), bytes_text(r->pool, out),
                   in ? 100. * (double)out / (double)in : 0);
    }
}

/* Responses by coding and what made their encoding. */
static void write_codings(request_rec *r)
{
    ap_rputs("<section>\n<h2>Compressed responses</h2>\n<table>\n<thead><tr><th scope=\"col\">"
             "Coding, made by</th><th scope=\"col\">Responses</th><th scope=\"col\">Before</th>"
             "<th scope=\"col\">After</th><th scope=\"col\">Share</th></tr></thead>\n<tbody>\n",
             r);
    for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
        write_series(r, (el_tally_series_t)series);
    }
    ap_rputs("</tbody>\n</table>\n</section>\n", r);
}

/* Responses that were not compressed, by reason, with what each reason means. */
static void write_reasons(request_rec *r)
{
    ap_rputs("<section>\n<h2>Not compressed</h2>\n<table>\n<thead><tr><th scope=\"col\">Reason</th>"
             "<th scope=\"col\">Responses</th></tr></thead>\n<tbody>\n",
             r);
    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        const char *note = el_reason_note((el_reason_t)reason);
        uint64_t count = total((el_counter_t)(EL_COUNT_SKIPPED + reason));

        if (count > 0) {
            ap_rprintf(r,
                       "<tr><th scope=\"row\"><a href=\"#reason-%s\">%s</a></th>"
                       "<td>%" APR_UINT64_T_FMT "</td></tr>\n", note, note, count);
        }
    }
    ap_rputs("</tbody>\n</table>\n<details>\n<summary>What the reasons mean</summary>\n<dl>\n", r);
    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        ap_rprintf(r, "<dt id=\"reason-%s\">%s</dt><dd>%s</dd>\n",
                   el_reason_note((el_reason_t)reason), el_reason_note((el_reason_t)reason),
                   ap_escape_html(r->pool, el_reason_text((el_reason_t)reason)));
    }
    ap_rputs("</dl>\n</details>\n</section>\n", r);
}

static void write_vhost(request_rec *r, unsigned slot)
{
    uint64_t count[EL_VHOST_COUNTS];

    for (int i = 0; i < EL_VHOST_COUNTS; i++) {
        count[i] = el_vhosts_total(&el_shared.block->vhosts, slot, (el_vhost_count_t)i);
    }
    ap_rprintf(r,
               "<tr><th scope=\"row\">%s</th><td>%" APR_UINT64_T_FMT "</td><td>%" APR_UINT64_T_FMT
               "</td><td>%" APR_UINT64_T_FMT "</td><td>%s</td><td>%s</td></tr>\n",
               ap_escape_html(r->pool, el_vhosts_name(slot)), count[EL_VHOST_COMPRESSED],
               count[EL_VHOST_PRECOMPRESSED], count[EL_VHOST_UNCOMPRESSED],
               bytes_text(r->pool, count[EL_VHOST_BYTES_IN]),
               bytes_text(r->pool, count[EL_VHOST_BYTES_OUT]));
}

/* Responses and bytes by virtual host. */
static void write_vhosts(request_rec *r)
{
    ap_rputs("<section>\n<h2>Virtual hosts</h2>\n<table>\n<thead><tr><th scope=\"col\">Name</th>"
             "<th scope=\"col\">Com&shy;pressed</th><th scope=\"col\">Precom&shy;pressed</th>"
             "<th scope=\"col\">Not com&shy;pressed</th><th scope=\"col\">Before</th>"
             "<th scope=\"col\">After</th></tr></thead>\n<tbody>\n",
             r);
    for (unsigned slot = 0; slot <= EL_VHOST_OTHER; slot++) {
        if (el_vhosts_name(slot)) {
            write_vhost(r, slot);
        }
    }
    ap_rputs("</tbody>\n</table>\n</section>\n", r);
}

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

/*
 * What the figures are of, in the page's order: by the first row that has the beginning of a key.
 */
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
    write_warnings(r);
    write_saved(r);
    write_hour(r);
    write_codings(r);
    write_reasons(r);
    write_vhosts(r);
    write_sections(r, figures);
    ap_rputs("</main>\n<p>For programs: <a href=\"?auto\">lines</a>, "
             "<a href=\"?json\">JSON</a>, <a href=\"?openmetrics\">metrics</a>.</p>\n"
             "</body>\n</html>\n",
             r);
}
