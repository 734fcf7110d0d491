#include "httpd/status/figures.h"

#include "httpd/config/policy.h"
#include "httpd/config/settings.h"
#include "httpd/control/ladders.h"
#include "httpd/control/sampler.h"
#include "httpd/state/holders.h"
#include "httpd/state/past.h"
#include "httpd/state/shared.h"
#include "httpd/status/figure_list.h"
#include "httpd/status/figures_saved.h"

#include "elastic/decide.h"
#include "engines/engines.h"
#include "host/clock.h"

#include "apr_strings.h"

/* Room for the names and versions of all engines. */
#define ENGINES_SIZE 256

/* The time of eight bits at 1 Mbit/s. */
#define NSEC_OF_BYTE_AT_MBIT 8000.

static const char *control_word(void)
{
    static const char *const words[] = {
        [EL_CONTROL_STEP] = "step",
        [EL_CONTROL_MIX] = "mix",
        [EL_CONTROL_OFF] = "off",
    };

    return el_shared.config.position ? "external" : words[el_shared.config.control.mode];
}

static void add_build(el_list_t *list)
{
    static const el_family_t build = {"elastic_build", EL_METRIC_INFO,
                                      "The module and its compression libraries"};
    static const el_row_t texts[] = {
        ROW_OF(&build, "ElasticVersion", "mod_elastic", "version", NULL),
        ROW_OF(&build, "ElasticEngines", "Built in", "engines", NULL),
    };
    static const el_row_t uptime = ROW("ElasticUptime", "Running for, s",
                                       GAUGE("elastic_uptime_seconds",
                                             "Time since the start, or the last full restart"));
    uint64_t started = atomic_load(&el_shared.counters->started);
    uint64_t now = el_clock_usec();

    el_add_text(list, &texts[0], ELASTIC_VERSION);
    el_add_text(list, &texts[1],
                el_engine_list(apr_palloc(list->pool, ENGINES_SIZE), ENGINES_SIZE));
    el_add_count(list, &uptime, now > started ? (uint64_t)((double)(now - started) / MICROS) : 0);
}

static void add_controller(el_list_t *list)
{
    static const el_family_t controller = {"elastic_controller", EL_METRIC_INFO,
                                           "What moves the levels, what for, and by which load"};
    static const el_row_t rows[] = {
        ROW_OF(&controller, "ElasticControl", "Controller", "control", NULL),
        ROW_OF(&controller, "ElasticGoal", "Goal", "goal", NULL),
        ROW_OF(&controller, "ElasticLoad", "Load", "load", NULL),
    };
    static const el_row_t follows = ROW("ElasticFollows", "Follows the position file",
                                        GAUGE("elastic_follows_file",
                                              "1 while the position file is followed"));

    el_add_text(list, &rows[0], control_word());
    el_add_text(list, &rows[1], el_shared.config.goal);
    el_add_text(list, &rows[2], el_sampler_load(list->pool));
    if (el_shared.config.position) {
        el_add_count(list, &follows, atomic_load(&el_shared.state->source) == EL_SOURCE_FILE);
    }
}

static void add_position(el_list_t *list)
{
    static const el_row_t cpu[] = {
        ROW("ElasticCPU", "CPU load, last sample",
            GAUGE("elastic_cpu_load_ratio", "CPU load of the last sample")),
        ROW("ElasticCPULow", "Effort goes up below",
            GAUGE("elastic_cpu_low_ratio", "Load below which effort goes up")),
        ROW("ElasticCPUHigh", "Effort goes down above",
            GAUGE("elastic_cpu_high_ratio", "Load above which effort goes down")),
    };
    static const el_row_t interval = ROW_IN(MILLIS, "ElasticInterval", "Between samples, ms",
                                            GAUGE("elastic_sample_interval_seconds",
                                                  "Time between samples of the load"));
    static const el_row_t samples = ROW("ElasticSamples", "Samples",
                                        COUNTER("elastic_samples", "Samples of the load"));
    static const el_row_t steps = ROW("ElasticSteps", "Changes of the position",
                                      COUNTER("elastic_position_changes",
                                              "Changes of the position by the controller"));
    static const el_row_t position = ROW("ElasticPosition", "Position, 0 the floor, 1 the ceiling",
                                         GAUGE("elastic_position_ratio",
                                               "Position of the levels, 0 the floor, 1 the "
                                               "ceiling"));
    const el_control_config_t *config = &el_shared.config.control;
    const el_state_t *state = el_shared.state;
    el_control_state_t control = el_state_control(state);
    uint64_t load = atomic_load_explicit(&state->load_ppm, memory_order_relaxed);

    /* Always a number, for programs; while ElasticSamples is 0 there was no sample. */
    el_add_share(list, &cpu[0], load == EL_STATE_NO_LOAD ? 0 : (double)load / EL_PPM);
    el_add_share(list, &cpu[1], config->low);
    el_add_share(list, &cpu[2], config->high);
    el_add_count(list, &interval, el_shared.config.interval / 1000);
    el_add_count(list, &samples, atomic_load(&state->samples));
    el_add_count(list, &steps, atomic_load(&state->steps));
    el_add_share(list, &position,
                 control.top ? el_control_position(control) / control.top : 1);
}

