#include "httpd/status/forms.h"

#include "httpd/cache/backends.h"
#include "httpd/config/config.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/shared/costs.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/shared/tick.h"

#include "elastic/decide.h"
#include "engines/engines.h"
#include "host/process.h"

#include "ap_expr.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "unixd.h"

#include <math.h>

EL_USE_LOG;

/* --- figures */

typedef enum {
    EL_METRIC_GAUGE, EL_METRIC_COUNTER, EL_METRIC_HISTOGRAM, EL_METRIC_INFO
} el_metric_t;

/*
 * A family of metrics. Its name begins with "elastic_" and ends with its unit, "seconds", "bytes"
 * or "ratio", if it has one; a suffix of its kind, such as "_total", is not part of it.
 */
struct el_family {
    const char *name;
    el_metric_t kind;
    const char *help;
};

/* Room for the names and versions of all engines. */
#define ENGINES_SIZE 256

/* ns that eight bits take at 1 Mbit/s. */
#define NSEC_OF_BYTE_AT_MBIT 8000.

/* The unit of a key, and how many of that make one unit of its metric. */
#define MILLIS .unit = "ms", .per_unit = 1e3
#define MICROS .unit = "µs", .per_unit = 1e6
#define NANOS .unit = "ns", .per_unit = 1e9

/* Figures that are words. */
enum { VERSION, ENGINES, CONTROL, GOAL, LOAD, WORDS };

/* Figures that are numbers: the counters of the shared block by their own numbers, and these. */
enum {
    UPTIME = EL_COUNT_TOTAL, FOLLOWS, CPU, CPU_LOW, CPU_HIGH, INTERVAL, SAMPLES, STEPS, POSITION,
    LEVEL, /* of each coding */
    PRICE = LEVEL + EL_CODINGS, RATE, BYPASS,
    CPU_USEC,
    BROKEN, IMPROVED_USEC, IN_FLIGHT, MEMORY, MAX_MEMORY,
    NUMBERS
};

/* All values, read once. */
typedef struct {
    const char *word[WORDS];
    double number[NUMBERS]; /* NAN: not shown; a counter is exact up to 2^53 */
} now_t;

/* A figure without its value. */
typedef struct {
    int which;          /* of the words or the numbers */
    const char *format; /* of a number; NULL: it is a word */
    const char *key;
    const char *text;   /* also the help of its metric */
    const char *unit;   /* of the key; NULL: that of the metric, or none */
    el_family_t own;    /* a family of this figure alone; without a name: none */
    const el_family_t *family; /* one that has others too, or NULL */
    const char *label;
    const char *label_value;
    double per_unit; /* of the key's unit in the family's; 0: they are the same */
} row_t;

#define COUNT "%.0f"
#define SHARE "%.3f"

/* The metric of a figure: in a family of its own, as one of others, or none. */
#define OF(others, by, value) .family = &(others), .label = by, .label_value = value
#define WORD(of, name, words, ...) {.which = of, .key = name, .text = words, __VA_ARGS__}
#define ROW(of, as, name, words, ...)                                                              \
    {.which = of, .format = as, .key = name, .text = words, __VA_ARGS__}
#define GAUGE(of, as, name, metric, words, ...)                                                    \
    ROW(of, as, name, words, .own = {metric, EL_METRIC_GAUGE, words}, __VA_ARGS__)
#define COUNTER(of, name, metric, words, ...)                                                      \
    ROW(of, COUNT, name, words, .own = {metric, EL_METRIC_COUNTER, words}, __VA_ARGS__)

/* One of several counters of a family: its note is the end of the key, and the label. */
#define NOTED(of, name, words, others, note, description)                                          \
    ROW(of, COUNT, name "-" note, words ": " description, OF(others, "reason", note)),
#define PRECOMPRESSED_ROW(id, note, description)                                                   \
    NOTED(EL_COUNT_PRECOMPRESSED_FAULT + (unsigned)EL_PRECOMPRESSED_##id,                          \
          "ElasticPrecompressedSkipped", "Precompressed files not sent", precompressed, note,      \
          description)
#define DICTIONARY_ROW(id, note, description)                                                      \
    NOTED(EL_COUNT_DICTIONARY + (unsigned)EL_DICTIONARY_##id, "ElasticDictionaryAsked",            \
          "Asked with a dictionary", dictionaries, note, description)
#define REASON_ROW(id, note, description)                                                          \
    NOTED(EL_COUNT_SKIPPED + (unsigned)EL_REASON_##id, "ElasticSkipped", "Not compressed",         \
          reasons, note, description)

static const el_family_t build = {"elastic_build", EL_METRIC_INFO,
                                  "The module and its compression libraries"};
