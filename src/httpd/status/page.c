#include "httpd/status/forms.h"

#include "httpd/cache/backends.h"
#include "httpd/config/config.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/shared/tick.h"

#include "elastic/decide.h"
#include "host/process.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "http_protocol.h"

#include <math.h>

/* µs. So soon after a start, there is no warning about samples that have not come yet. */
#define MINUTE 60000000u

/* The page loads its style sheet and nothing else, and no other site's page may frame it. */
static const char policy[] = "default-src 'none'; style-src 'self'; base-uri 'none'; "
                             "form-action 'none'; frame-ancestors 'self'";

/* The chart's letters have sizes in units of its viewBox, which a wide screen enlarges. */
static const char style[] =
    ":root { color-scheme: light dark; --line: #ccc; --red: #b3261e; --blue: #1558b0 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --line: #555; --red: #ff8a80; --blue: #8ab4f8 }\n"
    "}\n"
    "@media print { :root { color-scheme: light; --line: #999; --red: #000; --blue: #000 } }\n"
    "body { font-family: sans-serif; line-height: 1.4; margin: 1em auto; max-width: 44em;"
    " padding: 0 1em }\n"
    "h2 { font-size: 1.1em; margin: 1.5em 0 .5em }\n"
    "a { color: var(--blue) }\n"
    "a:focus-visible, summary:focus-visible { outline: 3px solid var(--blue) }\n"
    ".warnings { border: 2px solid var(--red); padding: 0 1em }\n"
    "dl { display: grid; gap: 1em;"
    " grid-template-columns: repeat(auto-fit, minmax(9.5em, 1fr)) }\n"
    "dd { margin: 0 }\n"
    "b { display: block; font-size: 1.4em }\n"
    "svg { display: block; width: 100% }\n"
    "text { fill: currentColor; font-size: 14px }\n"
    "@media (min-width: 40em) { text { font-size: 9px } }\n"
    "path { fill: none; stroke: var(--line); vector-effect: non-scaling-stroke }\n"
    ".load { stroke: var(--red); stroke-width: 2 }\n"
    ".level { stroke: var(--blue); stroke-dasharray: 6 3; stroke-width: 2 }\n"
    ".saved { fill: var(--blue); stroke: none }\n"
    ".bar { fill: var(--blue); height: .3em; min-width: 100%; width: 0 }\n"
    "table { border-collapse: collapse; width: 100% }\n"
    "th { font-weight: normal; text-align: left }\n"
    "td, thead th + th { text-align: right }\n"
    "th, td { border-bottom: 1px solid var(--line); padding: .25em 0 .25em .75em }\n"
    "th:first-child, code { overflow-wrap: anywhere; padding-left: 0 }\n"
    "pre { white-space: pre-wrap }\n"
    "h2:target { border-left: .3em solid var(--blue); padding-left: .5em }\n"
    "@media (max-width: 40em) { table { font-size: .8em } }\n";

/*
 * The manual's sections on the reasons, in HTML: made of docs/manual/troubleshooting.md, because a
 * browser cannot read the files of this machine.
 */
static const char *const manual[] = {
#include "reasons.inc"
};

static uint64_t page_total(el_counter_t counter)
{
    return el_counters_total(&el_shared.block->counters, counter);
}

/* A number of bytes with a unit, such as "1.2 MB", from `pool`. */
static const char *page_bytes_text(apr_pool_t *pool, double nbytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    for (; nbytes >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++) {
        nbytes /= 1000;
    }
    return apr_psprintf(pool, unit ? "%.1f %s" : "%.0f %s", nbytes, units[unit]);
}

