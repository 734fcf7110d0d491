#include "httpd/status/figures.h"

#include "httpd/cache/backends.h"
#include "httpd/config/policy.h"
#include "httpd/config/settings.h"
#include "httpd/shared/costs.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/shared/tick.h"

#include "elastic/decide.h"
#include "engines/engines.h"
#include "host/clock.h"

#include "apr_strings.h"

#include <math.h>

/* Room for the names and versions of all engines. */
#define ENGINES_SIZE 256

/* The time of eight bits at 1 Mbit/s. */
#define NSEC_OF_BYTE_AT_MBIT 8000.

/* The unit of a key, and how many of it are one of its metric's. */
#define MILLIS .unit = "ms", .per_unit = 1e3
#define MICROS .unit = "µs", .per_unit = 1e6
#define NANOS .unit = "ns", .per_unit = 1e9

/* Figures that are words. */
enum { VERSION, ENGINES, CONTROL, GOAL, LOAD, WORDS };

/* Those that are numbers: the counters of the shared block by their own numbers, and these. */
enum {
    UPTIME = EL_COUNT_TOTAL, FOLLOWS, CPU, CPU_LOW, CPU_HIGH, INTERVAL, SAMPLES, STEPS, POSITION,
    LEVEL, /* of each coding */
    PRICE = LEVEL + EL_CODINGS, RATE, BYPASS,
    CPU_USEC,
    BROKEN, IMPROVED_USEC, IN_FLIGHT, MEMORY, MAX_MEMORY,
    NUMBERS
};

/* What there is to show, read once. */
typedef struct {
    const char *word[WORDS];
    double number[NUMBERS]; /* NAN: it is not shown; a counter is exact up to 2^53 */
} now_t;

/* What is known of a figure before its value. */
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

/* Of one of several counters of a family: its note is the end of the key, and its label. */
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
          "Load below which effort goes up"),
    GAUGE(CPU_HIGH, SHARE, "ElasticCPUHigh", "elastic_cpu_high_ratio",
          "Load above which effort goes down"),
    GAUGE(INTERVAL, COUNT, "ElasticInterval", "elastic_sample_interval_seconds",
          "Time between samples of the load", MILLIS),
    COUNTER(SAMPLES, "ElasticSamples", "elastic_samples", "Samples of the load"),
    COUNTER(STEPS, "ElasticSteps", "elastic_position_changes",
            "Changes of the position by the controller"),
    GAUGE(POSITION, SHARE, "ElasticPosition", "elastic_position_ratio",
          "Position of the levels, 0 the floor, 1 the ceiling"),
    ROW(LEVEL + EL_GZIP, COUNT, "ElasticLevelGzip", "Level of gzip", OF(levels, "coding", "gzip")),
    ROW(LEVEL + EL_BR, COUNT, "ElasticLevelBr", "Level of br", OF(levels, "coding", "br")),
    ROW(LEVEL + EL_ZSTD, COUNT, "ElasticLevelZstd", "Level of zstd", OF(levels, "coding", "zstd")),
    GAUGE(PRICE, SHARE, "ElasticPrice", "elastic_byte_price_seconds",
          "CPU time that a saved byte may cost", NANOS),
    ROW(RATE, SHARE, "ElasticPriceRate", "Which is its time on a wire of, Mbit/s", .family = NULL),
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
            "Responses with a cached encoding"),
    COUNTER(EL_COUNT_CACHE_MISSES, "ElasticCacheMisses", "elastic_cache_misses",
            "Bodies without a cached encoding that is as good"),
    COUNTER(EL_COUNT_CACHE_STORED, "ElasticCacheStored", "elastic_cache_stored",
            "Encodings that the cache took"),
    COUNTER(EL_COUNT_CACHE_FAULTS, "ElasticCacheFaults", "elastic_cache_faults",
            "Faults of the cache"),
    COUNTER(EL_COUNT_CACHE_BUSY, "ElasticCacheBusy", "elastic_cache_busy",
            "Times that the cache was not waited for"),
    GAUGE(BROKEN, COUNT, "ElasticCacheBroken", "elastic_cache_broken",
          "1 while the cache is off because children ended in it"),
    COUNTER(EL_COUNT_IMPROVED, "ElasticImproved", "elastic_improved_encodings",
            "Cached encodings that were made smaller while the CPU was idle"),
    COUNTER(IMPROVED_USEC, "ElasticImprovedUsec", "elastic_improving_cpu_seconds",
            "CPU time of improving encodings", MICROS),
    COUNTER(EL_COUNT_IMPROVED_BYTES, "ElasticImprovedBytes", "elastic_improved_bytes",
            "Bytes that responses had less for improved encodings"),
    COUNTER(EL_COUNT_DICTIONARIES, "ElasticDictionaries", "elastic_dictionaries",
            "Responses that became dictionaries"),
    COUNTER(EL_COUNT_DICTIONARY_FAULTS, "ElasticDictionaryFaults", "elastic_dictionary_faults",
            "Faults of the folder of dictionaries"),
    COUNTER(EL_COUNT_DIFFERENCES, "ElasticDifferences", "elastic_differences",
            "Responses that were compressed with a dictionary"),
    COUNTER(EL_COUNT_DIFFERENCES_IN, "ElasticDifferenceBytesIn", "elastic_difference_input_bytes",
            "Bytes of those before"),
    COUNTER(EL_COUNT_DIFFERENCES_OUT, "ElasticDifferenceBytesOut",
            "elastic_difference_output_bytes", "Bytes of those after"),
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

