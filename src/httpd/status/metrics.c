#include "httpd/status/metrics.h"

#include "httpd/state/shared.h"
#include "httpd/state/vhosts.h"
#include "httpd/status/figure_list.h"
#include "httpd/status/figures.h"

#include "apr_strings.h"
#include "http_protocol.h"

/* Where the text goes, and in which format. */
typedef struct {
    request_rec *r;
    el_exposition_t format;
} out_t;

static bool is_open(const out_t *out)
{
    return out->format == EL_EXPOSITION_OPEN;
}

/* What a sample of the family has at the end of its name. */
static const char *sample_suffix(const el_family_t *family)
{
    switch (family->kind) {
    case EL_METRIC_COUNTER:
        return "_total";
    case EL_METRIC_INFO:
        return "_info";
    default:
        return "";
    }
}

/*
 * OpenMetrics names a family without what its samples have at the end; Prometheus's format knows
 * neither that nor units nor the kind info.
 */
static void write_family(const out_t *out, const el_family_t *family)
{
    static const char *const kinds[] = {
        [EL_METRIC_GAUGE] = "gauge",
        [EL_METRIC_COUNTER] = "counter",
        [EL_METRIC_HISTOGRAM] = "histogram",
        [EL_METRIC_INFO] = "info",
    };
    bool is_plain_info = !is_open(out) && family->kind == EL_METRIC_INFO;
    const char *suffix = is_open(out) ? "" : sample_suffix(family);

    ap_rprintf(out->r, "# HELP %s%s %s\n", family->name, suffix, family->help);
    ap_rprintf(out->r, "# TYPE %s%s %s\n", family->name, suffix,
               is_plain_info ? "gauge" : kinds[family->kind]);
    if (is_open(out) && *family->unit) {
        ap_rprintf(out->r, "# UNIT %s %s\n", family->name, family->unit);
    }
}

static const char *escaped(apr_pool_t *pool, const char *value)
{
    char *text = apr_palloc(pool, EL_EXPOSITION_ROOM(strlen(value)));

    el_exposition_escape(value, text);
    return text;
}

static const char *label_of(const out_t *out, const el_figure_t *figure)
{
    const char *value = figure->label_value ? figure->label_value : figure->value;

    return apr_psprintf(out->r->pool, "%s=\"%s\"", figure->label, escaped(out->r->pool, value));
}

/*
 * The family that begins with the figure `i`; the number of the one behind it. The figures of an info
 * are the labels of its one sample.
 */
static int write_figures(const out_t *out, const apr_array_header_t *figures, int i)
{
    const el_family_t *family = APR_ARRAY_IDX(figures, i, el_figure_t).family;
    const char *suffix = sample_suffix(family);
    bool is_info = family->kind == EL_METRIC_INFO;

    write_family(out, family);
    if (is_info) {
        ap_rprintf(out->r, "%s%s{", family->name, suffix);
    }
    for (int first = i; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (figure->family != family) {
            break;
        }
        if (is_info) {
            ap_rprintf(out->r, "%s%s", i > first ? "," : "", label_of(out, figure));
        } else if (figure->label) {
            ap_rprintf(out->r, "%s%s{%s} %s\n", family->name, suffix, label_of(out, figure),
                       figure->sample);
        } else {
            ap_rprintf(out->r, "%s%s %s\n", family->name, suffix, figure->sample);
        }
    }
    if (is_info) {
        ap_rputs("} 1\n", out->r);
    }
    return i;
}

static void write_histogram(const out_t *out, const el_family_t *family, el_tally_kind_t kind,
                            el_tally_series_t series)
{
    const el_tally_series_info_t *info = el_tally_info(series);
    const el_tally_bound_t *bounds = el_tally_bounds(kind);
    const char *labels = apr_psprintf(out->r->pool, "coding=\"%s\",engine=\"%s\"",
                                      el_coding_info(info->coding)->token, info->engine);
    el_tally_total_t total;
    uint64_t count = 0;

    el_tally_read(el_shared.tally, series, kind, &total);
    for (size_t class = 0; class <= EL_TALLY_BOUNDS; class++) {
        count += total.count[class];
        ap_rprintf(out->r, "%s_bucket{%s,le=\"%s\"} %" APR_UINT64_T_FMT "\n", family->name, labels,
                   class < EL_TALLY_BOUNDS ? bounds[class].text : "+Inf", count);
    }
    ap_rprintf(out->r, "%s_count{%s} %" APR_UINT64_T_FMT "\n", family->name, labels, count);
    ap_rprintf(out->r, "%s_sum{%s} %.15g\n", family->name, labels,
               (double)total.sum / el_tally_scale(kind));
}

