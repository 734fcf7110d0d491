/*
 * The settings' life: creation, per-field merge, and their defaults. The directives are in
 * directives.c.
 */
#include "httpd/config/settings.h"

#include "httpd/base/merge.h"
#include "httpd/base/records.h"

#include "elastic/engine.h"
#include "apr_strings.h"
#include "http_core.h"

/*
 * ElasticCPU: the paper leaves the thresholds to the operator; these keep a fifth of the CPU in
 * reserve.
 */
#define DEFAULT_LOW .50
#define DEFAULT_HIGH .80

/*
 * The least that the paper advises (§4.3), so that the load that a step causes is seen by the next.
 */
#define DEFAULT_INTERVAL apr_time_from_msec(500)

/* In httpd's run directory. */
#define DEFAULT_POSITION "elastic.position"

/* Best first among equal q: br saves more bytes than gzip at any cost that both can have. */
static const el_coding_t default_codings[] = {EL_BR, EL_ZSTD, EL_GZIP};

bool el_settings_untagged;
atomic_bool el_settings_inflate, el_settings_precompressed;

void el_settings_prepare(void)
{
    el_settings_untagged = false;
    atomic_store(&el_settings_inflate, false);
    atomic_store(&el_settings_precompressed, false);
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

void *el_dir_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_dir_t *from = add;
    el_dir_t *to = apr_pmemdup(pool, base, sizeof(*to));

    EL_TAKE(to, from, enabled);
    EL_TAKE(to, from, precompressed);
    EL_TAKE(to, from, inflate);
    EL_TAKE(to, from, min_size);
    EL_TAKE(to, from, whole_body);
    EL_TAKE(to, from, max_time);
    EL_TAKE(to, from, etag);
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
    if (from->types_replace || !to->types) {
        to->types_replace = to->types_replace || from->types_replace;
        to->types = from->types ? from->types : to->types;
    } else if (from->types) {
        to->types = apr_array_append(pool, to->types, from->types);
    }
    return to;
}

void *el_server_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_server_t *from = add;
    el_server_t *to = apr_pmemdup(pool, base, sizeof(*to));

    /* The other fields are global: httpd refuses their directives within <VirtualHost>. */
    if (from->mtu) {
        to->mtu = from->mtu;
    }
    return to;
}

static const el_dir_t *dir_among(const ap_conf_vector_t *configs)
{
    static const el_dir_t unset;
    const el_dir_t *found = el_record_settings(EL_RECORD_ELASTIC, configs);

    return found ? found : &unset;
}

const el_dir_t *el_dir_of(const request_rec *r)
{
    return dir_among(r->per_dir_config);
}

const el_dir_t *el_dir_global(const server_rec *main_server)
{
    return dir_among(main_server->lookup_defaults);
}

const el_server_t *el_server_of(const server_rec *server)
{
    static const el_server_t unset;
    const el_server_t *found = el_record_settings(EL_RECORD_ELASTIC, server->module_config);

    return found ? found : &unset;
}

bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any)
{
    bool all_listed = any && !dir->types_replace;
    el_mediatype_t type;

    if (!el_mediatype_read(content_type, &type)) {
        return all_listed;
    }
    for (int i = dir->types ? dir->types->nelts - 1 : -1; i >= 0; i--) {
        const el_type_rule_t *rule = &APR_ARRAY_IDX(dir->types, i, el_type_rule_t);

        if (el_mediatype_match(&rule->pattern, &type)) {
            return rule->listed;
        }
    }
    return all_listed || (!dir->types_replace && el_mediatype_is_default(&type));
}

size_t el_dir_codings(const el_dir_t *dir, el_coding_t *order)
{
    const el_coding_t *from = dir->codings_set ? dir->codings : default_codings;
    size_t from_count = dir->codings_set ? dir->codings_count
                                         : sizeof(default_codings) / sizeof(default_codings[0]);
    size_t count = 0;

    for (size_t i = 0; i < from_count; i++) {
        if (el_engine_for(from[i])) {
            order[count++] = from[i];
        }
    }
    return count;
}

el_range_t el_dir_range(const el_dir_t *dir, el_coding_t coding)
{
    const el_coding_info_t *info = el_coding_info(coding);
    int top = el_engine_top(coding);
    el_range_t range = {0};

    if (!info || top == EL_ENGINE_NONE) {
        return range;
    }
    if (dir->range_set[coding]) {
        range = dir->range[coding];
    } else {
        range = el_range_of(info->default_min, info->default_max);
    }
    range.min = range.min > top ? top : range.min;
    range.max = range.max > top ? top : range.max;
    return range;
}

void el_dir_ranges(const el_dir_t *dir, el_range_t *ranges)
{
    for (int i = 0; i < EL_CODINGS; i++) {
        ranges[i] = el_dir_range(dir, (el_coding_t)i);
    }
}

uint64_t el_dir_whole_body(const el_dir_t *dir)
{
    return dir->whole_body_set ? dir->whole_body : EL_DEFAULT_WHOLE_BODY;
}

uint64_t el_server_pool_memory(const el_server_t *server)
{
    return server->pool_memory_set ? server->pool_memory : EL_DEFAULT_POOL_MEMORY;
}

size_t el_server_mtu(const el_server_t *server)
{
    return server->mtu ? server->mtu : EL_DEFAULT_MTU;
}

el_control_config_t el_server_control(const el_server_t *server, const el_range_t *ranges)
{
    double high = server->cpu_set ? server->high : DEFAULT_HIGH;
    double bypass = server->bypass_set ? server->bypass : EL_NO_BYPASS;

    return (el_control_config_t){
        .mode = server->mode_set ? server->mode : EL_CONTROL_STEP,
        .low = server->cpu_set ? server->low : DEFAULT_LOW,
        .high = high,
        /* Below the high threshold it could begin where it has to end, and flap. */
        .bypass = bypass < high ? high : bypass,
        .top = el_ladder_top(ranges),
        .goal = server->goal,
    };
}

apr_interval_time_t el_server_interval(const el_server_t *server)
{
    return server->interval ? server->interval : DEFAULT_INTERVAL;
}

const char *el_server_proc_stat(const el_server_t *server)
{
    return server->proc_stat;
}

el_load_kind_t el_server_load(const el_server_t *server)
{
    if (server->load_set) {
        return server->load;
    }
    return server->proc_stat ? EL_LOAD_STAT : EL_LOAD_AUTO;
}

const char *el_server_position(const el_server_t *server, apr_pool_t *pool)
{
    if (!server->external) {
        return NULL;
    }
    return server->position ? server->position : ap_runtime_dir_relative(pool, DEFAULT_POSITION);
}
