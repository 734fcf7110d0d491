#include "httpd/config/config.h"

#include "engines/engines.h"
#include "engines/memory.h"

#include "apr_strings.h"

atomic_bool el_settings_inflate, el_settings_precompressed, el_settings_cache;
el_dir_t el_dir_defaults;
el_server_t el_server_defaults;
el_range_t el_policy_ranges[EL_CODINGS];

/* --- creation and merge */

void *el_dir_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pmemdup(pool, &el_dir_defaults, sizeof(el_dir_defaults));
}

void *el_server_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pmemdup(pool, &el_server_defaults, sizeof(el_server_defaults));
}

/* Joins two lists, the outer one first; either may be NULL. */
static apr_array_header_t *settings_joined(apr_pool_t *pool, apr_array_header_t *outer,
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
    to->dictionary_files = settings_joined(pool, to->dictionary_files,
                                                  from->dictionary_files);
    if (from->types_replace || !to->types) {
        to->types_replace = to->types_replace || from->types_replace;
        to->types = from->types ? from->types : to->types;
    } else if (from->types) {
        to->types = apr_array_append(pool, to->types, from->types);
    }
    return to;
}

void el_server_dictionary_files_off(el_server_t *server, apr_pool_t *pool)
{
    const apr_array_header_t *files = server->dictionary_files;
    apr_array_header_t *left = apr_array_make(pool, 1, sizeof(el_dictionary_file_t *));

    for (int i = 0; files && i < files->nelts; i++) {
        el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, el_dictionary_file_t *);

        if (file->in_section) {
            APR_ARRAY_PUSH(left, el_dictionary_file_t *) = file;
        }
    }
    server->dictionary_files = left;
    server->dictionary_files_off = true;
}

void *el_server_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_server_t *from = add;
    el_server_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(&to->values, &from->values);
    /* Other fields are global: their directives are refused within <VirtualHost>. */
    to->dictionary_rules = settings_joined(pool, to->dictionary_rules,
                                                  from->dictionary_rules);
    if (from->dictionary_files_off) {
        el_server_dictionary_files_off(to, pool);
    }
    to->dictionary_files = settings_joined(pool, to->dictionary_files,
                                                  from->dictionary_files);
    return to;
}

/* --- reading */

bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any)
{
    el_mediatype_t type;

    if (dir->types && el_mediatype_read(content_type, &type)) {
        for (int i = dir->types->nelts - 1; i >= 0; i--) { /* in a ?: expression, GCC 14 warns of
                                                              NULL */
            const el_type_rule_t *rule = &APR_ARRAY_IDX(dir->types, i, el_type_rule_t);

            if (el_mediatype_match(&rule->pattern, &type)) {
                return rule->listed;
            }
        }
    }
    return !dir->types_replace && (any || el_mediatype_is_default(content_type));
}

const el_dictionary_rule_t *el_dir_dictionary(const el_dir_t *dir)
{
    return dir->dictionary && dir->dictionary->match ? dir->dictionary : NULL;
}

const char *el_dir_dictionary_link(const el_dir_t *dir)
{
    return dir->dictionary_link && *dir->dictionary_link ? dir->dictionary_link : NULL;
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

/* --- policy */

/*
 * In place of ElasticMinSize's own default, for the drop-in filters: mod_deflate skips bodies of up
 * to 68 bytes in a single brigade; mod_brotli skips none.
 */
static const int64_t settings_stock_min[EL_RECORDS] = {
    [EL_RECORD_DEFLATE] = 69, [EL_RECORD_BROTLI] = 0,
};

size_t el_policy_codings(const el_dir_t *dir, el_record_t record, const el_coding_t **order)
{
    const el_coding_t *only = &el_record_infos[record].coding;
    size_t i = 0;

    if (*only == EL_IDENTITY) {
        *order = dir->codings;
        return dir->codings_count;
    }
    *order = only;
    while (i < dir->codings_count && dir->codings[i] != *only) {
        i++;
    }
    return i < dir->codings_count;
}

/* The stock module's level is the ceiling; the levels below it may be used. */
static el_range_t settings_range(const el_dir_t *dir, const el_stock_t *stock,
                                        el_record_t record, el_coding_t coding)
{
    const el_coding_info_t *info = el_coding_info(coding);
    int ceiling = info->stock_level;

    if (dir->range_set[coding] || record == EL_RECORD_ELASTIC) {
        return dir->range[coding];
    }
    if (el_value_is_set(&stock->values, EL_STOCK_LEVEL)) {
        ceiling = (int)stock->values.value[EL_STOCK_LEVEL];
    }
    return el_range_of(info->default_min < ceiling ? info->default_min : ceiling, ceiling);
}

el_policy_t el_policy_of(const request_rec *r, el_record_t record)
{
    const el_dir_t *dir = el_dir_of(r);
    const int64_t *value = dir->values.value;
    bool is_stock = record != EL_RECORD_ELASTIC;
    bool stock_min = is_stock && !el_value_is_set(&dir->values, EL_DIR_MIN_SIZE);
    uint64_t whole = (uint64_t)value[EL_DIR_WHOLE_BODY];
    el_policy_t policy = {
        .record = record,
        .dir = dir,
        .stock = el_stock_of(r->server, record),
        .is_stock = is_stock,
        .min_size = stock_min ? settings_stock_min[record] : value[EL_DIR_MIN_SIZE],
        .min_of_one_brigade = stock_min,
        .whole_most = whole < el_pool_whole() ? whole : el_pool_whole(),
    };

    policy.order_count = el_policy_codings(dir, record, &policy.order);
    return policy;
}

void el_policy_read_encoding(el_policy_t *policy)
{
    const el_values_t *values = &policy->dir->values;
    bool stock_etag = policy->is_stock && !el_value_is_set(values, EL_DIR_ETAG);

    for (size_t i = 0; i < policy->order_count; i++) {
        policy->range[policy->order[i]] =
            settings_range(policy->dir, policy->stock, policy->record, policy->order[i]);
    }
    policy->max_time = values->value[EL_DIR_MAX_TIME];
    policy->etag = (el_etag_mode_t)(stock_etag ? policy->stock->values.value[EL_STOCK_ETAG]
                                               : values->value[EL_DIR_ETAG]);
}

void el_policy_configure(const server_rec *main_server)
{
    const el_dir_t *dir = el_record_settings(EL_RECORD_ELASTIC, main_server->lookup_defaults);

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        el_policy_ranges[i] =
            dir && i != EL_IDENTITY ? dir->range[i] : (el_range_t){.enabled = false};
    }
    for (int i = EL_RECORD_ELASTIC + 1; i < EL_RECORDS && !dir; i++) {
        el_coding_t coding = el_record_infos[i].coding;

        if (el_records_loaded[i]) {
            el_policy_ranges[coding] =
                settings_range(&el_dir_defaults, el_stock_of(main_server, (el_record_t)i),
                                      (el_record_t)i, coding);
        }
    }
}
