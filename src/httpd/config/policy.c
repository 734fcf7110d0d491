#include "httpd/config/policy.h"

#include "httpd/state/shared.h"

/* mod_deflate leaves whole bodies alone that are no longer than this; mod_brotli none. */
#define STOCK_GZIP_SMALL 68

bool el_policy_is_stock(el_record_t record)
{
    return record != EL_RECORD_ELASTIC;
}

bool el_policy_type_listed(const el_dir_t *dir, el_record_t record, const char *content_type)
{
    /* Where a filter is named, its types are the operator's business: no list is any type. */
    return el_dir_type_listed(dir, content_type, el_policy_is_stock(record));
}

size_t el_policy_codings(const el_dir_t *dir, el_record_t record, el_coding_t *order)
{
    el_coding_t enabled[EL_CODINGS];
    size_t count = el_dir_codings(dir, enabled);
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        if (!el_policy_is_stock(record) || enabled[i] == el_record_info(record)->coding) {
            order[left++] = enabled[i];
        }
    }
    return left;
}

uint64_t el_policy_min_size(const el_dir_t *dir, el_record_t record)
{
    if (dir->min_size_set) {
        return dir->min_size;
    }
    switch (record) {
    case EL_RECORD_DEFLATE:
        return STOCK_GZIP_SMALL + 1;
    case EL_RECORD_BROTLI:
        return 0;
    default:
        return EL_MIN_SIZE_AUTO;
    }
}

el_etag_mode_t el_policy_etag(const request_rec *r, el_record_t record)
{
    const el_dir_t *dir = el_dir_of(r);

    if (dir->etag_set) {
        return dir->etag;
    }
    return el_policy_is_stock(record) ? el_stock_etag(el_stock_of(r->server, record))
                                      : EL_ETAG_WEAK;
}

/* The stock module's level is the ceiling; below it the coding's whole range is free. */
static el_range_t range_of(const el_dir_t *dir, const el_stock_t *stock, el_record_t record,
                           el_coding_t coding)
{
    const el_coding_info_t *info = el_coding_info(coding);
    int ceiling = stock->level_set ? stock->level : info->stock_level;

    if (dir->range_set[coding] || !el_policy_is_stock(record)) {
        return el_dir_range(dir, coding);
    }
    return el_range_of(info->default_min, ceiling);
}

el_range_t el_policy_range(const request_rec *r, el_record_t record, el_coding_t coding)
{
    return range_of(el_dir_of(r), el_stock_of(r->server, record), record, coding);
}

el_setup_t el_policy_setup(const request_rec *r, el_record_t record, el_coding_t coding)
{
    const el_stock_t *stock = el_stock_of(r->server, record);

    return (el_setup_t){
        .level = el_shared_next_level(el_policy_range(r, record, coding)),
        .window_bits = stock->window_bits,
        .mem_level = stock->mem_level,
        .block_bits = stock->block_bits,
    };
}

void el_policy_ranges(const server_rec *main_server, el_range_t *ranges)
{
    const el_dir_t *global = el_dir_global(main_server);

    if (el_record_loaded(EL_RECORD_ELASTIC)) {
        el_dir_ranges(global, ranges);
        return;
    }
    memset(ranges, 0, sizeof(*ranges) * EL_CODINGS);
    for (int i = EL_RECORD_ELASTIC + 1; i < EL_RECORDS; i++) {
        el_record_t record = (el_record_t)i;
        el_coding_t coding = el_record_info(record)->coding;

        if (el_record_loaded(record)) {
            ranges[coding] = range_of(global, el_stock_of(main_server, record), record, coding);
        }
    }
}