/* The level for a large page whose client takes no other coding. */
static int level_of(el_coding_t coding, el_range_t range, el_turn_t turn)
{
    el_ladder_key_t key = {
        .set = EL_CODING_BIT(coding), .range = el_policy_ranges(), .whole = true,
    };

    if (!el_shared_moves(range)) {
        return el_shared_level(range, turn);
    }
    return turn.price >= 0 ? el_ladders_choose(&key, turn, UINT32_MAX).level
                           : el_ladders_level(&key, coding, el_shared_level(range, turn));
}

/*
 * What a saved byte may cost, and the rate of the wire on which that is the time it takes. Always
 * numbers, for programs: 0 until the first sample, and while a position file is followed.
 */
static void add_price(el_list_t *list, double price)
{
    static const el_row_t rows[] = {
        ROW_IN(NANOS, "ElasticPrice", "Price of a saved byte, ns of CPU time",
               GAUGE("elastic_byte_price_seconds",
                     "CPU time that a saved byte may cost")),
        ROW("ElasticPriceRate", "Which is its time on a wire of, Mbit/s", NONE),
    };
    double rate = price > 0 ? NSEC_OF_BYTE_AT_MBIT / price : 0;

    el_add_number(list, &rows[0], apr_psprintf(list->pool, "%.3f", price), price);
    el_add_number(list, &rows[1], apr_psprintf(list->pool, "%.3f", rate), rate);
}

static void add_levels(el_list_t *list)
{
    static const el_family_t level = {"elastic_level", EL_METRIC_GAUGE,
                                      "Level for a client of this one coding now"};
    static const struct {
        el_coding_t coding;
        el_row_t row;
    } rows[] = {
        {EL_GZIP, ROW_OF(&level, "ElasticLevelGzip", "Level of gzip", "coding", "gzip")},
        {EL_BR, ROW_OF(&level, "ElasticLevelBr", "Level of br", "coding", "br")},
        {EL_ZSTD, ROW_OF(&level, "ElasticLevelZstd", "Level of zstd", "coding", "zstd")},
    };
    static const el_row_t bypass = ROW("ElasticBypass", "Bypass (1: nothing is compressed)",
                                       GAUGE("elastic_bypass",
                                             "1 while nothing is compressed because of the load"));
    el_control_state_t control = el_state_control(el_shared.state);
    el_turn_t turn = el_shared_priced(control);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        el_range_t range = el_policy_ranges()[rows[i].coding];

        el_add_count(list, &rows[i].row,
                     range.enabled ? (uint64_t)level_of(rows[i].coding, range, turn) : 0);
    }
    if (el_control_is_priced(&el_shared.config.control)) {
        add_price(list, turn.price > 0 ? turn.price : 0);
    }
    el_add_count(list, &bypass, control.bypass);
}

/* A counter of the shared block; `divisor` leads from its unit to the key's. */
typedef struct {
    el_counter_t counter;
    unsigned divisor;
    el_row_t row;
} counter_row_t;

static void add_counters(el_list_t *list, const counter_row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        el_add_count(list, &rows[i].row,
                     el_counters_total(el_shared.counters, rows[i].counter) / rows[i].divisor);
    }
}