/* The section of what needs the operator's attention; none if nothing does. */
static void page_write_warnings(request_rec *r)
{
    const el_state_t *state = &el_shared.block->state;
    uint64_t started = atomic_load(&el_shared.block->counters.started);
    bool is_never_sampled = el_shared.config.control.mode != EL_CONTROL_OFF
                            && atomic_load(&state->samples) == 0
                            && el_clock_usec() > started + MINUTE;
    el_history_point_t point;
    unsigned low = 0; /* minutes in a row with the lowest levels */

    while (low < EL_HISTORY_MINUTES && el_past_minute(low, &point) && point.position <= 0) {
        low++;
    }

    const struct {
        bool holds;
        const char *text;
    } warnings[] = {
        {is_never_sampled,
         "The load was never sampled, so the levels do not follow it"},
        {atomic_load(&state->sampling_failed),
         "The load cannot be read: the error log says why"},
        {el_shared.config.position && atomic_load(&state->source) != EL_SOURCE_FILE,
         "The position file is not followed: the error log says why"},
        {el_state_control(state).bypass,
         "Nothing is compressed, because the load is above ElasticBypass"},
        {low == EL_HISTORY_MINUTES,
         "The lowest levels for an hour: the CPU is busy all the time"},
        {page_total((el_counter_t)(EL_COUNT_SKIPPED + (unsigned)EL_REASON_ERROR)) > 0,
         "Bodies could not be compressed, because encoders failed: the error log says why"},
        {page_total((el_counter_t)(EL_COUNT_SKIPPED + (unsigned)EL_REASON_MEMORY)) > 0,
         "Bodies were not compressed for lack of memory: see ElasticMaxMemory"},
        {page_total(EL_COUNT_CACHE_FAULTS) > 0,
         "The cache has had faults: the error log says which"},
        {el_shmcb_is_broken(),
         "The cache is off until the next reload: children ended while they used it"},
    };
    apr_array_header_t *found = apr_array_copy(r->pool, el_warnings(r->pool));

    for (size_t i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++) {
        if (warnings[i].holds) {
            APR_ARRAY_PUSH(found, const char *) = warnings[i].text;
        }
    }
    for (int i = 0; i < found->nelts; i++) {
        ap_rprintf(r, "%s<li>%s</li>\n",
                   i ? "" : "<section class=\"warnings\">\n<h2>Warnings</h2>\n<ul>\n",
                   ap_escape_html(r->pool, APR_ARRAY_IDX(found, i, const char *)));
    }
    ap_rputs(found->nelts > 0 ? "</ul>\n</section>\n" : "", r);
}

/* A figure in large letters, and a note below it. */
static void page_write_fact(request_rec *r, const char *name, const char *value, const char *note)
{
    ap_rprintf(r, "<div><dt>%s</dt><dd><b>%s</b>%s</dd></div>\n", name, value, note);
}

/* A share of `whole` in percent. */
static double page_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/*
 * Why the levels are as they are. A price says nothing to people: in words it is how much less than
 * on an idle CPU is spent for a byte, because requests wait for the CPU.
 */
static const char *page_levels_note(apr_pool_t *pool, el_control_state_t control)
{
    static const struct {
        double most; /* times as much as a byte's CPU time is worth on an idle CPU */
        const char *text;
    } delays[] = {
        {1.5, "Compressing as hard as the idle CPU allows"},
        {5, "Compressing a little less: the CPU has other work"},
        {50, "Compressing much less: the CPU is busy"},
        {HUGE_VAL, "Compressing very little: the CPU is nearly full"},
    };
    const el_control_config_t *config = &el_shared.config.control;
    double price = el_shared_effort_at(control).price;
    size_t i = 0;

    if (config->mode == EL_CONTROL_OFF) {
        return "Always the highest levels: ElasticControl is off";
    }
    if (control.bypass) {
        return "Nothing is compressed: the load is above ElasticBypass";
    }
    if (control.top == 0) {
        return "Always these levels: ElasticLevel pins them";
    }
    if (price == 0) {
        return "Compressing as fast as possible: by ElasticGoal, sending bytes costs nothing";
    }
    if (price > 0) {
        while (el_goal_worth(&config->goal) / price > delays[i].most) {
            i++;
        }
        return delays[i].text;
    }
    return apr_psprintf(pool, "%.0f %% of the way from the lowest to the highest levels%s",
                        page_percent(el_control_position(control), control.top),
                        atomic_load(&el_shared.block->state.source) == EL_SOURCE_FILE
                            ? ", by elasticd" : "");
}