static const el_family_t controller = {"elastic_controller", EL_METRIC_INFO,
                                       "What moves the levels, what for, and by which load"};
static const el_family_t levels = {"elastic_level", EL_METRIC_GAUGE,
                                   "Level for a client of this one coding now"};
static const el_family_t precompressed = {"elastic_precompressed_skipped", EL_METRIC_COUNTER,
                                     "Precompressed files that were not sent, by reason"};
static const el_family_t dictionaries = {"elastic_dictionary_requests", EL_METRIC_COUNTER,
                                         "Requests that named a dictionary, by what became of it"};
static const el_family_t reasons = {"elastic_skipped_responses", EL_METRIC_COUNTER,
                                    "Responses that were not compressed, by reason"};

static const row_t figure_rows[] = {
    WORD(VERSION, "ElasticVersion", "mod_elastic", OF(build, "version", NULL)),
    WORD(ENGINES, "ElasticEngines", "Built in", OF(build, "engines", NULL)),
    GAUGE(UPTIME, COUNT, "ElasticUptime", "elastic_uptime_seconds",
          "Time since the start, or the last full restart", .unit = "s"),
    WORD(CONTROL, "ElasticControl", "Controller", OF(controller, "control", NULL)),
    WORD(GOAL, "ElasticGoal", "Goal", OF(controller, "goal", NULL)),
    WORD(LOAD, "ElasticLoad", "Load", OF(controller, "load", NULL)),
    GAUGE(FOLLOWS, COUNT, "ElasticFollows", "elastic_follows_file",
          "1 while the position file is followed"),
    GAUGE(CPU, SHARE, "ElasticCPU", "elastic_cpu_load_ratio", "CPU load of the last sample"),
    GAUGE(CPU_LOW, SHARE, "ElasticCPULow", "elastic_cpu_low_ratio",
          "Load below which levels go up"),
    GAUGE(CPU_HIGH, SHARE, "ElasticCPUHigh", "elastic_cpu_high_ratio",
          "Load above which levels go down"),
    GAUGE(INTERVAL, COUNT, "ElasticInterval", "elastic_sample_interval_seconds",
          "Time between samples of the load", MILLIS),
    COUNTER(SAMPLES, "ElasticSamples", "elastic_samples", "Samples of the load"),
    COUNTER(STEPS, "ElasticSteps", "elastic_position_changes",
            "Changes of the levels by the controller"),
    GAUGE(POSITION, SHARE, "ElasticPosition", "elastic_position_ratio",
          "Levels: 0 all at their lowest, 1 all at their highest"),
    ROW(LEVEL + EL_GZIP, COUNT, "ElasticLevelGzip", "Level of gzip", OF(levels, "coding", "gzip")),
    ROW(LEVEL + EL_BR, COUNT, "ElasticLevelBr", "Level of br", OF(levels, "coding", "br")),
    ROW(LEVEL + EL_ZSTD, COUNT, "ElasticLevelZstd", "Level of zstd", OF(levels, "coding", "zstd")),
    GAUGE(PRICE, SHARE, "ElasticPrice", "elastic_byte_price_seconds",
          "CPU time that a saved byte may cost", NANOS),
    ROW(RATE, SHARE, "ElasticPriceRate", "The rate that sends it as fast, Mbit/s", .family = NULL),
    GAUGE(BYPASS, COUNT, "ElasticBypass", "elastic_bypass",
          "1 while nothing is compressed because of the load"),
    COUNTER(EL_COUNT_COMPRESSED, "ElasticCompressed", "elastic_compressed_responses",
            "Responses that went out compressed"),
    COUNTER(EL_COUNT_BYTES_IN, "ElasticBytesIn", "elastic_input_bytes",
            "Bytes of compressed responses, before"),
    COUNTER(EL_COUNT_BYTES_OUT, "ElasticBytesOut", "elastic_output_bytes",
            "Bytes of compressed responses, after"),
    COUNTER(CPU_USEC, "ElasticCpuUsec", "elastic_encoding_cpu_seconds",
            "CPU time in the encoders, estimated", MICROS),
    COUNTER(EL_COUNT_PRECOMPRESSED, "ElasticPrecompressed", "elastic_precompressed_responses",
            "Responses served from precompressed files"),
    EL_PRECOMPRESSED_FAULTS(PRECOMPRESSED_ROW)
    COUNTER(EL_COUNT_CACHE_HITS, "ElasticCacheHits", "elastic_cache_hits",
            "Responses with a compressed copy from the cache"),
    COUNTER(EL_COUNT_CACHE_MISSES, "ElasticCacheMisses", "elastic_cache_misses",
            "Bodies without a compressed copy that is good enough"),
    COUNTER(EL_COUNT_CACHE_STORED, "ElasticCacheStored", "elastic_cache_stored",
            "Compressed copies that the cache took"),
    COUNTER(EL_COUNT_CACHE_FAULTS, "ElasticCacheFaults", "elastic_cache_faults",
            "Faults of the cache"),
    COUNTER(EL_COUNT_CACHE_BUSY, "ElasticCacheBusy", "elastic_cache_busy",
            "Bodies compressed without the cache, which was busy"),
    GAUGE(BROKEN, COUNT, "ElasticCacheBroken", "elastic_cache_broken",
          "1 while the cache is off because processes died in it"),
    COUNTER(EL_COUNT_IMPROVED, "ElasticImproved", "elastic_improved_encodings",
            "Compressed copies that were made smaller while the CPU was idle"),
    COUNTER(IMPROVED_USEC, "ElasticImprovedUsec", "elastic_improving_cpu_seconds",
            "CPU time of making compressed copies smaller", MICROS),
    COUNTER(EL_COUNT_IMPROVED_BYTES, "ElasticImprovedBytes", "elastic_improved_bytes",
            "Bytes that responses had less for that"),
    COUNTER(EL_COUNT_DICTIONARIES, "ElasticDictionaries", "elastic_dictionaries",
            "Responses that became dictionaries"),
    COUNTER(EL_COUNT_DICTIONARY_FAULTS, "ElasticDictionaryFaults", "elastic_dictionary_faults",
            "Faults of the folder of dictionaries"),
    COUNTER(EL_COUNT_DIFFERENCES, "ElasticDifferences", "elastic_differences",
            "Responses that were compressed with a dictionary"),
    COUNTER(EL_COUNT_DIFFERENCES_IN, "ElasticDifferenceBytesIn", "elastic_difference_input_bytes",
            "Bytes of these before"),
    COUNTER(EL_COUNT_DIFFERENCES_OUT, "ElasticDifferenceBytesOut",
            "elastic_difference_output_bytes", "Bytes of these after"),
    EL_DICTIONARY_REASONS(DICTIONARY_ROW)
    COUNTER(EL_COUNT_PROBES, "ElasticProbes", "elastic_trials",
            "Trials of the beginning of streamed bodies"),
    GAUGE(IN_FLIGHT, COUNT, "ElasticInFlight", "elastic_in_flight_bodies",
          "Bodies that are in an encoder"),
    GAUGE(MEMORY, COUNT, "ElasticMemory", "elastic_memory_bytes",
          "Bytes that bodies on their way hold"),
    GAUGE(MAX_MEMORY, COUNT, "ElasticMaxMemory", "elastic_memory_limit_bytes",
          "Bytes that bodies on their way may hold"),
    EL_REASONS(REASON_ROW)
};

