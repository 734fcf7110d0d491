#include "httpd/config/stock.h"

#include "apr_strings.h"
#include "http_core.h"

/* The stock module's: far above what ordinary bodies reach, far below deflate's best, 1032. */
#define DEFAULT_RATIO 200
#define DEFAULT_BURST 3

void *el_stock_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pcalloc(pool, sizeof(el_stock_t));
}

/* Unlike in the stock modules, each field on its own: one directive in a vhost resets no other. */
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
    static const el_stock_t unset;
    const el_stock_t *stock = record == EL_RECORD_ELASTIC
                                  ? NULL
                                  : el_record_settings(record, server->module_config);

    return stock ? stock : &unset;
}

el_etag_mode_t el_stock_etag(const el_stock_t *stock)
{
    return (el_etag_mode_t)el_value(&stock->values, EL_STOCK_ETAG, EL_ETAG_SUFFIX);
}

void *el_limits_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pcalloc(pool, sizeof(el_values_t));
}

void *el_limits_merge(apr_pool_t *pool, void *base, void *add)
{
    el_values_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(to, add);
    return to;
}

el_limits_t el_limits_of(const request_rec *r)
{
    static const el_values_t unset;
    const el_values_t *set = el_record_settings(EL_RECORD_DEFLATE, r->per_dir_config);
    el_limits_t limits;

    set = set ? set : &unset;
    limits = (el_limits_t){
        .size = (uint64_t)el_value(set, EL_LIMIT_SIZE, 0),
        .ratio = (uint64_t)el_value(set, EL_LIMIT_RATIO, DEFAULT_RATIO),
        .burst = (uint64_t)el_value(set, EL_LIMIT_BURST, DEFAULT_BURST),
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