/* The load of the last minute: of this one so far, and for the rest of the one before. */
static double page_load(void)
{
    double share = (double)(el_clock_usec() % MINUTE) / MINUTE;
    el_history_point_t now, before;
    bool is_now = el_past_minute(0, &now), is_before = el_past_minute(1, &before);

    return !is_now && !is_before ? NAN
           : !is_before          ? now.load
           : !is_now             ? before.load
                                 : share * now.load + (1 - share) * before.load;
}

/* The first figures: bytes saved, CPU time, levels and load. */
static void page_write_facts(request_rec *r, const apr_array_header_t *figures)
{
    el_control_state_t control = el_state_control(&el_shared.block->state);
    uint64_t load = atomic_load(&el_shared.block->state.load_ppm);
    /* Without samples no day begins. */
    const char *when = load == EL_STATE_NO_LOAD ? "since the start" : "today";
    const char *levels = "";
    int coding = EL_IDENTITY; /* whose level comes next */
    uint64_t counts[EL_PAST_COUNTS];
    double in, out, cpu, cpus = el_tick_cpus(), mean = page_load();

    el_past_today(counts);
    in = (double)counts[EL_PAST_IN];
    out = (double)counts[EL_PAST_OUT];
    cpu = (double)counts[EL_PAST_CPU];
    ap_rputs("<dl>\n", r);
    page_write_fact(r, apr_pstrcat(r->pool, "Saved ", when, NULL),
                    page_bytes_text(r->pool, fmax(0, in - out)),
                    apr_psprintf(r->pool, "%.0f %% of %s", page_percent(fmax(0, in - out), in),
                                 page_bytes_text(r->pool, in)));
    page_write_fact(r, apr_pstrcat(r->pool, "CPU time ", when, NULL),
                    apr_psprintf(r->pool, "%.2f s", cpu / 1e6),
                    apr_psprintf(r->pool, "%.2f %% of %g CPUs",
                                 page_percent(cpu, (double)counts[EL_PAST_TIME] * cpus), cpus));
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (strstr(figure->key, "ElasticLevel") && el_policy_ranges[++coding].enabled) {
            levels = apr_pstrcat(r->pool, levels, *levels ? ", " : "", figure->label_value, " ",
                                 figure->value, NULL);
        }
    }
    page_write_fact(r, "Levels now", levels, page_levels_note(r->pool, control));
    if (el_shared.config.control.mode != EL_CONTROL_OFF) {
        page_write_fact(r, "CPU load, last minute",
                        isnan(mean) ? "unknown" : apr_psprintf(r->pool, "%.0f %%", 100 * mean),
                        apr_psprintf(r->pool, "of %g CPUs%s", cpus,
                                     load == EL_STATE_NO_LOAD ? ""
                                     : apr_psprintf(r->pool, "; last sample %.0f %%",
                                                    page_percent((double)load, EL_PPM))));
    }
    ap_rputs("</dl>\n", r);
}

/*
 * The chart without its lines. Its plots are 6 by 60 minutes wide; that of load and levels is 100
 * high, and that of bytes below it SAVED_HIGH. Around them is room for the labels of their axes.
 */
static const char chart[] =
    "<section>\n<h2>The last hour</h2>\n"
    "<svg viewBox=\"-8 0 418 216\" role=\"img\" aria-labelledby=\"chart\">\n"
    "<title id=\"chart\">CPU load and levels in percent, and bytes saved, in each minute of the "
    "last hour</title>\n"
    "<path class=\"load\" d=\"M45 10h24\"/><text x=\"74\" y=\"14\">CPU load</text>\n"
    "<path class=\"level\" d=\"M160 10h24\"/>"
    "<text x=\"189\" y=\"14\">levels (100 %: the highest)</text>\n"
    "<g text-anchor=\"end\"><text x=\"40\" y=\"31\">100 %</text>"
    "<text x=\"40\" y=\"81\">50 %</text><text x=\"40\" y=\"131\">0 %</text></g>\n"
    "<text x=\"45\" y=\"211\">60 minutes ago</text>"
    "<text x=\"225\" y=\"211\" text-anchor=\"middle\">30</text>"
    "<text x=\"405\" y=\"211\" text-anchor=\"end\">now</text>\n"
    "<g transform=\"translate(45 27)\">\n"
    "<path d=\"M0 0h360M0 50h360M0 100h360M0 0v100M180 0v100M360 0v100\"/>\n";