/* Reads the counters and the memory in use. */
static void status_read_counters(now_t *now)
{
    /* The default bound is for request bodies, and of no interest if nothing decodes them. */
    bool is_bounded = el_shared.config.max_memory != EL_NO_MAX_MEMORY
                      && (!el_shared.config.max_of_requests || el_record_loaded(EL_RECORD_DEFLATE)
                          || atomic_load_explicit(&el_settings_inflate, memory_order_relaxed));

    for (int i = 0; i < EL_COUNT_TOTAL; i++) {
        now->number[i] = (double)el_counters_total(&el_shared.block->counters, (el_counter_t)i);
    }
    now->number[EL_COUNT_SKIPPED + (unsigned)EL_REASON_NONE] = NAN;
    now->number[BROKEN] = el_shmcb_is_broken();
    now->number[CPU_USEC] = (double)el_counters_cpu_usec(&el_shared.block->counters);
    now->number[IMPROVED_USEC] = floor(now->number[EL_COUNT_IMPROVED_NSEC] / 1000);
    el_holders_forget_gone();
    now->number[IN_FLIGHT] = (double)el_in_flight_nbytes(&el_shared.block->busy);
    now->number[MEMORY] = is_bounded ? (double)el_in_flight_nbytes(&el_shared.block->held) : NAN;
    now->number[MAX_MEMORY] = is_bounded ? (double)el_shared.config.max_memory : NAN;
}

/* The level for a large page whose client takes no other coding; 0 if nothing encodes it. */
static int status_level_of(el_coding_t coding, el_effort_t effort)
{
    el_range_t range = el_policy_ranges[coding];
    el_ladder_key_t key = {
        .set = EL_CODING_BIT(coding), .range = el_policy_ranges, .whole = true,
    };

    if (!range.enabled) {
        return 0;
    }
    if (!el_shared_is_adaptive(range)) {
        return el_shared_level(range, effort);
    }
    return effort.price >= 0 ? el_ladders_choose(&key, effort, UINT32_MAX).level
                           : el_ladders_level(&key, coding, el_shared_level(range, effort));
}

