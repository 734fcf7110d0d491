#include "httpd/store/fault.h"

#include "httpd/shared/shared.h"

#include "host/clock.h"

#include "http_log.h"
#include "http_main.h"

EL_USE_LOG;

void el_store_fault(apr_status_t rv, const char *what)
{
    el_shared_count(EL_COUNT_CACHE_FAULTS, 1);
    if (el_cache_state_may_complain(el_shared.cache, el_clock_sec())) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, ap_server_conf,
                     "elastic: the store of ElasticCache: %s; responses are encoded without it",
                     what);
    }
}