#define SAVED_HIGH 40

/* A line with a gap where a minute has no sample. */
static void page_write_line(request_rec *r, bool is_load)
{
    bool is_open = false;

    ap_rprintf(r, "<path class=\"%s\" d=\"", is_load ? "load" : "level");
    for (unsigned age = EL_HISTORY_MINUTES; age-- > 0;) {
        el_history_point_t point;
        bool there = el_past_minute(age, &point);

        if (there) {
            ap_rprintf(r, "%c%u %.1fh6", is_open ? 'L' : 'M', 6 * (EL_HISTORY_MINUTES - 1 - age),
                       100 * (1 - (is_load ? point.load : point.position)));
        }
        is_open = there;
    }
    ap_rputs("\"/>\n", r);
}

/* A bar for each minute in which bytes were saved; the highest fills the plot. */
static void page_write_saved(request_rec *r)
{
    el_history_point_t point;
    double most = 0;

    for (unsigned age = 0; age < EL_HISTORY_MINUTES; age++) {
        most = el_past_minute(age, &point) ? fmax(most, point.saved) : most;
    }
    ap_rprintf(r, "<path class=\"saved\" d=\"M45 138h24v8h-24z\"/><text x=\"74\" y=\"147\">"
                  "bytes saved, at most %s a minute</text>\n<g transform=\"translate(45 153)\">\n"
                  "<path d=\"M0 0h360M0 40h360M0 0v40M180 0v40M360 0v40\"/>\n"
                  "<path class=\"saved\" d=\"M0 0", page_bytes_text(r->pool, most));
    for (unsigned age = EL_HISTORY_MINUTES; age-- > 0;) {
        /* A minute may have begun since the first look. */
        if (el_past_minute(age, &point) && point.saved > 0) {
            double high = SAVED_HIGH * fmin(1, point.saved / fmax(1, most));

            ap_rprintf(r, "M%u %dv-%.1fh5v%.1fz", 6 * (EL_HISTORY_MINUTES - 1 - age), SAVED_HIGH,
                       high, high);
        }
    }
    ap_rputs("\"/>\n</g>\n", r);
}

/* Load, levels and bytes saved of the last hour, as a chart and as a table. */
static void page_write_hour(request_rec *r)
{
    ap_rputs(chart, r);
    page_write_line(r, true);
    page_write_line(r, false);
    ap_rputs("</g>\n", r);
    page_write_saved(r);
    ap_rputs("</svg>\n<details>\n<summary>Values</summary>\n<table>\n<thead><tr>"
             "<th scope=\"col\">Minutes ago</th><th scope=\"col\">CPU load</th>"
             "<th scope=\"col\">Levels</th><th scope=\"col\">Saved</th></tr></thead>\n"
             "<tbody>\n", r);
    for (unsigned age = 0; age < EL_HISTORY_MINUTES; age++) {
        el_history_point_t point;

        if (el_past_minute(age, &point)) {
            ap_rprintf(r, "<tr><th scope=\"row\">%u</th><td>%.0f %%</td><td>%.0f %%</td>"
                          "<td>%s</td></tr>\n", age, 100 * point.load, 100 * point.position,
                       page_bytes_text(r->pool, fmax(0, point.saved)));
        }
    }
    ap_rputs("</tbody>\n</table>\n</details>\n</section>\n", r);
}

/* A row's first two cells: a name with a bar for the share of all responses, and how many. */
static void page_write_bar(request_rec *r, const char *name, uint64_t count, uint64_t all)
{
    ap_rprintf(r,
               "<tr><th scope=\"row\">%s<svg class=\"bar\" viewBox=\"0 0 100 1\" "
               "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"%.1f\" "
               "height=\"1\"/></svg></th><td>%" APR_UINT64_T_FMT "</td>",
               name, page_percent((double)count, (double)all), count);
}

