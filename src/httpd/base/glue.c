#include "httpd/base/glue.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

int el_log_index = APLOG_NO_MODULE;

EL_USE_LOG;

/* A configuration with more has said enough. */
#define MOST 16

/* In the configuration's pool; NULL: none yet. */
static apr_array_header_t *kept;

static apr_status_t forget(void *unused)
{
    (void)unused;
    kept = NULL;
    return APR_SUCCESS;
}

bool el_warnings_are_early(void)
{
    return ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
           && ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST;
}

static void keep(apr_pool_t *pconf, const char *text)
{
    if (!kept) {
        kept = apr_array_make(pconf, MOST, sizeof(const char *));
        apr_pool_cleanup_register(pconf, NULL, forget, apr_pool_cleanup_null);
    }
    if (kept->nelts < MOST) {
        APR_ARRAY_PUSH(kept, const char *) = text;
    }
}

void el_warn(const server_rec *server, apr_status_t error, const char *format, ...)
{
    apr_pool_t *pconf = server->process->pconf;
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = apr_pvsprintf(pconf, format, arguments);
    va_end(arguments);
    ap_log_error(APLOG_MARK, APLOG_WARNING, error, server, "elastic: %s", text);
    keep(pconf, text);
}

const apr_array_header_t *el_warnings(apr_pool_t *pool)
{
    return kept ? kept : apr_array_make(pool, 1, sizeof(const char *));
}