/* Programs always find numbers: a load or a price is 0 until the first sample. */
static void status_read_controller(now_t *now)
{
    const el_control_config_t *config = &el_shared.config.control;
    const el_state_t *state = &el_shared.block->state;
    el_control_state_t control = el_state_control(state);
    el_effort_t effort = el_shared_effort_at(control);
    uint64_t load = atomic_load_explicit(&state->load_ppm, memory_order_relaxed);
    uint64_t started = atomic_load(&el_shared.block->counters.started), usec = el_clock_usec();

    now->number[UPTIME] = usec > started ? floor((double)(usec - started) / 1e6) : 0;
    now->number[FOLLOWS] =
        el_shared.config.position ? atomic_load(&state->source) == EL_SOURCE_FILE : NAN;
    now->number[CPU] = load == EL_STATE_NO_LOAD ? 0 : (double)load / EL_PPM;
    now->number[CPU_LOW] = config->low;
    now->number[CPU_HIGH] = config->high;
    now->number[INTERVAL] = (double)(el_shared.config.interval / 1000);
    now->number[SAMPLES] = (double)atomic_load(&state->samples);
    now->number[STEPS] = (double)atomic_load(&state->steps);
    now->number[POSITION] = control.top ? el_control_position(control) / control.top : 1;
    now->number[BYPASS] = control.bypass;
    for (int i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        now->number[LEVEL + i] = status_level_of((el_coding_t)i, effort);
    }
    /* The price of a saved byte, and the rate of a wire that takes that time for a byte. */
    now->number[PRICE] = el_control_is_priced(config) ? fmax(effort.price, 0) : NAN;
    now->number[RATE] = now->number[PRICE] > 0 ? NSEC_OF_BYTE_AT_MBIT / now->number[PRICE]
                                               : now->number[PRICE];
}

/*
 * True if no level follows from the number `which`, or it is not there: thresholds while a price
 * sets the levels, a price while a file does, a load that nobody reads.
 */
static bool status_is_idle(int which)
{
    const el_control_config_t *config = &el_shared.config.control;
    bool is_off = config->mode == EL_CONTROL_OFF, is_bypassing = config->bypass <= 1;
    bool follows = el_shared.config.position
                   && atomic_load(&el_shared.block->state.source) == EL_SOURCE_FILE;
    bool by_load = !is_off && !follows && (is_bypassing || !el_control_is_priced(config));

    switch (which) {
    case CPU:
    case INTERVAL:
    case SAMPLES:
    case STEPS:
    case POSITION:
        return is_off;
    case CPU_LOW:
        return !by_load && (is_off || el_shared.config.idle <= 0);
    case CPU_HIGH:
        return !by_load;
    case PRICE:
    case RATE:
        return follows;
    case BYPASS:
        return is_off || (!is_bypassing && !follows);
    default:
        return false;
    }
}

/* The figures (el_figure_t) now. */
static apr_array_header_t *status_read_figures(apr_pool_t *pool)
{
    static const char *const controls[] = {
        [EL_CONTROL_STEP] = "step", [EL_CONTROL_MIX] = "mix", [EL_CONTROL_OFF] = "off",
    };
    apr_array_header_t *figures = apr_array_make(pool, 128, sizeof(el_figure_t));
    now_t now;

    now.word[VERSION] = ELASTIC_VERSION;
    now.word[ENGINES] = el_engine_list(apr_palloc(pool, ENGINES_SIZE), ENGINES_SIZE);
    now.word[CONTROL] =
        el_shared.config.position ? "external" : controls[el_shared.config.control.mode];
    now.word[GOAL] = el_shared.config.goal;
    now.word[LOAD] = el_tick_load(pool);
    status_read_counters(&now);
    status_read_controller(&now);
    for (size_t i = 0; i < sizeof(figure_rows) / sizeof(figure_rows[0]); i++) {
        const row_t *row = &figure_rows[i];
        double number = row->format ? now.number[row->which] : 0;
        el_figure_t *figure;

        if (isnan(number)) {
            continue;
        }
        figure = apr_array_push(figures);
        *figure = (el_figure_t){
            .key = row->key,
            .value = row->format ? apr_psprintf(pool, row->format, number) : now.word[row->which],
            .text = row->unit ? apr_psprintf(pool, "%s, %s", row->text, row->unit) : row->text,
            .number = row->format != NULL,
            .idle = row->format && status_is_idle(row->which),
            .family = row->own.name ? &row->own : row->family,
            .label = row->label,
            .label_value = row->label_value,
        };
        figure->sample = row->per_unit > 0 ? apr_psprintf(pool, "%.12g", number / row->per_unit)
                                           : figure->value;
    }
    return figures;
}

