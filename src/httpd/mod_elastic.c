/* The three exported module records, and the registration of all hooks. */
#include "httpd/cache/store.h"
#include "httpd/config/config.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/files/precompressed.h"
#include "httpd/request/request.h"
#include "httpd/response/steps.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"
#include "httpd/shared/tick.h"
#include "httpd/status/forms.h"

#include "elastic/ladder.h"
#include "engines/memory.h"
#include "engines/engines.h"

#include "ap_mpm.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"

EL_USE_LOG;

/* Each process may keep this much of prepared dictionaries at least; one takes about 350 KB. */
#define DICTIONARIES_LEAST ((size_t)2 * 1024 * 1024)

static module elastic_record, deflate_record, brotli_record;

static module *const records[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = &elastic_record,
    [EL_RECORD_DEFLATE] = &deflate_record,
    [EL_RECORD_BROTLI] = &brotli_record,
};

static apr_status_t elastic_take_back(void *data)
{
    module *record = data;

    record->module_index = -1;
    return APR_SUCCESS;
}

/*
 * httpd loads modules with global symbols: a stock module that is loaded after this shared object
 * finds our exported record in place of its own. Our record is not loaded then. It gets the stock
 * module's index until `pconf` is cleared, so that the stock module finds its own settings.
 */
static int elastic_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)plog;
    (void)ptemp;
    el_log_index = el_record_of_requests()->module_index;
    for (int i = 0; i < EL_RECORDS; i++) {
        const module *foreign =
            el_records_loaded[i] ? NULL : ap_find_linked_module(el_record_infos[i].module);

        if (foreign) {
            records[i]->module_index = foreign->module_index;
            apr_pool_cleanup_register(pconf, records[i], elastic_take_back, apr_pool_cleanup_null);
        }
    }
    return OK;
}

/*
 * Bounds the memory of decoded request bodies unless ElasticMaxMemory is given, because the client
 * chooses how much a br or zstd decoder takes. Each worker adds 1 MB: the operator chose their
 * number by the machine's memory, and each takes some megabytes anyway. Ordinary clients stay far
 * below: gzip takes 40 KB, and few workers decode zstd or br (2 and 4 MB) at the same time. The
 * least is 64 MB: the largest allowed body takes 33 MB, which are two windows of br and half a
 * window more while one grows.
 */
static int64_t elastic_memory_of_requests(void)
{
    int processes = 1, threads = 1;
    int64_t workers;

    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &processes);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    /* prefork reports 0 threads. */
    workers = (int64_t)(processes > 1 ? processes : 1) * (threads > 1 ? threads : 1);
    return (workers > 64 ? workers : 64) * 1024 * 1024;
}

static el_shared_config_t elastic_shared_config(const server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);
    const int64_t *value = server->values.value;
    bool is_external = value[EL_SERVER_CONTROL] == EL_CONTROL_EXTERNAL;
    bool only_requests = !el_value_is_set(&server->values, EL_SERVER_MAX_MEMORY);
    double high = (double)value[EL_SERVER_HIGH] / EL_PPM;
    double bypass = (double)value[EL_SERVER_BYPASS] / EL_PPM;
    el_shared_config_t config = {
        .control = {
            /* httpd's own controller sets the position until the position file is read. */
            .mode = is_external ? EL_CONTROL_STEP : (el_control_mode_t)value[EL_SERVER_CONTROL],
            .low = (double)value[EL_SERVER_LOW] / EL_PPM,
            .high = high,
            /* A bypass threshold below the high one would switch on and off all the time. */
            .bypass = bypass < high ? high : bypass,
            .top = el_ladder_top(el_policy_ranges),
            .goal = {.kind = EL_GOAL_CPU},
        },
        /* Pages arrive soonest with this goal; ElasticControl selects CPU thresholds instead. */
        .goal = el_value_is_set(&server->values, EL_SERVER_CONTROL) ? "cpu" : "time 5Mbit/s",
        .start = el_ladder_start(el_policy_ranges),
        .interval = (uint64_t)value[EL_SERVER_INTERVAL],
        .max_memory = only_requests ? elastic_memory_of_requests() : value[EL_SERVER_MAX_MEMORY],
        .max_of_requests = only_requests,
        .idle = (double)value[EL_SERVER_IDLE] / EL_PPM,
        .idle_top = value[EL_SERVER_IDLE_TOP],
    };

    if (server->goal) {
        config.goal = server->goal;
    }
    el_goal_parse(config.goal, strlen(config.goal), &config.control.goal);
    if (is_external) {
        config.position = server->position ? server->position
                                           : ap_runtime_dir_relative(pconf, "elastic.position");
    }
    return config;
}

