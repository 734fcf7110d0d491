#include "httpd/config/dropin.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

int el_log_index = APLOG_NO_MODULE;
const module *el_records_loaded[EL_RECORDS];
el_stock_t el_stock_defaults;
el_values_t el_limits_defaults;

const el_record_info_t el_record_infos[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = {"mod_elastic.c", "ELASTIC", EL_IDENTITY},
    [EL_RECORD_DEFLATE] = {"mod_deflate.c", "DEFLATE", EL_GZIP},
    [EL_RECORD_BROTLI] = {"mod_brotli.c", "BROTLI_COMPRESS", EL_BR},
};

/* --- settings */

void *el_stock_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pmemdup(pool, &el_stock_defaults, sizeof(el_stock_defaults));
}

/* Merges field by field: unlike in the stock modules, one directive in a vhost resets no other. */
void *el_stock_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_stock_t *from = add;
    el_stock_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(&to->values, &from->values);
    for (int i = 0; i < EL_NOTES; i++) {
        to->note[i] = from->note[i] ? from->note[i] : to->note[i];
    }
    return to;
}

const el_stock_t *el_stock_of(const server_rec *server, el_record_t record)
{
    const el_stock_t *stock = record == EL_RECORD_ELASTIC
                                  ? NULL
                                  : el_record_settings(record, server->module_config);

    return stock ? stock : &el_stock_defaults;
}

void *el_limits_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pmemdup(pool, &el_limits_defaults, sizeof(el_limits_defaults));
}

void *el_limits_merge(apr_pool_t *pool, void *base, void *add)
{
    el_values_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(to, add);
    return to;
}

el_limits_t el_limits_of(const request_rec *r)
{
    const el_values_t *set = el_record_settings(EL_RECORD_DEFLATE, r->per_dir_config);
    const int64_t *value = set ? set->value : el_limits_defaults.value;
    el_limits_t limits = {
        .size = (uint64_t)value[EL_LIMIT_SIZE],
        .ratio = (uint64_t)value[EL_LIMIT_RATIO],
        .burst = (uint64_t)value[EL_LIMIT_BURST],
        .is_request = true,
    };

    if (limits.size == 0) {
        el_limits_spool(&limits, r);
    }
    return limits;
}

void el_limits_spool(el_limits_t *limits, const request_rec *r)
{
    apr_off_t most = ap_get_limit_req_body(r);

    if (most > 0 && (limits->size == 0 || (uint64_t)most < limits->size)) {
        limits->size = (uint64_t)most;
    }
}
