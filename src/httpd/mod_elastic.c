/* The hooks; what they do is in the files that they name. */
#include "httpd/base/glue.h"

#include "httpd/response/chain.h"
#include "httpd/response/conditional.h"
#include "httpd/filters/input.h"
#include "httpd/filters/siblings.h"
#include "httpd/filters/ranges.h"
#include "httpd/base/records.h"
#include "httpd/config/settings.h"
#include "httpd/state/shared.h"
#include "httpd/status/status.h"
#include "httpd/control/timer.h"

#include "ap_mpm.h"
#include "elastic/engine.h"
#include "engines/pool.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_status.h"

EL_USE_LOG;

static int pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)plog;
    (void)ptemp;
    el_records_lend(pconf);
    el_settings_prepare();
    APR_OPTIONAL_HOOK(ap, status_hook, el_status_section, NULL, NULL, APR_HOOK_MIDDLE);
    return OK;
}

static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    char engines[256];

    (void)plog;
    (void)ptemp;
    /* httpd reads its configuration twice at startup; the first time is only a test of it. */
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }
    if (el_shared_open(server) != APR_SUCCESS
        || el_timer_start(server, pconf) != APR_SUCCESS) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    el_chain_configure();
    el_ranges_configure();
    el_records_report(server);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, server, "elastic: %s, with %s", ELASTIC_VERSION,
                 el_engine_list(engines, sizeof(engines)));
    return OK;
}

static void child_init(apr_pool_t *pchild, server_rec *main_server)
{
    uint64_t memory = el_server_pool_memory(el_server_of(main_server));
    int processes = 1;
    int threads = 1;

    (void)pchild;
    if (ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &processes) == APR_SUCCESS && processes > 1) {
        memory /= (unsigned)processes;
    }
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    el_pool_share((size_t)memory, threads > 1);
}

static void child_ready(apr_pool_t *pchild, server_rec *main_server)
{
    (void)main_server;
    el_timer_child(pchild);
}

/* At a start and at a restart; a graceful one keeps the position and the counters. */
static int pre_mpm(apr_pool_t *pool, ap_scoreboard_e type)
{
    (void)pool;
    (void)type;
    el_shared_reset(ap_server_conf);
    return OK;
}

/*
 * Before all other handlers: makes ready what they find of the request, and answers for the status.
 * One hook, because every response pays for each.
 */
static int handle(request_rec *r)
{
    int status;

    el_conditional_prepare(r);
    status = el_filter_in_prepare(r);
    return status == OK ? el_status_handler(r) : status;
}

void el_hooks_register(apr_pool_t *pconf)
{
    static const char key[] = "mod_elastic:hooks";
    static const char *const after_mod_cache[] = {"mod_cache.c", NULL};
    void *registered = NULL;

    apr_pool_userdata_get(&registered, key, pconf);
    if (registered) {
        return;
    }
    apr_pool_userdata_setn(key, key, NULL, pconf);
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_mpm(pre_mpm, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_ready, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_filter(el_chain_insert, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_error_filter(el_conditional_returned, NULL, NULL, APR_HOOK_LAST);
    ap_hook_handler(handle, after_mod_cache, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(el_precompressed_handler, NULL, NULL, APR_HOOK_LAST);
    el_filter_in_register();
    el_conditional_register();
    ap_register_output_filter(EL_RANGES_NAME, el_ranges_filter, NULL, EL_RANGES_TYPE);
}