static void add_compressed(el_list_t *list)
{
    static const counter_row_t rows[] = {
        {EL_COUNT_COMPRESSED, 1,
         ROW("ElasticCompressed", "Compressed responses",
             COUNTER("elastic_compressed_responses", "Responses that went out compressed"))},
        {EL_COUNT_BYTES_IN, 1,
         ROW("ElasticBytesIn", "Their bytes before",
             COUNTER("elastic_input_bytes", "Bodies of compressed responses, before"))},
        {EL_COUNT_BYTES_OUT, 1,
         ROW("ElasticBytesOut", "Their bytes after",
             COUNTER("elastic_output_bytes", "Bodies of compressed responses, after"))},
    };
    static const el_row_t cpu = ROW_IN(MICROS, "ElasticCpuUsec", "CPU time in the encoders, µs",
                                       COUNTER("elastic_encoding_cpu_seconds",
                                               "CPU time in the encoders, estimated"));
    static const counter_row_t siblings[] = {
        {EL_COUNT_PRECOMPRESSED, 1,
         ROW("ElasticPrecompressed", "Responses served from siblings",
             COUNTER("elastic_precompressed_responses", "Responses served from siblings"))},
    };

    add_counters(list, rows, sizeof(rows) / sizeof(rows[0]));
    el_add_count(list, &cpu, (uint64_t)el_past_ever().encoding_usec);
    add_counters(list, siblings, 1);
}

/* One of several counters of a family, each with a note: the end of its key and its label. */
typedef struct {
    const char *key;
    const char *text;
    el_family_t family;
} noted_t;

static void add_noted(el_list_t *list, const noted_t *noted, const char *note, const char *text,
                      el_counter_t counter)
{
    el_row_t row = ROW_OF(&noted->family, apr_pstrcat(list->pool, noted->key, note, NULL),
                          apr_pstrcat(list->pool, noted->text, text, NULL), "reason", note);

    el_add_count(list, &row, el_counters_total(el_shared.counters, counter));
}

static void add_sibling_faults(el_list_t *list)
{
    static const noted_t noted = {
        "ElasticPrecompressedSkipped-", "Siblings not sent: ",
        COUNTER("elastic_precompressed_skipped", "Siblings that were not sent, by reason")};

    for (int fault = 0; fault < EL_SIBLING_FAULTS_COUNT; fault++) {
        add_noted(list, &noted, el_sibling_fault_note(fault), el_sibling_fault_text(fault),
                  (el_counter_t)(EL_COUNT_SIBLING + fault));
    }
}

static void add_reasons(el_list_t *list)
{
    static const noted_t noted = {
        "ElasticSkipped-", "Not compressed: ",
        COUNTER("elastic_skipped_responses", "Responses that were not compressed, by reason")};

    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        add_noted(list, &noted, el_reason_note(reason), el_reason_text(reason),
                  (el_counter_t)(EL_COUNT_SKIPPED + reason));
    }
}

