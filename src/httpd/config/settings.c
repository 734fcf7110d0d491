/*
 * The settings' life: creation, per-field merge, and their defaults. The directives are in
 * directives.c.
 */
#include "httpd/config/settings.h"

#include "httpd/base/records.h"

#include "elastic/counters.h"
#include "elastic/engine.h"
#include "elastic/etag.h"
#include "elastic/http.h"
#include "engines/engines.h"

#include "apr_strings.h"
#include "http_core.h"

/*
 * ElasticCPU: the paper leaves the thresholds to the operator; these keep a fifth of the CPU in
 * reserve.
 */
#define DEFAULT_LOW_PPM 500000
#define DEFAULT_HIGH_PPM 800000

/*
 * The least that the paper advises (§4.3), so that the load that a step causes is seen by the next.
 */
#define DEFAULT_INTERVAL apr_time_from_msec(500)

/*
 * ElasticWholeBody: a page is below it; larger bodies are streamed, which keeps the memory of a
 * response bounded.
 */
#define DEFAULT_WHOLE_BODY (1024 * 1024)

/* ElasticPoolMemory: 64 MB, a hundred and sixty of zlib's contexts at their largest. */
#define DEFAULT_POOL_MEMORY (64 * 1024 * 1024)

/*
 * ElasticMaxMemory, where it is not given, for request bodies: the client chooses what a decoder of
 * br or zstd takes. 1 MB for each worker, because the operator has chosen their number by the
 * machine's memory, and each takes some megabytes anyway. Ordinary clients stay far below it: gzip
 * takes 40 KB, and where zstd and br take 2 and 4 MB, few of the workers decode at the same time.
 * With few workers, 64 MB: the largest body that is allowed takes 33 MB, two windows of br, and
 * half a window more while one of them grows.
 */
#define REQUESTS_MEMORY_EACH (INT64_C(1) << 20)
#define REQUESTS_MEMORY_LEAST (INT64_C(64) << 20)

/* ElasticCacheMaxSize, and ElasticCacheStore: 64 MB of this machine's memory. */
#define DEFAULT_CACHE_MAX_SIZE (1024 * 1024)

/* Some thousand pages of 10 KB, or some hundred of 100 KB. */
static const el_cache_store_t default_cache_store = {
    .provider = "shmcb", .arguments = "(67108864)", .nbytes = 64 * 1024 * 1024,
};

/* Millionths, in which shares of the CPU are kept. */
#define PPM 1000000

/* ElasticGoal, without ElasticControl and with it. */
#define DEFAULT_GOAL "time 5Mbit/s"
#define DEFAULT_GOAL_CONTROLLED "cpu"

/* In httpd's run directory. */
#define DEFAULT_POSITION "elastic.position"

/* Best first among equal q: br saves more bytes than gzip at any cost that both can have. */
static const el_coding_t preferred_codings[] = {EL_BR, EL_ZSTD, EL_GZIP};

/* Those of them that have an engine. */
static el_coding_t default_codings[EL_CODINGS];
static size_t default_codings_count;

static el_range_t default_range[EL_CODINGS];

atomic_bool el_settings_inflate, el_settings_precompressed, el_settings_cache;

void el_settings_prepare(void)
{
    atomic_store(&el_settings_inflate, false);
    atomic_store(&el_settings_precompressed, false);
    atomic_store(&el_settings_cache, false);
    default_codings_count = 0;
    for (size_t i = 0; i < sizeof(preferred_codings) / sizeof(preferred_codings[0]); i++) {
        if (el_engine_for(preferred_codings[i])) {
            default_codings[default_codings_count++] = preferred_codings[i];
        }
    }
    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        const el_coding_info_t *info = el_coding_info((el_coding_t)i);

        default_range[i] = el_range_built_in((el_coding_t)i,
                                             el_range_of(info->default_min, info->default_max));
    }
}

void *el_dir_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pcalloc(pool, sizeof(el_dir_t));
}

void *el_server_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pcalloc(pool, sizeof(el_server_t));
}

/* Both, the outer ones first; either may be NULL. */
static apr_array_header_t *joined(apr_pool_t *pool, apr_array_header_t *outer,
                                  apr_array_header_t *inner)
{
    return outer && inner ? apr_array_append(pool, outer, inner) : inner ? inner : outer;
}

