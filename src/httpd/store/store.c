#include "httpd/store/store.h"

#include "httpd/config/settings.h"
#include "httpd/state/shared.h"
#include "httpd/store/fingerprint.h"
#include "httpd/store/local.h"

#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

EL_USE_LOG;

/* Bytes of the largest encoding that is kept; 0: there is no store. */
static size_t most;

static const void *provider_of(const el_cache_store_t *wanted)
{
    return ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, wanted->provider,
                              AP_SOCACHE_PROVIDER_VERSION);
}

void el_store_check(server_rec *main_server)
{
    el_cache_store_t wanted = el_server_cache_store(el_server_of(main_server));

    /* httpd reads its configuration twice at startup; the first time is only a test of it. */
    if (!atomic_load(&el_settings_cache)
        || (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
            && ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST)) {
        return;
    }
    if (!el_fingerprint_built_in()) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, main_server,
                     "elastic: ElasticCache is off: this build has no libcrypto");
    } else if (!provider_of(&wanted)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, main_server,
                     "elastic: ElasticCache is off: ElasticCacheStore %s is not loaded; it takes the "
                     "line LoadModule socache_%s_module modules/mod_socache_%s.so",
                     wanted.provider, wanted.provider, wanted.provider);
    }
}

void el_store_open(server_rec *main_server)
{
    const el_server_t *server = el_server_of(main_server);
    el_cache_store_t wanted = el_server_cache_store(server);

    most = 0;
    if (!atomic_load(&el_settings_cache) || !el_fingerprint_built_in() || !provider_of(&wanted)) {
        el_local_close();
        return;
    }
    if (!el_fingerprint_open(NULL)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, main_server,
                     "elastic: ElasticCache is off: libcrypto does not compute AES-GMAC here");
        el_local_close();
        return;
    }
    if (el_local_open(wanted.arguments, wanted.nbytes, main_server)) {
        most = el_server_cache_max_size(server);
        most = most < el_local_most() ? most : el_local_most();
    }
}

void el_store_reset(server_rec *main_server)
{
    el_local_reset(main_server);
    most = most < el_local_most() ? most : el_local_most();
}

bool el_store_is_open(void)
{
    return most > 0;
}

size_t el_store_most(void)
{
    return most;
}

bool el_store_get(const el_name_t *name, el_found_t *found)
{
    return most > 0 && el_local_get(name, found);
}

bool el_store_put(const el_name_t *name, const el_entry_t *entry)
{
    bool is_stored = entry->nbytes > 0 && entry->nbytes <= most && el_local_put(name, entry);

    if (is_stored) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
    }
    return is_stored;
}

bool el_store_note(const el_name_t *name)
{
    return el_door_note(&el_shared.cache->door, name->hash);
}
