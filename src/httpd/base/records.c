#include "httpd/base/records.h"

#include "apr_strings.h"
#include "http_log.h"

EL_USE_LOG;

static module *records[EL_RECORDS];
const module *el_records_loaded[EL_RECORDS];

static const el_record_info_t infos[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = {"mod_elastic.c", "ELASTIC", EL_IDENTITY},
    [EL_RECORD_DEFLATE] = {"mod_deflate.c", "DEFLATE", EL_GZIP},
    [EL_RECORD_BROTLI] = {"mod_brotli.c", "BROTLI_COMPRESS", EL_BR},
};

const el_record_info_t *el_record_info(el_record_t record)
{
    return &infos[record];
}

void el_record_bind(el_record_t record, module *bound)
{
    records[record] = bound;
}

static apr_status_t unload(void *data)
{
    *(const module **)data = NULL;
    return APR_SUCCESS;
}

void el_record_load(el_record_t record, apr_pool_t *pconf)
{
    el_records_loaded[record] = records[record];
    apr_pool_cleanup_register(pconf, &el_records_loaded[record], unload, apr_pool_cleanup_null);
}

static apr_status_t take_back(void *data)
{
    module *record = data;

    record->module_index = -1;
    return APR_SUCCESS;
}

void el_records_lend(apr_pool_t *pconf)
{
    el_log_index = el_record_of_requests()->module_index;
    for (int i = 0; i < EL_RECORDS; i++) {
        const module *foreign =
            el_records_loaded[i] ? NULL : ap_find_linked_module(infos[i].module);

        if (foreign) {
            records[i]->module_index = foreign->module_index;
            apr_pool_cleanup_register(pconf, records[i], take_back, apr_pool_cleanup_null);
        }
    }
}

static const char *owner_of(el_record_t record)
{
    if (el_record_loaded(record)) {
        return "this module";
    }
    return ap_find_linked_module(infos[record].module) ? infos[record].module : NULL;
}

void el_records_report(server_rec *main_server)
{
    for (int i = EL_RECORD_ELASTIC + 1; i < EL_RECORDS; i++) {
        const char *owner = owner_of((el_record_t)i);

        if (owner) {
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, main_server,
                         "elastic: the filter %s is registered by %s", infos[i].filter, owner);
        }
    }
}