/* Responses by coding, and by the engine or whatever else made the encoding. */
static void page_write_codings(request_rec *r, uint64_t all)
{
    const el_tally_t *tally = &el_shared.block->tally;

    ap_rputs("<section>\n<h2>Compressed responses</h2>\n<table>\n<thead><tr><th scope=\"col\">"
             "Coding, made by</th><th scope=\"col\">Responses</th><th scope=\"col\">Before</th>"
             "<th scope=\"col\">After</th><th scope=\"col\">Size</th></tr></thead>\n<tbody>\n", r);
    for (int i = 0; i < EL_TALLY_SERIES_COUNT; i++) {
        el_tally_series_t series = (el_tally_series_t)i;
        const el_tally_series_info_t *info = &el_tally_info[series];
        uint64_t count = el_tally_made(tally, series, EL_TALLY_RESPONSES);
        double in = (double)el_tally_made(tally, series, EL_TALLY_IN);
        double out = (double)el_tally_made(tally, series, EL_TALLY_OUT);

        if (count > 0) {
            page_write_bar(r, apr_pstrcat(r->pool, el_coding_info(info->coding)->token, ", ",
                                          info->engine, NULL), count, all);
            ap_rprintf(r, "<td>%s</td><td>%s</td><td>%.0f %%</td></tr>\n",
                       page_bytes_text(r->pool, in), page_bytes_text(r->pool, out),
                       page_percent(out, in));
        }
    }
    ap_rputs("</tbody>\n</table>\n</section>\n", r);
}

/* Responses that were not compressed, by reason: in words, with a link to the manual. */
static void page_write_reasons(request_rec *r, uint64_t all)
{
    ap_rputs("<section>\n<h2>Not compressed</h2>\n<table>\n<thead><tr><th scope=\"col\">Reason</th>"
             "<th scope=\"col\">Responses</th></tr></thead>\n<tbody>\n", r);
    for (int i = EL_REASON_NONE + 1; i < EL_REASON_COUNT; i++) {
        el_reason_t reason = (el_reason_t)i;
        uint64_t count = page_total((el_counter_t)(EL_COUNT_SKIPPED + i));

        if (count > 0) {
            char *text = ap_escape_html(r->pool, el_reasons[reason].text);
            const char *note = el_reasons[reason].note;

            *text = (char)apr_toupper(*text);
            page_write_bar(r, apr_psprintf(r->pool, "%s: <a href=\"?manual#%s\">%s</a>", text, note,
                                           note), count, all);
            ap_rputs("</tr>\n", r);
        }
    }
    ap_rputs("</tbody>\n</table>\n</section>\n", r);
}

/* Responses and bytes by virtual host. */
static void page_write_vhosts(request_rec *r)
{
    el_vhosts_t *vhosts = &el_shared.block->vhosts;

    ap_rputs("<details>\n<summary>Virtual hosts</summary>\n<table>\n<thead><tr>"
             "<th scope=\"col\">Name</th><th scope=\"col\">Com&shy;pressed</th>"
             "<th scope=\"col\">Not com&shy;pressed</th><th scope=\"col\">Before</th>"
             "<th scope=\"col\">After</th></tr></thead>\n<tbody>\n", r);
    for (unsigned slot = 0; slot <= EL_VHOST_OTHER; slot++) {
        double in = (double)el_vhosts_total(vhosts, slot, EL_VHOST_BYTES_IN);
        double out = (double)el_vhosts_total(vhosts, slot, EL_VHOST_BYTES_OUT);

        if (el_vhosts_name(slot)) {
            ap_rprintf(r, "<tr><th scope=\"row\">%s</th><td>%" APR_UINT64_T_FMT "</td><td>%"
                       APR_UINT64_T_FMT "</td><td>%s</td><td>%s</td></tr>\n",
                       ap_escape_html(r->pool, el_vhosts_name(slot)),
                       el_vhosts_total(vhosts, slot, EL_VHOST_COMPRESSED),
                       el_vhosts_total(vhosts, slot, EL_VHOST_UNCOMPRESSED),
                       page_bytes_text(r->pool, in), page_bytes_text(r->pool, out));
        }
    }
    ap_rputs("</tbody>\n</table>\n</details>\n", r);
}