static void read_counters(now_t *now)
{
    for (int i = 0; i < EL_COUNT_TOTAL; i++) {
        now->number[i] = (double)el_counters_total(&el_shared.block->counters, (el_counter_t)i);
    }
    now->number[EL_COUNT_SKIPPED + (unsigned)EL_REASON_NONE] = NAN;
    now->number[BROKEN] = el_shmcb_is_broken();
    now->number[IMPROVED_USEC] = floor(now->number[EL_COUNT_IMPROVED_NSEC] / 1000);
}

static const char *control_word(void)
{
    static const char *const words[] = {
        [EL_CONTROL_STEP] = "step",
        [EL_CONTROL_MIX] = "mix",
        [EL_CONTROL_OFF] = "off",
    };

    return el_shared.config.position ? "external" : words[el_shared.config.control.mode];
}

static void read_words(now_t *now, apr_pool_t *pool)
{
    now->word[VERSION] = ELASTIC_VERSION;
    now->word[ENGINES] = el_engine_list(apr_palloc(pool, ENGINES_SIZE), ENGINES_SIZE);
    now->word[CONTROL] = control_word();
    now->word[GOAL] = el_shared.config.goal;
    now->word[LOAD] = el_tick_load(pool);
}

/* The level for a large page whose client takes no other coding; 0 where nothing encodes it. */
static int level_of(el_coding_t coding, el_effort_t effort)
{
    el_range_t range = el_policy_ranges()[coding];
    el_ladder_key_t key = {
        .set = EL_CODING_BIT(coding), .range = el_policy_ranges(), .whole = true,
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

/*
 * What a saved byte may cost, and the rate of the wire on which that is the time it takes. Always
 * numbers, for programs: 0 until the first sample, and while a position file is followed.
 */
static void read_price(now_t *now, double price)
{
    bool is_priced = el_control_is_priced(&el_shared.config.control);

    now->number[PRICE] = is_priced ? price : NAN;
    now->number[RATE] = is_priced && price > 0 ? NSEC_OF_BYTE_AT_MBIT / price : now->number[PRICE];
}

static void read_controller(now_t *now)
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
    /* Always a number, for programs: while ElasticSamples is 0 there was no sample. */
    now->number[CPU] = load == EL_STATE_NO_LOAD ? 0 : (double)load / EL_PPM;
    now->number[CPU_LOW] = config->low;
    now->number[CPU_HIGH] = config->high;
    now->number[INTERVAL] = (double)(el_shared.config.interval / 1000);
    now->number[SAMPLES] = (double)atomic_load(&state->samples);
    now->number[STEPS] = (double)atomic_load(&state->steps);
    now->number[POSITION] = control.top ? el_control_position(control) / control.top : 1;
    now->number[BYPASS] = control.bypass;
    for (int i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        now->number[LEVEL + i] = level_of((el_coding_t)i, effort);
    }
    read_price(now, effort.price > 0 ? effort.price : 0);
}

/*
 * The bound of request bodies is there by default, but of no interest where nothing decodes them.
 */
static bool is_memory_bounded(void)
{
    return el_shared.config.max_memory != EL_NO_MAX_MEMORY
           && (!el_shared.config.max_of_requests || el_record_loaded(EL_RECORD_DEFLATE)
               || atomic_load_explicit(&el_settings_inflate, memory_order_relaxed));
}

static void read_memory(now_t *now)
{
    bool is_bounded = is_memory_bounded();

    el_holders_forget_gone();
    now->number[IN_FLIGHT] = (double)el_in_flight_nbytes(&el_shared.block->busy);
    now->number[MEMORY] = is_bounded ? (double)el_in_flight_nbytes(&el_shared.block->held) : NAN;
    now->number[MAX_MEMORY] = is_bounded ? (double)el_shared.config.max_memory : NAN;
}

static void add(apr_array_header_t *figures, const row_t *row, const now_t *now)
{
    double number = row->format ? now->number[row->which] : 0;
    el_figure_t figure = {
        .key = row->key,
        .text = row->unit ? apr_psprintf(figures->pool, "%s, %s", row->text, row->unit) : row->text,
        .number = row->format != NULL,
        .family = row->own.name ? &row->own : row->family,
        .label = row->label,
        .label_value = row->label_value,
    };

    if (isnan(number)) {
        return;
    }
    figure.value = row->format ? apr_psprintf(figures->pool, row->format, number)
                               : now->word[row->which];
    figure.sample = row->per_unit > 0
                        ? apr_psprintf(figures->pool, "%.12g", number / row->per_unit)
                        : figure.value;
    *(el_figure_t *)apr_array_push(figures) = figure;
}

apr_array_header_t *el_figures(apr_pool_t *pool)
{
    apr_array_header_t *figures = apr_array_make(pool, 128, sizeof(el_figure_t));
    now_t now;

    read_counters(&now);
    read_words(&now, pool);
    read_controller(&now);
    now.number[CPU_USEC] = (double)el_counters_cpu_usec(&el_shared.block->counters);
    read_memory(&now);
    for (size_t i = 0; i < sizeof(figure_rows) / sizeof(figure_rows[0]); i++) {
        add(figures, &figure_rows[i], &now);
    }
    return figures;
}

/* What a setup is expected to take and to leave of bodies of each class of sizes. */
static const char *cost_of(apr_pool_t *pool, el_coding_t coding, int level)
{
    /* A body's length that stands for each class; see cost.h. */
    static const uint64_t nbytes[EL_SIZE_CLASSES] = {1024, 4096, 16384, 65536, 300 * 1024};
    const char *value = "";

    for (unsigned c = 0; c < EL_SIZE_CLASSES; c++) {
        el_setup_t setup = {.level = level, .size_hint = nbytes[c]};
        el_cost_t cost = el_costs_expect(coding, &setup, true);

        value = apr_psprintf(pool, "%s%s%u/%.1f", value, c ? " " : "", cost.nsec,
                             cost.size / 100.);
    }
    return value;
}

void el_figures_add_costs(apr_array_header_t *figures)
{
    apr_pool_t *pool = figures->pool;
    const el_range_t *range = el_policy_ranges();

    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        for (int level = range[coding].min;
             range[coding].enabled && level <= range[coding].max; level++) {
            *(el_figure_t *)apr_array_push(figures) = (el_figure_t){
                .key = apr_psprintf(pool, "ElasticCost-%s-%d",
                                    el_coding_info((el_coding_t)coding)->token, level),
                .value = cost_of(pool, (el_coding_t)coding, level),
            };
        }
    }
}