/* What a histogram is of is in its name, so that a query needs no label for it. */
static void write_histograms(const out_t *out)
{
    static const el_family_t families[EL_TALLY_KINDS] = {
        [EL_TALLY_TIME] = {"elastic_encoding_seconds", EL_METRIC_HISTOGRAM, "seconds",
                           "Time elapsed in the encoder, or in looking for a kept encoding"},
        [EL_TALLY_IN] = {"elastic_body_size_bytes", EL_METRIC_HISTOGRAM, "bytes",
                         "Bodies before they were encoded"},
        [EL_TALLY_OUT] = {"elastic_encoded_size_bytes", EL_METRIC_HISTOGRAM, "bytes",
                          "Bodies as they were sent"},
        [EL_TALLY_RATIO] = {"elastic_size_ratio", EL_METRIC_HISTOGRAM, "ratio",
                            "Bodies as they were sent, as a share of what they were before"},
    };

    for (int kind = 0; kind < EL_TALLY_KINDS; kind++) {
        write_family(out, &families[kind]);
        for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
            if (kind != EL_TALLY_TIME || el_tally_info((el_tally_series_t)series)->timed) {
                write_histogram(out, &families[kind], (el_tally_kind_t)kind,
                                (el_tally_series_t)series);
            }
        }
    }
}

/* The setups that were used: most of all levels never are, and a scrape is short without them. */
static void write_levels(const out_t *out)
{
    static const el_family_t family = {"elastic_level_responses", EL_METRIC_COUNTER, "",
                                       "Compressed responses by the level of their encoding"};

    write_family(out, &family);
    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        for (int level = 0; level < EL_COST_LEVELS; level++) {
            uint64_t count = el_tally_level_total(el_shared.tally, (el_coding_t)coding, level);

            if (count > 0) {
                ap_rprintf(out->r,
                           "%s_total{coding=\"%s\",level=\"%d\"} %" APR_UINT64_T_FMT "\n",
                           family.name, el_coding_info((el_coding_t)coding)->token, level, count);
            }
        }
    }
}

static void write_vhosts(const out_t *out)
{
    static const struct {
        el_vhost_count_t count;
        el_family_t family;
    } rows[] = {
        {EL_VHOST_COMPRESSED, {"elastic_vhost_compressed_responses", EL_METRIC_COUNTER, "",
                               "Responses that went out compressed, by virtual host"}},
        {EL_VHOST_UNCOMPRESSED, {"elastic_vhost_uncompressed_responses", EL_METRIC_COUNTER, "",
                                 "Responses that were not compressed, by virtual host"}},
        {EL_VHOST_PRECOMPRESSED, {"elastic_vhost_precompressed_responses", EL_METRIC_COUNTER, "",
                                  "Responses served from siblings, by virtual host"}},
        {EL_VHOST_BYTES_IN, {"elastic_vhost_input_bytes", EL_METRIC_COUNTER, "bytes",
                             "Bodies of compressed responses, before, by virtual host"}},
        {EL_VHOST_BYTES_OUT, {"elastic_vhost_output_bytes", EL_METRIC_COUNTER, "bytes",
                              "Bodies of compressed responses, after, by virtual host"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_family(out, &rows[i].family);
        for (unsigned place = 0; place <= EL_VHOST_OTHER; place++) {
            const char *name = el_vhosts_name(place);

            if (name) {
                ap_rprintf(out->r, "%s_total{vhost=\"%s\"} %" APR_UINT64_T_FMT "\n",
                           rows[i].family.name, escaped(out->r->pool, name),
                           el_vhosts_total(el_shared.vhosts, place, rows[i].count));
            }
        }
    }
}

void el_metrics_answer(request_rec *r, el_exposition_t otherwise)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    const apr_array_header_t *figures = el_figures(r->pool);
    out_t out = {r, el_exposition_choose(accept, otherwise)};
    int i = 0;

    ap_set_content_type(r, el_exposition_type(out.format));
    apr_table_mergen(r->headers_out, "Vary", "Accept");
    while (i < figures->nelts) {
        i = APR_ARRAY_IDX(figures, i, el_figure_t).family ? write_figures(&out, figures, i) : i + 1;
    }
    write_vhosts(&out);
    write_levels(&out);
    write_histograms(&out);
    if (is_open(&out)) {
        ap_rputs("# EOF\n", r);
    }
}
