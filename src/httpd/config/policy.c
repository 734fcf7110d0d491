#include "httpd/config/policy.h"

#include "engines/memory.h"

/*
 * mod_deflate leaves bodies alone that are no longer than this, where they come whole in one
 * brigade; mod_brotli none.
 */
#define STOCK_GZIP_SMALL 68

static el_range_t ranges[EL_CODINGS];

size_t el_policy_codings(const el_dir_t *dir, el_record_t record, const el_coding_t **order)
{
    const el_coding_t *only = &el_record_info(record)->coding;
    size_t count, i = 0;
    const el_coding_t *enabled = el_dir_codings(dir, &count);

    *order = *only == EL_IDENTITY ? enabled : only;
    while (*only != EL_IDENTITY && i < count && enabled[i] != *only) {
        i++;
    }
    return *only == EL_IDENTITY ? count : i < count;
}

/* The stock module's level is the ceiling; below it the coding's whole range is free. */
static el_range_t range_of(const el_dir_t *dir, const el_stock_t *stock, el_record_t record,
                           el_coding_t coding)
{
    const el_coding_info_t *info;
    int ceiling;

    if (dir->range_set[coding] || record == EL_RECORD_ELASTIC) {
        return el_dir_range(dir, coding);
    }
    info = el_coding_info(coding);
    ceiling = (int)el_value(&stock->values, EL_STOCK_LEVEL, info->stock_level);
    return el_range_of(info->default_min < ceiling ? info->default_min : ceiling, ceiling);
}

static int64_t min_size_of(el_record_t record)
{
    switch (record) {
    case EL_RECORD_DEFLATE:
        return STOCK_GZIP_SMALL + 1;
    case EL_RECORD_BROTLI:
        return 0;
    default:
        return EL_MIN_SIZE_AUTO;
    }
}

static uint64_t whole_most(const el_dir_t *dir)
{
    uint64_t asked = el_dir_whole_body(dir);

    return asked < el_pool_whole() ? asked : el_pool_whole();
}

el_policy_t el_policy_of(const request_rec *r, el_record_t record)
{
    const el_dir_t *dir = el_dir_of(r);
    const el_stock_t *stock = el_stock_of(r->server, record);
    bool is_stock = record != EL_RECORD_ELASTIC;
    el_policy_t policy = {
        .record = record,
        .dir = dir,
        .stock = stock,
        .is_stock = is_stock,
        .min_size = el_value(&dir->values, EL_DIR_MIN_SIZE, min_size_of(record)),
        .min_of_one_brigade = is_stock && !el_value_is_set(&dir->values, EL_DIR_MIN_SIZE),
        .whole_most = whole_most(dir),
    };

    policy.order_count = el_policy_codings(dir, record, &policy.order);
    return policy;
}

void el_policy_read_encoding(el_policy_t *policy)
{
    const el_values_t *values = &policy->dir->values;
    el_etag_mode_t etag = policy->is_stock ? el_stock_etag(policy->stock) : EL_ETAG_WEAK;

    for (size_t i = 0; i < policy->order_count; i++) {
        policy->range[policy->order[i]] =
            range_of(policy->dir, policy->stock, policy->record, policy->order[i]);
    }
    policy->max_time = el_value(values, EL_DIR_MAX_TIME, EL_NO_MAX_TIME);
    policy->etag = (el_etag_mode_t)el_value(values, EL_DIR_ETAG, etag);
}

void el_policy_configure(const server_rec *main_server)
{
    bool elastic = el_record_loaded(EL_RECORD_ELASTIC);
    const el_dir_t *dir = elastic ? el_record_settings(EL_RECORD_ELASTIC,
                                                       main_server->lookup_defaults)
                                  : &el_dir_unset;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        ranges[i] = elastic && i != EL_IDENTITY ? el_dir_range(dir, (el_coding_t)i)
                                                : (el_range_t){.enabled = false};
    }
    for (int i = EL_RECORD_ELASTIC + 1; i < EL_RECORDS && !elastic; i++) {
        el_record_t record = (el_record_t)i;
        el_coding_t coding = el_record_info(record)->coding;

        if (el_record_loaded(record)) {
            ranges[coding] = range_of(dir, el_stock_of(main_server, record), record, coding);
        }
    }
}

const el_range_t *el_policy_ranges(void)
{
    return ranges;
}
