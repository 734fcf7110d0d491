#include "httpd/status/figures.h"

#include "httpd/config/policy.h"
#include "httpd/config/settings.h"
#include "httpd/control/ladders.h"
#include "httpd/control/sampler.h"
#include "httpd/state/shared.h"

#include "elastic/decide.h"
#include "engines/engines.h"
#include "host/clock.h"

#include "apr_strings.h"

/* Micros of a second. */
#define MILLION 1000000.

/* Room for the names and versions of all engines. */
#define ENGINES_SIZE 256

/* The time of eight bits at 1 Mbit/s. */
#define NSEC_OF_BYTE_AT_MBIT 8000.

typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *figures;
} list_t;

static void add(list_t *list, const char *key, const char *text, bool is_number, const char *value)
{
    *(el_figure_t *)apr_array_push(list->figures) = (el_figure_t){key, value, text, is_number};
}

static void add_count(list_t *list, const char *key, const char *text, uint64_t value)
{
    add(list, key, text, true, apr_psprintf(list->pool, "%" APR_UINT64_T_FMT, value));
}

static void add_share(list_t *list, const char *key, const char *text, double value)
{
    add(list, key, text, true, apr_psprintf(list->pool, "%.3f", value));
}

static const char *control_word(void)
{
    static const char *const words[] = {
        [EL_CONTROL_STEP] = "step",
        [EL_CONTROL_MIX] = "mix",
        [EL_CONTROL_PREDICT] = "predict",
        [EL_CONTROL_OFF] = "off",
    };

    return el_shared.config.position ? "external" : words[el_shared.config.control.mode];
}

static void add_controller(list_t *list)
{
    const el_control_config_t *config = &el_shared.config.control;
    const el_state_t *state = el_shared.state;
    el_control_state_t control = el_state_control(state);
    uint64_t load = atomic_load_explicit(&state->load_ppm, memory_order_relaxed);

    add(list, "ElasticControl", "Controller", false, control_word());
    add(list, "ElasticGoal", "Goal", false, el_shared.config.goal);
    if (el_shared.config.position) {
        add_count(list, "ElasticFollows", "Follows the position file",
                  atomic_load(&state->source) == EL_SOURCE_FILE);
    }
    add(list, "ElasticLoad", "Load", false, el_sampler_load(list->pool));
    /* Always a number, for programs; while ElasticSamples is 0 there was no sample. */
    add_share(list, "ElasticCPU", "CPU load, last sample",
              load == EL_STATE_NO_LOAD ? 0 : (double)load / EL_PPM);
    add_share(list, "ElasticCPULow", "Effort goes up below", config->low);
    add_share(list, "ElasticCPUHigh", "Effort goes down above", config->high);
    add_count(list, "ElasticInterval", "Between samples, ms", el_shared.config.interval / 1000);
    add_count(list, "ElasticSamples", "Samples", atomic_load(&state->samples));
    add_count(list, "ElasticSteps", "Changes of the position", atomic_load(&state->steps));
    add_share(list, "ElasticPosition", "Position, 0 the floor, 1 the ceiling",
              control.top ? el_control_position(control) / control.top : 1);
}