void *el_dir_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_dir_t *from = add;
    el_dir_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(&to->values, &from->values);
    if (from->codings_set) {
        to->codings_set = true;
        to->codings_count = from->codings_count;
        memcpy(to->codings, from->codings, sizeof(to->codings));
    }
    for (int i = 0; i < EL_CODINGS; i++) {
        if (from->range_set[i]) {
            to->range_set[i] = true;
            to->range[i] = from->range[i];
        }
    }
    to->precompressed_root =
        from->precompressed_root ? from->precompressed_root : to->precompressed_root;
    to->dictionary = from->dictionary ? from->dictionary : to->dictionary;
    to->dictionary_link = from->dictionary_link ? from->dictionary_link : to->dictionary_link;
    to->dictionary_files = joined(pool, to->dictionary_files, from->dictionary_files);
    if (from->types_replace || !to->types) {
        to->types_replace = to->types_replace || from->types_replace;
        to->types = from->types ? from->types : to->types;
    } else if (from->types) {
        to->types = apr_array_append(pool, to->types, from->types);
    }
    return to;
}

/* Those in sections, where ElasticDictionaryFile is Off outside of these. */
static apr_array_header_t *in_sections(apr_pool_t *pool, const apr_array_header_t *files)
{
    apr_array_header_t *found = apr_array_make(pool, 1, sizeof(el_dictionary_file_t *));

    for (int i = 0; files && i < files->nelts; i++) {
        el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, el_dictionary_file_t *);

        if (file->in_section) {
            APR_ARRAY_PUSH(found, el_dictionary_file_t *) = file;
        }
    }
    return found;
}

void el_server_dictionary_files_off(el_server_t *server, apr_pool_t *pool)
{
    server->dictionary_files = in_sections(pool, server->dictionary_files);
    server->dictionary_files_off = true;
}

void *el_server_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_server_t *from = add;
    el_server_t *to = apr_pmemdup(pool, base, sizeof(*to));

    /* The other fields are global: httpd refuses their directives within <VirtualHost>. */
    el_values_merge(&to->values, &from->values);
    to->dictionary_rules = joined(pool, to->dictionary_rules, from->dictionary_rules);
    if (from->dictionary_files_off) {
        el_server_dictionary_files_off(to, pool);
    }
    to->dictionary_files = joined(pool, to->dictionary_files, from->dictionary_files);
    return to;
}

const el_dir_t el_dir_unset;

el_server_t *el_server_config(const server_rec *server)
{
    return el_record_settings(EL_RECORD_ELASTIC, server->module_config);
}

const el_server_t *el_server_of(const server_rec *server)
{
    static const el_server_t unset;
    const el_server_t *found = el_server_config(server);

    return found ? found : &unset;
}

bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any)
{
    el_mediatype_t type;

    if (dir->types && el_mediatype_read(content_type, &type)) {
        for (int i = dir->types->nelts - 1; i >= 0; i--) { /* in a ?: GCC 14 reads it of NULL */
            const el_type_rule_t *rule = &APR_ARRAY_IDX(dir->types, i, el_type_rule_t);

            if (el_mediatype_match(&rule->pattern, &type)) {
                return rule->listed;
            }
        }
    }
    return !dir->types_replace && (any || el_mediatype_is_default(content_type));
}

const el_coding_t *el_dir_codings(const el_dir_t *dir, size_t *count)
{
    *count = dir->codings_set ? dir->codings_count : default_codings_count;
    return dir->codings_set ? dir->codings : default_codings;
}

el_range_t el_range_built_in(el_coding_t coding, el_range_t wanted)
{
    int top = el_engine_top(coding);

    if (top == EL_ENGINE_NONE) {
        return (el_range_t){.enabled = false};
    }
    wanted.min = wanted.min < top ? wanted.min : top;
    wanted.max = wanted.max < top ? wanted.max : top;
    return wanted;
}

el_range_t el_dir_range(const el_dir_t *dir, el_coding_t coding)
{
    return dir->range_set[coding] ? dir->range[coding] : default_range[coding];
}

uint64_t el_dir_whole_body(const el_dir_t *dir)
{
    return (uint64_t)el_value(&dir->values, EL_DIR_WHOLE_BODY, DEFAULT_WHOLE_BODY);
}