static void add_cache(el_list_t *list)
{
    static const counter_row_t rows[] = {
        {EL_COUNT_CACHE_HITS, 1,
         ROW("ElasticCacheHits", "Responses with an encoding that was kept",
             COUNTER("elastic_cache_hits", "Responses with an encoding that was kept"))},
        {EL_COUNT_CACHE_MISSES, 1,
         ROW("ElasticCacheMisses", "Bodies without one as good",
             COUNTER("elastic_cache_misses",
                     "Bodies without a kept encoding that is as good"))},
        {EL_COUNT_CACHE_STORED, 1,
         ROW("ElasticCacheStored", "Encodings that were kept",
             COUNTER("elastic_cache_stored", "Encodings that the store took"))},
        {EL_COUNT_CACHE_FAULTS, 1,
         ROW("ElasticCacheFaults", "Faults of their store",
             COUNTER("elastic_cache_faults", "Faults of the store of encodings"))},
        {EL_COUNT_IMPROVED, 1,
         ROW("ElasticImproved", "Of them, made smaller while the CPU was idle",
             COUNTER("elastic_improved_encodings",
                     "Kept encodings that were made smaller while the CPU was idle"))},
        {EL_COUNT_IMPROVED_NSEC, 1000,
         ROW_IN(MICROS, "ElasticImprovedUsec", "CPU time of that, µs",
                COUNTER("elastic_improving_cpu_seconds",
                        "CPU time of improving encodings"))},
        {EL_COUNT_IMPROVED_BYTES, 1,
         ROW("ElasticImprovedBytes", "Bytes that responses had less for it",
             COUNTER("elastic_improved_bytes",
                     "Bytes that responses had less for improved encodings"))},
    };

    add_counters(list, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_dictionaries(el_list_t *list)
{
    static const counter_row_t rows[] = {
        {EL_COUNT_DICTIONARIES, 1,
         ROW("ElasticDictionaries", "Responses that became dictionaries",
             COUNTER("elastic_dictionaries", "Responses that became dictionaries"))},
        {EL_COUNT_DICTIONARY_FAULTS, 1,
         ROW("ElasticDictionaryFaults", "Faults of their folder",
             COUNTER("elastic_dictionary_faults", "Faults of the folder of dictionaries"))},
        {EL_COUNT_DIFFERENCES, 1,
         ROW("ElasticDifferences", "Responses sent as what differs from a dictionary",
             COUNTER("elastic_differences",
                     "Responses that were sent as what differs from a dictionary"))},
        {EL_COUNT_DIFFERENCES_IN, 1,
         ROW("ElasticDifferenceBytesIn", "Their bytes before",
             COUNTER("elastic_difference_input_bytes", "Bytes of those before"))},
        {EL_COUNT_DIFFERENCES_OUT, 1,
         ROW("ElasticDifferenceBytesOut", "Their bytes after",
             COUNTER("elastic_difference_output_bytes", "Bytes of those after"))},
    };
    static const noted_t noted = {
        "ElasticDictionaryAsked-", "Asked with a dictionary: ",
        COUNTER("elastic_dictionary_requests",
                "Requests that named a dictionary, by what became of it")};

    add_counters(list, rows, sizeof(rows) / sizeof(rows[0]));
    for (int reason = 0; reason < EL_DICTIONARY_REASON_COUNT; reason++) {
        add_noted(list, &noted, el_dictionary_note((el_dictionary_reason_t)reason),
                  el_dictionary_text((el_dictionary_reason_t)reason),
                  (el_counter_t)(EL_COUNT_DICTIONARY + reason));
    }
}

static void add_learning(el_list_t *list)
{
    static const counter_row_t rows[] = {
        {EL_COUNT_PROBES, 1,
         ROW("ElasticProbes", "Trials of the beginning of streamed bodies",
             COUNTER("elastic_trials", "Trials of the beginning of streamed bodies"))},
        {EL_COUNT_EXPLORED, 1,
         ROW("ElasticExplored", "Bodies encoded once more, to measure other setups",
             COUNTER("elastic_explored_bodies",
                     "Bodies encoded once more, to measure other setups"))},
        {EL_COUNT_EXPLORED_NSEC, 1000,
         ROW_IN(MICROS, "ElasticExploredUsec", "CPU time of that, µs",
                COUNTER("elastic_exploring_cpu_seconds",
                        "CPU time of measuring other setups"))},
    };

    add_counters(list, rows, sizeof(rows) / sizeof(rows[0]));
}

/* The bound of request bodies is there by default, but of no interest where nothing decodes them. */
static bool is_memory_bounded(void)
{
    return el_shared.config.max_memory != EL_NO_MAX_MEMORY
           && (!el_shared.config.max_of_requests || el_record_loaded(EL_RECORD_DEFLATE)
               || atomic_load_explicit(&el_settings_inflate, memory_order_relaxed));
}

static void add_memory(el_list_t *list)
{
    static const el_row_t now = ROW("ElasticInFlight", "Bodies in an encoder now",
                                    GAUGE("elastic_in_flight_bodies",
                                          "Bodies that are in an encoder"));
    static const el_row_t bound[] = {
        ROW("ElasticMemory", "Bytes that bodies on their way hold",
            GAUGE("elastic_memory_bytes", "Memory that bodies on their way hold")),
        ROW("ElasticMaxMemory", "Of, at most",
            GAUGE("elastic_memory_limit_bytes",
                  "Memory that bodies on their way may hold")),
    };

    el_holders_forget_gone();
    el_add_count(list, &now, el_held_nbytes(el_shared.busy));
    if (is_memory_bounded()) {
        el_add_count(list, &bound[0], el_held_nbytes(el_shared.held));
        el_add_count(list, &bound[1], (uint64_t)el_shared.config.max_memory);
    }
}

apr_array_header_t *el_figures(apr_pool_t *pool)
{
    el_list_t list = {pool, apr_array_make(pool, 64, sizeof(el_figure_t))};

    add_build(&list);
    add_controller(&list);
    add_position(&list);
    add_levels(&list);
    add_compressed(&list);
    add_sibling_faults(&list);
    el_figures_add_saved(&list);
    add_cache(&list);
    add_dictionaries(&list);
    add_learning(&list);
    add_memory(&list);
    add_reasons(&list);
    return list.figures;
}