/* The level for a large page whose client takes no other coding. */
static int level_of(el_coding_t coding, el_range_t range, el_turn_t turn)
{
    el_ladder_key_t key = {
        .set = EL_CODING_BIT(coding), .range = el_policy_site()->range, .whole = true,
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
static void add_price(list_t *list, double price)
{
    add(list, "ElasticPrice", "Price of a saved byte, ns of CPU time", true,
        apr_psprintf(list->pool, "%.3f", price));
    add(list, "ElasticPriceRate", "Which is its time on a wire of, Mbit/s", true,
        apr_psprintf(list->pool, "%.3f", price > 0 ? NSEC_OF_BYTE_AT_MBIT / price : 0));
}

static void add_levels(list_t *list)
{
    static const struct {
        el_coding_t coding;
        const char *key;
        const char *text;
    } rows[] = {
        {EL_GZIP, "ElasticLevelGzip", "Level of gzip"},
        {EL_BR, "ElasticLevelBr", "Level of br"},
        {EL_ZSTD, "ElasticLevelZstd", "Level of zstd"},
    };
    const el_control_config_t *config = &el_shared.config.control;
    el_control_state_t control = el_state_control(el_shared.state);
    el_turn_t turn = el_shared_priced(control);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        el_range_t range = el_policy_site()->range[rows[i].coding];

        add_count(list, rows[i].key, rows[i].text,
                  range.enabled ? (uint64_t)level_of(rows[i].coding, range, turn) : 0);
    }
    if (el_control_is_priced(config)) {
        add_price(list, turn.price > 0 ? turn.price : 0);
    }
    add_count(list, "ElasticBypass", "Bypass (1: nothing is compressed)", control.bypass);
}

static void add_cache(list_t *list)
{
    static const struct {
        const char *key;
        const char *text;
        el_counter_t counter;
    } rows[] = {
        {"ElasticCacheHits", "Responses with an encoding that was kept", EL_COUNT_CACHE_HITS},
        {"ElasticCacheMisses", "Bodies without one as good", EL_COUNT_CACHE_MISSES},
        {"ElasticCacheStored", "Encodings that were kept", EL_COUNT_CACHE_STORED},
        {"ElasticCacheFaults", "Faults of their store", EL_COUNT_CACHE_FAULTS},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        add_count(list, rows[i].key, rows[i].text,
                  el_counters_total(el_shared.counters, rows[i].counter));
    }
    add_count(list, "ElasticImproved", "Of them, made smaller while the CPU was idle",
              el_counters_total(el_shared.counters, EL_COUNT_IMPROVED));
    add_count(list, "ElasticImprovedUsec", "CPU time of that, µs",
              el_counters_total(el_shared.counters, EL_COUNT_IMPROVED_NSEC) / 1000);
    add_count(list, "ElasticImprovedBytes", "Bytes that responses had less for it",
              el_counters_total(el_shared.counters, EL_COUNT_IMPROVED_BYTES));
}

static void add_counters(list_t *list)
{
    const el_counters_t *counters = el_shared.counters;

    add_count(list, "ElasticCompressed", "Compressed responses",
              el_counters_total(counters, EL_COUNT_COMPRESSED));
    add_count(list, "ElasticBytesIn", "Their bytes before",
              el_counters_total(counters, EL_COUNT_BYTES_IN));
    add_count(list, "ElasticBytesOut", "Their bytes after",
              el_counters_total(counters, EL_COUNT_BYTES_OUT));
    add_count(list, "ElasticCpuUsec", "CPU time in the encoders, µs",
              (uint64_t)el_work_usec(el_counters_work(counters)));
    add_count(list, "ElasticPrecompressed", "Responses served from siblings",
              el_counters_total(counters, EL_COUNT_PRECOMPRESSED));
    for (int fault = 0; fault < EL_SIBLING_FAULTS_COUNT; fault++) {
        add_count(list,
                  apr_pstrcat(list->pool, "ElasticPrecompressedSkipped-",
                              el_sibling_fault_note(fault), NULL),
                  apr_pstrcat(list->pool, "Siblings not sent: ", el_sibling_fault_text(fault), NULL),
                  el_counters_total(counters, (el_counter_t)(EL_COUNT_SIBLING + fault)));
    }
    add_cache(list);
    add_count(list, "ElasticProbes", "Trials of content that compresses badly",
              el_counters_total(counters, EL_COUNT_PROBES));
    add_count(list, "ElasticExplored", "Bodies encoded once more, to measure other setups",
              el_counters_total(counters, EL_COUNT_EXPLORED));
    add_count(list, "ElasticExploredUsec", "CPU time of that, µs",
              el_counters_total(counters, EL_COUNT_EXPLORED_NSEC) / 1000);
    if (el_shared.config.max_memory != EL_NO_MAX_MEMORY) {
        add_count(list, "ElasticMemory", "Bytes that bodies on their way hold",
                  el_held_nbytes(el_shared.held));
        add_count(list, "ElasticMaxMemory", "Of, at most",
                  (uint64_t)el_shared.config.max_memory);
    }
    for (int reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        add_count(list, apr_pstrcat(list->pool, "ElasticSkipped-", el_reason_note(reason), NULL),
                  apr_pstrcat(list->pool, "Not compressed: ", el_reason_text(reason), NULL),
                  el_counters_total(counters, (el_counter_t)(EL_COUNT_SKIPPED + reason)));
    }
}

apr_array_header_t *el_figures(apr_pool_t *pool)
{
    list_t list = {pool, apr_array_make(pool, 48, sizeof(el_figure_t))};
    uint64_t started = atomic_load(&el_shared.counters->started);
    uint64_t now = el_clock_usec();

    add(&list, "ElasticVersion", "mod_elastic", false, ELASTIC_VERSION);
    add(&list, "ElasticEngines", "Built in", false,
        el_engine_list(apr_palloc(pool, ENGINES_SIZE), ENGINES_SIZE));
    add_count(&list, "ElasticUptime", "Running for, s",
              now > started ? (uint64_t)((double)(now - started) / MILLION) : 0);
    add_controller(&list);
    add_levels(&list);
    add_counters(&list);
    return list.figures;
}