static int elastic_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                                server_rec *server)
{
    (void)plog;
    el_dictionaries_check(server, pconf);
    el_chain_check(server, ap_conftree, ptemp);
    return el_store_check(server) ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static int elastic_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                               server_rec *server)
{
    el_shared_config_t config;
    char engines[256];

    (void)plog;
    (void)ptemp;
    /* httpd reads its configuration twice at startup, the first time only to test it. */
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }
    el_policy_configure(server);
    config = elastic_shared_config(server, pconf);
    if (el_shared_open(&config, server) != APR_SUCCESS) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    el_vhosts_open(server, pconf);
    el_store_open(server, pconf);
    el_dictionaries_open(server);
    el_tick_open(server, pconf);
    el_improver_open(server);
    el_chain_configure();
    el_edge_configure();
    el_status_configure(server, pconf);
    el_visitor_configure(pconf);
    for (int i = EL_RECORD_ELASTIC + 1; i < EL_RECORDS; i++) {
        const el_record_info_t *info = &el_record_infos[i];

        if (el_records_loaded[i] || ap_find_linked_module(info->module)) {
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, server,
                         "elastic: the filter %s is registered by %s", info->filter,
                         el_records_loaded[i] ? "this module" : info->module);
        }
    }
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, server, "elastic: version %s, with %s",
                 ELASTIC_VERSION, el_engine_list(engines, sizeof(engines)));
    return OK;
}

static void elastic_child_init(apr_pool_t *pchild, server_rec *main_server)
{
    const el_server_t *server = el_server_of(main_server);
    uint64_t memory = (uint64_t)server->values.value[EL_SERVER_POOL_MEMORY];
    int64_t most = el_shared.config.max_memory;
    int processes = 1;
    int threads = 1;

    (void)pchild;
    if (ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &processes) == APR_SUCCESS && processes > 1) {
        memory /= (unsigned)processes;
    }
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    el_pool_share((size_t)memory, threads > 1);
    el_dictionary_limit(memory > DICTIONARIES_LEAST ? (size_t)memory : DICTIONARIES_LEAST);
    el_shared_child();
    el_budget_open(most == EL_NO_MAX_MEMORY ? NULL : &el_shared.block->held, (uint64_t)most,
                   el_shared.config.max_of_requests);
    el_store_child(threads > 1);
}

/* Runs at a start and at a restart. A graceful restart keeps the position and the counters. */
static int elastic_pre_mpm(apr_pool_t *pool, ap_scoreboard_e type)
{
    (void)pool;
    (void)type;
    el_shared_reset();
    el_store_reset(ap_server_conf);
    return OK;
}

/*
 * Notes the client's credentials for the cache and the dictionaries before other modules change
 * them. mod_remoteip has set the client's address by then, at FIRST.
 */
static int elastic_note_credentials(request_rec *r)
{
    el_visitor_keep(r);
    return el_store_is_open() || el_dictionaries_are_open() ? el_response_note_credentials(r)
                                                            : DECLINED;
}

/*
 * Hooks are ordered by numbers, never by names of modules: naming another module moves it before
 * all hooks between the two.
 *
 * mod_cache's handler answers from its cache at REALLY_FIRST, and mod_headers runs its `early`
 * directives at FIRST; ours run after them.
 */
#define BEHIND_MOD_CACHE (APR_HOOK_REALLY_FIRST + 1)
#define BEHIND_MOD_HEADERS (APR_HOOK_FIRST + 1)

/* mod_security2 reads request bodies in fixups, at REALLY_FIRST. */
#define BEFORE_MOD_SECURITY (APR_HOOK_REALLY_FIRST - 1)

/*
 * Runs before all handlers but mod_cache's: prepares conditional requests and request bodies, and
 * answers for ElasticDictionaryFile and the status. One hook, because each costs every response.
 */
static int elastic_handle(request_rec *r)
{
    int status;

    el_conditional_prepare(r);
    status = el_input_prepare(r);
    if (status == OK) {
        status = el_dictionary_handler(r);
    }
    return status == DECLINED ? el_status_handler(r) : status;
}