/*
 * Adds the costs of each setup within the server's bounds, for programs: nanoseconds for a KB, a
 * slash, percent, for each class of sizes. They have no text and no metric.
 */
static void status_add_costs(apr_array_header_t *figures)
{
    /* The length of a body that stands for each class; see cost.h. */
    static const uint64_t nbytes[EL_SIZE_CLASSES] = {1024, 4096, 16384, 65536, 300 * 1024};
    apr_pool_t *pool = figures->pool;

    for (int i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        el_range_t range = el_policy_ranges[i];

        for (int level = range.min; range.enabled && level <= range.max; level++) {
            el_coding_t coding = (el_coding_t)i;
            const char *value = "";

            for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
                el_setup_t setup = {.level = level, .size_hint = nbytes[c]};
                el_cost_t cost = el_costs_expect(coding, &setup, true);

                value = apr_psprintf(pool, "%s%s%u/%.1f", value, c ? " " : "", cost.nsec,
                                     cost.size / 100.);
            }
            *(el_figure_t *)apr_array_push(figures) = (el_figure_t){
                .key = apr_psprintf(pool, "ElasticCost-%s-%d", el_coding_info(coding)->token,
                                    level),
                .value = value,
            };
        }
    }
}

/* --- metrics */

/* The format's word for a kind, which knows no infos, and the suffix of its samples' names. */
static const struct {
    const char *type;
    const char *suffix;
} kinds[] = {
    [EL_METRIC_GAUGE] = {"gauge", ""},
    [EL_METRIC_COUNTER] = {"counter", "_total"},
    [EL_METRIC_HISTOGRAM] = {"histogram", ""},
    [EL_METRIC_INFO] = {"gauge", "_info"},
};

static void status_write_family(request_rec *r, const el_family_t *family)
{
    const char *suffix = kinds[family->kind].suffix;

    ap_rprintf(r, "# HELP %s%s %s\n", family->name, suffix, family->help);
    ap_rprintf(r, "# TYPE %s%s %s\n", family->name, suffix, kinds[family->kind].type);
}

/* Escaped for a label's quotes. Metrics are UTF-8, and names of virtual hosts that work ASCII. */
static const char *status_escaped(apr_pool_t *pool, const char *value)
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

static const char *status_label_of(request_rec *r, const el_figure_t *figure)
{
    const char *value = figure->label_value ? figure->label_value : figure->value;

    return apr_psprintf(r->pool, "%s=\"%s\"", figure->label, status_escaped(r->pool, value));
}

/*
 * Writes the family that begins with the figure `i`, and returns the number of the figure behind
 * it. The figures of an info are the labels of its one sample.
 */