void el_page_write_figures(request_rec *r, const apr_array_header_t *figures,
                           const char *beginning)
{
    ap_rputs("<table>\n", r);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (!figure->idle && strncmp(figure->key, beginning, strlen(beginning)) == 0) {
            ap_rprintf(r, "<tr><th scope=\"row\">%s</th><td>%s</td><td><code>%s</code></td></tr>\n",
                       ap_escape_html(r->pool, figure->text),
                       ap_escape_html(r->pool, figure->value), figure->key);
        }
    }
    ap_rputs("</table>\n", r);
}

/* Sections of options that are off by default, if they are on. */
static void page_write_options(request_rec *r, const apr_array_header_t *figures)
{
    const el_dictionary_store_t *store = el_server_of(r->server)->dictionary_store;
    const apr_int32_t flags = APR_READ | APR_BUFFERED | APR_FOPEN_NONBLOCK; /* it may be a FIFO */
    char line[1024];
    apr_file_t *file;

    if (atomic_load(&el_settings_cache)) {
        ap_rputs("<section>\n<h2>Cache</h2>\n", r);
        el_page_write_figures(r, figures, "ElasticCache");
        ap_rputs("</section>\n", r);
    }
    if (el_dictionaries_are_open()) {
        ap_rputs("<section>\n<h2>Dictionaries</h2>\n", r);
        /* elastic-dictionary writes lines about its sites to a file beside the dictionaries. */
        if (store && apr_file_open(&file, apr_pstrcat(r->pool, store->folder, "/sites", NULL),
                                   flags, 0, r->pool) == APR_SUCCESS) {
            while (apr_file_gets(line, sizeof(line), file) == APR_SUCCESS) {
                ap_rprintf(r, "<p>%s</p>\n", ap_escape_html(r->pool, line));
            }
        }
        el_page_write_figures(r, figures, "ElasticDi");
        ap_rputs("</section>\n", r);
    }
}

static void page_begin(request_rec *r, const char *title)
{
    ap_set_content_type(r, "text/html; charset=utf-8");
    apr_table_setn(r->headers_out, "Content-Security-Policy", policy);
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    ap_rprintf(r, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>%s</title>\n<link rel=\"stylesheet\" href=\"?style\">\n"
                  "</head>\n<body>\n<h1>%s</h1>\n<main>\n", title, title);
}

void el_page_answer(request_rec *r, const apr_array_header_t *figures)
{
    const char *query = r->args ? r->args : "";
    /* All responses that were counted, compressed or not. */
    uint64_t all = page_total(EL_COUNT_COMPRESSED) + page_total(EL_COUNT_PRECOMPRESSED);

    if (strcmp(query, "style") == 0) {
        ap_set_content_type(r, "text/css; charset=utf-8");
        ap_rputs(style, r);
        return;
    }
    if (strcmp(query, "manual") == 0) {
        page_begin(r, "Why was this response not compressed?");
        for (size_t i = 0; i < sizeof(manual) / sizeof(manual[0]); i++) {
            ap_rputs(manual[i], r);
        }
        ap_rputs("</main>\n<p>From troubleshooting.md of the module's manual. "
                 "<a href=\"?\">Back to the status page</a></p>\n</body>\n</html>\n", r);
        return;
    }
    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        all += page_total((el_counter_t)(EL_COUNT_SKIPPED + reason));
    }
    page_begin(r, "mod_elastic");
    page_write_warnings(r);
    page_write_facts(r, figures);
    if (el_shared.config.control.mode != EL_CONTROL_OFF) {
        page_write_hour(r);
    }
    page_write_codings(r, all);
    page_write_reasons(r, all);
    page_write_options(r, figures);
    page_write_vhosts(r);
    ap_rputs("<details>\n<summary>Details</summary>\n", r);
    el_page_write_figures(r, figures, "");
    ap_rputs("</details>\n</main>\n<p>For programs: <a href=\"?auto\">lines</a>, "
             "<a href=\"?json\">JSON</a>, <a href=\"?openmetrics\">metrics</a>.</p>\n"
             "</body>\n</html>\n", r);
}
