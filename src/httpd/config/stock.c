#include "httpd/config/stock.h"

#include "httpd/base/merge.h"

#include "apr_strings.h"

static const el_stock_t unset;

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

    EL_TAKE(to, from, level);
    EL_TAKE(to, from, etag);
    to->window_bits = from->window_bits ? from->window_bits : to->window_bits;
    to->mem_level = from->mem_level ? from->mem_level : to->mem_level;
    to->block_bits = from->block_bits ? from->block_bits : to->block_bits;
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

    return stock ? stock : &unset;
}

el_etag_mode_t el_stock_etag(const el_stock_t *stock)
{
    return stock->etag_set ? stock->etag : EL_ETAG_SUFFIX;
}