static int status_write_figures(request_rec *r, const apr_array_header_t *figures, int i)
{
    const el_family_t *family = APR_ARRAY_IDX(figures, i, el_figure_t).family;
    const char *suffix = kinds[family->kind].suffix;
    bool is_info = family->kind == EL_METRIC_INFO;

    status_write_family(r, family);
    if (is_info) {
        ap_rprintf(r, "%s%s{", family->name, suffix);
    }
    for (int first = i; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        if (figure->family != family) {
            break;
        }
        if (is_info) {
            ap_rprintf(r, "%s%s", i > first ? "," : "", status_label_of(r, figure));
        } else if (figure->label) {
            ap_rprintf(r, "%s%s{%s} %s\n", family->name, suffix, status_label_of(r, figure),
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

/* A histogram's name says what it is of, so that a query needs no label for that. */
static void status_write_histograms(request_rec *r)
{
    static const el_family_t families[EL_TALLY_KINDS] = {
        [EL_TALLY_TIME] = {"elastic_encoding_seconds", EL_METRIC_HISTOGRAM,
                           "Time elapsed while a body was compressed"},
        [EL_TALLY_SIZE] = {"elastic_body_size_bytes", EL_METRIC_HISTOGRAM,
                           "Bodies before they were compressed"},
    };

    for (int i = 0; i < EL_TALLY_KINDS; i++) {
        el_tally_kind_t kind = (el_tally_kind_t)i;
        const el_tally_bound_t *bounds = el_tally_bounds[kind];
        const char *name = families[i].name;

        status_write_family(r, &families[i]);
        for (int j = EL_IDENTITY + 1; j < EL_ALL_CODINGS; j++) {
            const char *coding = el_coding_info((el_coding_t)j)->token;
            el_tally_total_t total;
            uint64_t count = 0;

            el_tally_read(&el_shared.block->tally, (el_coding_t)j, kind, &total);
            for (size_t class = 0; class <= EL_TALLY_BOUNDS; class++) {
                count += total.count[class];
                ap_rprintf(r, "%s_bucket{coding=\"%s\",le=\"%s\"} %" APR_UINT64_T_FMT "\n", name,
                           coding, class < EL_TALLY_BOUNDS ? bounds[class].text : "+Inf", count);
            }
            ap_rprintf(r, "%s_count{coding=\"%s\"} %" APR_UINT64_T_FMT "\n", name, coding, count);
            ap_rprintf(r, "%s_sum{coding=\"%s\"} %.15g\n", name, coding,
                       (double)total.sum / el_tally_scale[kind]);
        }
    }
}

/* The counters by coding and by engine, or whatever else made the encoding. */
static void status_write_made(request_rec *r)
{
    static const el_family_t families[EL_TALLY_COUNTS] = {
        [EL_TALLY_RESPONSES] = {"elastic_coding_responses", EL_METRIC_COUNTER,
                                "Compressed responses, by coding and engine"},
        [EL_TALLY_IN] = {"elastic_coding_input_bytes", EL_METRIC_COUNTER,
                         "Bodies of compressed responses, before, by coding and engine"},
        [EL_TALLY_OUT] = {"elastic_coding_output_bytes", EL_METRIC_COUNTER,
                          "Bodies of compressed responses, after, by coding and engine"},
    };

    for (int which = 0; which < EL_TALLY_COUNTS; which++) {
        status_write_family(r, &families[which]);
        for (int i = 0; i < EL_TALLY_SERIES_COUNT; i++) {
            el_tally_series_t series = (el_tally_series_t)i;
            const el_tally_series_info_t *info = &el_tally_info[series];

            ap_rprintf(r, "%s_total{coding=\"%s\",engine=\"%s\"} %" APR_UINT64_T_FMT "\n",
                       families[which].name, el_coding_info(info->coding)->token, info->engine,
                       el_tally_made(&el_shared.block->tally, series, (el_tally_count_t)which));
        }
    }
}

static void status_write_vhosts(request_rec *r)
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
        status_write_family(r, &rows[i].family);
        for (unsigned slot = 0; slot <= EL_VHOST_OTHER; slot++) {
            const char *name = el_vhosts_name(slot);

            if (name) {
                ap_rprintf(r, "%s_total{vhost=\"%s\"} %" APR_UINT64_T_FMT "\n",
                           rows[i].family.name, status_escaped(r->pool, name),
                           el_vhosts_total(&el_shared.block->vhosts, slot, rows[i].count));
            }
        }
    }
}

/* Answers with all metrics in Prometheus's text format 0.0.4. */
static void status_answer_metrics(request_rec *r)
{
    const apr_array_header_t *figures = status_read_figures(r->pool);
    int i = 0;

    ap_set_content_type(r, "text/plain; version=0.0.4; charset=utf-8");
    while (i < figures->nelts) {
        i = APR_ARRAY_IDX(figures, i, el_figure_t).family ? status_write_figures(r, figures,
                                                                                 i) : i + 1;
    }
    status_write_vhosts(r);
    status_write_made(r);
    status_write_histograms(r);
}

/* --- the other forms */

static void status_write_lines(request_rec *r, apr_array_header_t *figures)
{
    status_add_costs(figures);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);

        ap_rprintf(r, "%s: %s\n", figure->key, figure->value);
    }
}

/* Keys and values hold nothing that JSON would have escaped. */
static void status_write_json(request_rec *r, apr_array_header_t *figures)
{
    status_add_costs(figures);
    ap_rputs("{", r);
    for (int i = 0; i < figures->nelts; i++) {
        const el_figure_t *figure = &APR_ARRAY_IDX(figures, i, el_figure_t);
        const char *quote = figure->number ? "" : "\"";

        ap_rprintf(r, "%s\n  \"%s\": %s%s%s", i ? "," : "", figure->key, quote, figure->value,
                   quote);
    }
    ap_rputs("\n}\n", r);
}

/* --- handlers */

#define PREFIX "elastic-"
#define STATUS PREFIX "status"
#define METRICS PREFIX "metrics"

/*
 * The SetHandler directives of the server's own configuration, by the pointers to their parsed
 * forms: merges copy these pointers, and .htaccess brings pointers of its own. Of pconf.
 */
static apr_hash_t *configured;

static void status_collect_handlers(const core_dir_config *dir);

/* Those of sections, which may have others within. */
static void status_collect_sections(const apr_array_header_t *sections)
{
    for (int i = 0; sections && i < sections->nelts; i++) {
        status_collect_handlers(
            ap_get_core_module_config(APR_ARRAY_IDX(sections, i, ap_conf_vector_t *)));
    }
}

