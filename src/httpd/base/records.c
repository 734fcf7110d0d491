#include "httpd/base/records.h"

#include "httpd/filters/input.h"
#include "httpd/filters/inflate_output.h"
#include "httpd/filters/output.h"
#include "httpd/config/limits.h"
#include "httpd/config/settings.h"
#include "httpd/config/stock.h"

#include "http_log.h"

#include "apr_strings.h"

EL_USE_LOG;

int el_log_index = APLOG_NO_MODULE;

static bool loaded[EL_RECORDS];

static apr_status_t forget(void *data)
{
    *(bool *)data = false;
    return APR_SUCCESS;
}

/* A record's register_hooks: httpd calls it when it loads the record. */
static void register_record(el_record_t record, apr_pool_t *pconf)
{
    loaded[record] = true;
    apr_pool_cleanup_register(pconf, &loaded[record], forget, apr_pool_cleanup_null);
    el_hooks_register(pconf);
    el_filter_out_register(record);
}

static void register_elastic(apr_pool_t *pconf)
{
    register_record(EL_RECORD_ELASTIC, pconf);
}

static void register_deflate(apr_pool_t *pconf)
{
    register_record(EL_RECORD_DEFLATE, pconf);
    el_filter_in_register_deflate();
    el_filter_inflate_register();
}

static void register_brotli(apr_pool_t *pconf)
{
    register_record(EL_RECORD_BROTLI, pconf);
}

/*
 * The symbols by which the code knows its records are hidden: another module that exports the same
 * names cannot come in between. What httpd looks up are aliases.
 */
#define RECORD_STUFF(name)                                                                         \
    MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR, -1, name, NULL, NULL,                    \
        MODULE_MAGIC_COOKIE, NULL

static module elastic_record = {
    RECORD_STUFF("mod_elastic.c"),
    el_dir_create,
    el_dir_merge,
    el_server_create,
    el_server_merge,
    el_commands,
    register_elastic,
    0,
};

static module deflate_record = {
    RECORD_STUFF("mod_deflate.c"),
    el_limits_create,
    el_limits_merge,
    el_stock_create,
    el_stock_merge,
    el_deflate_commands,
    register_deflate,
    0,
};

static module brotli_record = {
    RECORD_STUFF("mod_brotli.c"),
    NULL,
    NULL,
    el_stock_create,
    el_stock_merge,
    el_brotli_commands,
    register_brotli,
    0,
};

#define EXPORT(alias_name, record)                                                                 \
    extern module alias_name __attribute__((alias(#record), visibility("default")))

EXPORT(elastic_module, elastic_record);
EXPORT(deflate_module, deflate_record);
EXPORT(brotli_module, brotli_record);

static module *const records[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = &elastic_record,
    [EL_RECORD_DEFLATE] = &deflate_record,
    [EL_RECORD_BROTLI] = &brotli_record,
};

static const el_record_info_t infos[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = {"mod_elastic.c", "ELASTIC", EL_IDENTITY},
    [EL_RECORD_DEFLATE] = {"mod_deflate.c", "DEFLATE", EL_GZIP},
    [EL_RECORD_BROTLI] = {"mod_brotli.c", "BROTLI_COMPRESS", EL_BR},
};

const el_record_info_t *el_record_info(el_record_t record)
{
    return &infos[record];
}

bool el_record_loaded(el_record_t record)
{
    return loaded[record];
}

void *el_record_settings(el_record_t record, const ap_conf_vector_t *configs)
{
    return loaded[record] ? ap_get_module_config(configs, records[record]) : NULL;
}

const module *el_record_of_requests(void)
{
    for (int i = 0; i < EL_RECORDS; i++) {
        if (loaded[i]) {
            return records[i];
        }
    }
    /* Hooks run only where a record was loaded. */
    return NULL;
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
        const module *foreign = loaded[i] ? NULL : ap_find_linked_module(infos[i].module);

        if (foreign) {
            records[i]->module_index = foreign->module_index;
            apr_pool_cleanup_register(pconf, records[i], take_back, apr_pool_cleanup_null);
        }
    }
}

static const char *owner_of(el_record_t record)
{
    if (loaded[record]) {
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
                         "elastic: the filter %s is that of %s", infos[i].filter, owner);
        }
    }
}