/*
 * Just before httpd's own handler for files, the first one at REALLY_LAST, and after late handlers
 * such as mod_actions's at LAST, whatever the order of LoadModule. Naming "core.c" as the successor
 * does not work: that name has a handler at REALLY_FIRST as well.
 */
#define PRECOMPRESSED (APR_HOOK_REALLY_LAST - 1)

/*
 * Registers all hooks once per configuration, however many records are loaded. Nothing may be
 * registered or sorted later: httpd and other modules walk the arrays of hooks while calling them.
 */
static void elastic_register_hooks(apr_pool_t *pconf)
{
    static const char key[] = "mod_elastic:hooks";
    void *registered = NULL;

    apr_pool_userdata_get(&registered, key, pconf);
    if (registered) {
        return;
    }
    apr_pool_userdata_setn(key, key, NULL, pconf);
    el_directives_begin();
    ap_hook_pre_config(elastic_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_config(elastic_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(el_dump, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(elastic_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(elastic_pre_mpm, NULL, NULL, APR_HOOK_MIDDLE);
    /* Runs before mod_watchdog's hook, which starts the timer's thread. */
    ap_hook_child_init(elastic_child_init, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_child_init(el_tick_child, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_filter(el_filter_insert, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_error_filter(el_not_modified_returned, NULL, NULL, APR_HOOK_LAST);
    ap_hook_insert_error_filter(el_explain_insert, NULL, NULL, APR_HOOK_LAST);
    ap_hook_post_read_request(el_visitor_look, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_read_request(elastic_note_credentials, NULL, NULL, BEHIND_MOD_HEADERS);
    ap_hook_pre_translate_name(el_dictionary_translate, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_translate_name(el_dictionary_translate, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_map_to_storage(el_dictionary_map, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(el_input_begin, NULL, NULL, BEFORE_MOD_SECURITY);
    ap_hook_handler(elastic_handle, NULL, NULL, BEHIND_MOD_CACHE);
    ap_hook_handler(el_precompressed_handler, NULL, NULL, PRECOMPRESSED);
    APR_OPTIONAL_HOOK(ap, status_hook, el_status_section, NULL, NULL, APR_HOOK_MIDDLE);
    el_filter_register();
    el_input_register();
    el_not_modified_register();
    el_dictionary_filter_register();
    el_edge_register();
    el_precompressed_register();
}

static apr_status_t elastic_unload(void *data)
{
    *(const module **)data = NULL;
    return APR_SUCCESS;
}

static void elastic_register_record(el_record_t record, apr_pool_t *pconf)
{
    el_records_loaded[record] = records[record];
    apr_pool_cleanup_register(pconf, &el_records_loaded[record], elastic_unload,
                              apr_pool_cleanup_null);
    elastic_register_hooks(pconf);
    el_filter_register_record(record);
}

static void elastic_register(apr_pool_t *pconf);
static void elastic_register_deflate(apr_pool_t *pconf);
static void elastic_register_brotli(apr_pool_t *pconf);

/*
 * The code uses the hidden symbols of its records, so that a module that exports the same names
 * cannot replace them. httpd looks up the exported aliases.
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
    elastic_register,
    0,
};

static module deflate_record = {
    RECORD_STUFF("mod_deflate.c"),
    el_limits_create,
    el_limits_merge,
    el_stock_create,
    el_stock_merge,
    el_deflate_commands,
    elastic_register_deflate,
    0,
};

static module brotli_record = {
    RECORD_STUFF("mod_brotli.c"),
    NULL,
    NULL,
    el_stock_create,
    el_stock_merge,
    el_brotli_commands,
    elastic_register_brotli,
    0,
};

#define EXPORT(alias_name, record)                                                                 \
    extern module alias_name __attribute__((alias(#record), visibility("default")))

EXPORT(elastic_module, elastic_record);
EXPORT(deflate_module, deflate_record);
EXPORT(brotli_module, brotli_record);

static void elastic_register(apr_pool_t *pconf)
{
    elastic_register_record(EL_RECORD_ELASTIC, pconf);
}

static void elastic_register_deflate(apr_pool_t *pconf)
{
    elastic_register_record(EL_RECORD_DEFLATE, pconf);
    el_inflate_register_deflate();
}

static void elastic_register_brotli(apr_pool_t *pconf)
{
    elastic_register_record(EL_RECORD_BROTLI, pconf);
}