static void status_collect_handlers(const core_dir_config *dir)
{
    if (dir->expr_handler) {
        apr_hash_set(configured, apr_pmemdup(apr_hash_pool_get(configured), &dir->expr_handler,
                                             sizeof(dir->expr_handler)),
                     sizeof(dir->expr_handler), dir);
    }
    status_collect_sections(dir->sec_file);
    status_collect_sections(dir->sec_if);
}

void el_status_configure(server_rec *main_server, apr_pool_t *pconf)
{
    configured = apr_hash_make(pconf);
    for (server_rec *server = main_server; server; server = server->next) {
        const core_server_config *core = ap_get_core_module_config(server->module_config);

        status_collect_handlers(ap_get_core_module_config(server->lookup_defaults));
        status_collect_sections(core->sec_dir);
        status_collect_sections(core->sec_url);
    }
}

/*
 * True if a SetHandler of the server's own configuration has chosen the request's handler. A tenant
 * could choose it by AddHandler, by RewriteRule, or by SetHandler in a .htaccess.
 */
static bool status_is_configured(request_rec *r)
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

EL_RARE static int status_answer(request_rec *r)
{
    bool is_metrics = strcmp(r->handler, METRICS) == 0;
    /* Programs that take parameters, such as Prometheus, write `json` as `json=`. */
    const char *query = r->args ? apr_pstrmemdup(r->pool, r->args, strcspn(r->args, "=")) : "";

    if (!is_metrics && strcmp(r->handler, STATUS) != 0) {
        return DECLINED;
    }
    if (!status_is_configured(r)) {
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
    if (is_metrics || strcmp(query, "openmetrics") == 0) {
        status_answer_metrics(r);
    } else if (strcmp(query, "auto") == 0) {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        status_write_lines(r, status_read_figures(r->pool));
    } else if (strcmp(query, "json") == 0) {
        ap_set_content_type(r, "application/json");
        status_write_json(r, status_read_figures(r->pool));
    } else {
        el_page_answer(r, status_read_figures(r->pool));
    }
    return OK;
}

/* Every response asks this; most handlers' names differ in the first letter. */
int el_status_handler(request_rec *r)
{
    return r->handler && *r->handler == *PREFIX && strncmp(r->handler, PREFIX, strlen(PREFIX)) == 0
               ? status_answer(r) : DECLINED;
}

int el_status_section(request_rec *r, int flags)
{
    apr_array_header_t *figures = status_read_figures(r->pool);

    if (flags & AP_STATUS_SHORT) {
        status_write_lines(r, figures);
    } else {
        ap_rputs("<hr>\n<h2>mod_elastic</h2>\n", r);
        el_page_write_figures(r, figures, "");
    }
    return OK;
}

/* --- httpd -t -D DUMP_ELASTIC */

/* Where lines go, and the pool of their texts. */
typedef struct {
    apr_file_t *file;
    apr_pool_t *pool;
} dump_t;

/* Without line breaks: a value with one would be two lines. */
static const char *status_clean(const dump_t *dump, const char *value)
{
    char *text = apr_pstrdup(dump->pool, value ? value : "");

    for (char *at = text; *at; at++) {
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
    return text;
}

static void status_put(const dump_t *dump, const char *key, const char *value)
{
    apr_file_printf(dump->file, "%s: %s\n", key, value);
}

static void status_put_flag(const dump_t *dump, const char *key, bool on)
{
    status_put(dump, key, on ? "On" : "Off");
}

static const char *status_joined(const dump_t *dump, const apr_array_header_t *words)
{
    return words ? status_clean(dump, apr_array_pstrcat(dump->pool, words, ' ')) : "";
}

/* The codings in force, best first, with their levels. */
static const char *status_codings_of(const dump_t *dump, const el_dir_t *dir)
{
    const char *text = "";

    for (size_t i = 0; i < dir->codings_count; i++) {
        el_coding_t coding = dir->codings[i];

        text = apr_psprintf(dump->pool, "%s%s%s %d %d", text, i ? ", " : "",
                            el_coding_info(coding)->token, dir->range[coding].min,
                            dir->range[coding].max);
    }
    return text;
}

static const char *status_addresses_of(const dump_t *dump, const server_rec *server)
{
    apr_array_header_t *words = apr_array_make(dump->pool, 1, sizeof(const char *));

    for (const server_addr_rec *at = server->addrs; at; at = at->next) {
        APR_ARRAY_PUSH(words, const char *) =
            apr_psprintf(dump->pool, "%s:%u", at->virthost, (unsigned)at->host_port);
    }
    return status_joined(dump, words);
}

/*
 * The settings in force in a virtual host outside of sections, and the files of
 * ElasticDictionaryFile that it serves, also those of sections.
 */
static void status_put_vhost(const dump_t *dump, const server_rec *server)
{
    const el_dir_t *dir = el_record_settings(EL_RECORD_ELASTIC, server->lookup_defaults);
    const int64_t *value = dir->values.value;
    const el_dictionary_rule_t *rule = el_dir_dictionary(dir);
    const apr_array_header_t *files = el_server_of(server)->dictionary_files;
    const core_server_config *core = ap_get_core_module_config(server->module_config);
    const char *link = el_dir_dictionary_link(dir);

    status_put(dump, "\nVirtualHost",
               server->is_virtual ? status_addresses_of(dump, server) : "main");
    status_put(dump, "DefinedAt", server->defn_name
               ? apr_psprintf(dump->pool, "%s:%u", status_clean(dump, server->defn_name),
                              server->defn_line_number) : "");
    status_put(dump, "ServerName", status_clean(dump, server->server_hostname));
    status_put(dump, "ServerPort", server->port ? apr_itoa(dump->pool, server->port) : "");
    status_put(dump, "ServerAlias", status_joined(dump, server->names));
    status_put(dump, "ServerAliasPattern", status_joined(dump, server->wild_names));
    status_put(dump, "DocumentRoot", status_clean(dump, core->ap_document_root));
    status_put_flag(dump, "Elastic", value[EL_DIR_ENABLED]);
    status_put(dump, "ElasticLevel", status_codings_of(dump, dir));
    status_put_flag(dump, "ElasticCache", value[EL_DIR_CACHE]);
    status_put_flag(dump, "ElasticPrecompressed", value[EL_DIR_PRECOMPRESSED]);
    status_put(dump, "ElasticDictionary",
               rule ? apr_pstrcat(dump->pool, rule->match, "\t", rule->dest, "\t", rule->id,
                                  NULL) : "");
    status_put(dump, "ElasticDictionaryLink", link ? link : "");
    for (int i = 0; files && i < files->nelts; i++) {
        const el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

        status_put(dump, "ElasticDictionaryFile",
                   apr_pstrcat(dump->pool, status_clean(dump, file->path), "\t",
                               file->bytes ? file->url : "",
                               "\t", file->rule.match, "\t", file->rule.dest, "\t",
                               status_joined(dump, file->hosts), NULL));
    }
}

/* The module's directives below `node` as httpd has read them, each with its sections. */
static void status_put_directives(const dump_t *dump, const ap_directive_t *node,
                                  const char *sections)
{
    for (; node; node = node->next) {
        const char *text = apr_pstrcat(dump->pool, node->directive, " ", node->args, NULL);

        if (node->first_child) {
            status_put_directives(dump, node->first_child,
                                  apr_pstrcat(dump->pool, sections, *sections ? " " : "",
                                              status_clean(dump, text), NULL));
        } else if (strncasecmp(node->directive, "Elastic", strlen("Elastic")) == 0) {
            status_put(dump, "Directive",
                       apr_psprintf(dump->pool, "%s:%d\t%s\t%s", status_clean(dump, node->filename),
                                    node->line_num, sections, status_clean(dump, text)));
        }
    }
}

void el_dump(apr_pool_t *pool, server_rec *main_server)
{
    const el_dictionary_store_t *store;
    dump_t dump = {.pool = pool};

    if (!ap_exists_config_define("DUMP_ELASTIC") || !el_record_loaded(EL_RECORD_ELASTIC)
        || apr_file_open_stdout(&dump.file, pool) != APR_SUCCESS) {
        return;
    }
    store = el_server_of(main_server)->dictionary_store;
    status_put(&dump, "ElasticVersion", ELASTIC_VERSION);
    status_put(&dump, "ServerRoot", status_clean(&dump, ap_server_root));
    status_put(&dump, "RunDirectory", status_clean(&dump, ap_runtime_dir_relative(pool, "")));
    status_put(&dump, "User",
               apr_psprintf(pool, "%s %u %u", status_clean(&dump, ap_unixd_config.user_name),
                                           (unsigned)ap_unixd_config.user_id,
                                           (unsigned)ap_unixd_config.group_id));
    status_put(&dump, "ElasticDictionaryStore",
               store ? apr_psprintf(pool, "%s\t%" APR_UINT64_T_FMT,
                                    status_clean(&dump, store->folder), store->most) : "");
    for (const server_rec *server = main_server; server; server = server->next) {
        status_put_vhost(&dump, server);
    }
    apr_file_printf(dump.file, "\n");
    status_put_directives(&dump, ap_conftree, "");
}