const el_dictionary_rule_t *el_dir_dictionary(const el_dir_t *dir)
{
    return dir->dictionary && dir->dictionary->match ? dir->dictionary : NULL;
}

const char *el_dir_dictionary_link(const el_dir_t *dir)
{
    return dir->dictionary_link && *dir->dictionary_link ? dir->dictionary_link : NULL;
}

uint64_t el_server_pool_memory(const el_server_t *server)
{
    return (uint64_t)el_value(&server->values, EL_SERVER_POOL_MEMORY, DEFAULT_POOL_MEMORY);
}

size_t el_server_vhosts(const el_server_t *server)
{
    return (size_t)el_value(&server->values, EL_SERVER_VHOSTS, EL_VHOSTS_DEFAULT);
}

int64_t el_server_max_memory(const el_server_t *server, unsigned workers, bool *only_requests)
{
    int64_t unset = workers * REQUESTS_MEMORY_EACH;

    *only_requests = !el_value_is_set(&server->values, EL_SERVER_MAX_MEMORY);
    unset = unset > REQUESTS_MEMORY_LEAST ? unset : REQUESTS_MEMORY_LEAST;
    return el_value(&server->values, EL_SERVER_MAX_MEMORY, unset);
}

bool el_server_cache_shared(const el_server_t *server)
{
    return el_value(&server->values, EL_SERVER_CACHE_SHARED, false);
}

size_t el_server_cache_max_size(const el_server_t *server)
{
    return (size_t)el_value(&server->values, EL_SERVER_CACHE_MAX_SIZE, DEFAULT_CACHE_MAX_SIZE);
}

el_cache_store_t el_server_cache_store(const el_server_t *server)
{
    return server->cache_store ? *server->cache_store : default_cache_store;
}

size_t el_server_mtu(const el_server_t *server)
{
    return (size_t)el_value(&server->values, EL_SERVER_MTU, EL_DEFAULT_MTU);
}

static double share(const el_server_t *server, unsigned value, int64_t unset)
{
    return (double)el_value(&server->values, value, unset) / PPM;
}

double el_server_idle(const el_server_t *server, bool *top)
{
    *top = el_value(&server->values, EL_SERVER_IDLE_TOP, false);
    return share(server, EL_SERVER_IDLE, 0);
}

const char *el_server_goal(const el_server_t *server)
{
    if (server->goal) {
        return server->goal;
    }
    return el_value_is_set(&server->values, EL_SERVER_CONTROL) ? DEFAULT_GOAL_CONTROLLED
                                                               : DEFAULT_GOAL;
}

el_control_config_t el_server_control(const el_server_t *server, unsigned top)
{
    int64_t control = el_value(&server->values, EL_SERVER_CONTROL, EL_CONTROL_STEP);
    double high = share(server, EL_SERVER_HIGH, DEFAULT_HIGH_PPM);
    double bypass = share(server, EL_SERVER_BYPASS, EL_NO_BYPASS_PPM);
    el_goal_t goal = {.kind = EL_GOAL_CPU};

    el_goal_parse(el_server_goal(server), strlen(el_server_goal(server)), &goal);
    return (el_control_config_t){
        /* Where the position file cannot be read, httpd's own controller sets the position. */
        .mode = control == EL_CONTROL_EXTERNAL ? EL_CONTROL_STEP : (el_control_mode_t)control,
        .low = share(server, EL_SERVER_LOW, DEFAULT_LOW_PPM),
        .high = high,
        /* Below the high threshold it could begin where it has to end, and flap. */
        .bypass = bypass < high ? high : bypass,
        .top = top,
        .goal = goal,
    };
}

apr_interval_time_t el_server_interval(const el_server_t *server)
{
    return el_value(&server->values, EL_SERVER_INTERVAL, DEFAULT_INTERVAL);
}

el_load_kind_t el_server_load(const el_server_t *server)
{
    return (el_load_kind_t)el_value(&server->values, EL_SERVER_LOAD,
                                    server->proc_stat ? EL_LOAD_STAT : EL_LOAD_AUTO);
}

const char *el_server_position(const el_server_t *server, apr_pool_t *pool)
{
    if (el_value(&server->values, EL_SERVER_CONTROL, EL_CONTROL_STEP) != EL_CONTROL_EXTERNAL) {
        return NULL;
    }
    return server->position ? server->position : ap_runtime_dir_relative(pool, DEFAULT_POSITION);
}
