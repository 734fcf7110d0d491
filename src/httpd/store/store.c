#include "httpd/store/store.h"

#include "httpd/base/warnings.h"
#include "httpd/config/settings.h"
#include "httpd/shared/shared.h"
#include "httpd/store/fault.h"
#include "httpd/store/fingerprint.h"
#include "httpd/store/key_file.h"
#include "httpd/store/local.h"
#include "httpd/store/near.h"
#include "httpd/store/remote.h"

#include "engines/pool.h"
#include "host/clock.h"

#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

EL_USE_LOG;

/*
 * Bytes of copies in each process: a hundred pages and more. Of a process with one thread there are
 * many, which ask in turns.
 */
#define NEAR (4 * 1024 * 1024)
#define NEAR_ALONE (256 * 1024)

/* Seconds for which those who waited for an encoding find it here, whatever another machine stores. */
#define HANDED_OVER 1

/* Bytes of the largest encoding that is kept; 0: there is no store. */
static size_t most;

/* Of ElasticCacheKey. */
static el_seal_keys_t keys;

static const void *provider_of(const el_cache_store_t *wanted)
{
    return ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, wanted->provider,
                              AP_SOCACHE_PROVIDER_VERSION);
}

/* Reads the key of a store that other machines reach; where it is not good, the log says so. */
static bool read_key(server_rec *main_server)
{
    const char *path = el_server_of(main_server)->cache_key;
    const char *fault = path ? el_key_file_read(path, &keys) : NULL;

    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, main_server,
                     "elastic: ElasticCacheStore: other machines reach this store: it takes an "
                     "ElasticCacheKey");
    } else if (fault) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, main_server, "elastic: ElasticCacheKey %s %s", path,
                     fault);
    }
    return path && !fault;
}

bool el_store_check(server_rec *main_server)
{
    el_cache_store_t wanted = el_server_cache_store(el_server_of(main_server));

    if (wanted.remote && el_fingerprint_built_in() && !read_key(main_server)) {
        return false;
    }
    if (!atomic_load(&el_settings_cache) || el_warnings_are_early()) {
        return true;
    }
    if (!el_fingerprint_built_in()) {
        el_warn(main_server, 0, "ElasticCache is off: this build has no libcrypto");
    } else if (!provider_of(&wanted)) {
        el_warn(main_server, 0,
                "ElasticCache is off: ElasticCacheStore %s is not loaded; it takes the "
                "line LoadModule socache_%s_module modules/mod_socache_%s.so",
                wanted.provider, wanted.provider, wanted.provider);
    }
    return true;
}

static bool open_remote(const el_cache_store_t *wanted, server_rec *main_server, apr_pool_t *pconf)
{
    const el_remote_config_t config = {
        .provider = wanted->provider,
        .arguments = wanted->arguments,
        .keys = &keys,
        .most = el_server_cache_max_size(el_server_of(main_server)),
    };

    el_local_close();
    return el_remote_open(&config, main_server, pconf);
}

/* The names of a store that other machines reach are those of its key, which was read. */
static bool open_names(const el_cache_store_t *wanted, server_rec *main_server)
{
    if (wanted->remote && !read_key(main_server)) {
        return false;
    }
    if (!el_fingerprint_open(wanted->remote ? keys.fingerprints : NULL)) {
        el_warn(main_server, 0, "ElasticCache is off: libcrypto does not compute AES-GMAC here");
        return false;
    }
    return true;
}

void el_store_open(server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);
    el_cache_store_t wanted = el_server_cache_store(server);

    most = 0;
    el_remote_close();
    if (!atomic_load(&el_settings_cache) || !el_fingerprint_built_in() || !provider_of(&wanted)
        || !open_names(&wanted, main_server)) {
        el_local_close();
        return;
    }
    if (wanted.remote) {
        most = open_remote(&wanted, main_server, pconf) ? el_server_cache_max_size(server) : 0;
    } else if (el_local_open(wanted.arguments, wanted.nbytes, main_server)) {
        most = el_server_cache_max_size(server);
        most = most < el_local_most() ? most : el_local_most();
    }
}

void el_store_reset(server_rec *main_server)
{
    if (!el_remote_is_open()) {
        el_local_reset(main_server);
        most = most < el_local_most() ? most : el_local_most();
    }
}

void el_store_child(bool threads)
{
    if (most > 0) {
        el_near_open(threads ? NEAR : NEAR_ALONE);
    }
    el_remote_child();
}

bool el_store_is_open(void)
{
    return most > 0;
}

bool el_store_is_shared(void)
{
    return el_remote_is_open();
}

size_t el_store_most(void)
{
    return most;
}

/* A file's numbers mean another file on another machine. */
static bool may_leave(const el_name_t *name)
{
    return name->kind != EL_NAME_FILE;
}

static bool get_remote(const el_name_t *name, el_found_t *found)
{
    const uint8_t *entry;
    size_t nbytes;

    found->buffer =
        may_leave(name) ? el_remote_get(name, &found->waited, &entry, &nbytes) : NULL;
    found->release = el_pool_buffer_release;
    if (found->buffer && !el_entry_parse(name, entry, nbytes, &found->entry)) {
        el_store_fault(APR_SUCCESS, "it holds an entry that is none");
        el_found_release(found);
    }
    return found->buffer != NULL;
}

static bool put_remote(const el_name_t *name, const el_entry_t *entry, bool awaited)
{
    if (awaited) {
        el_near_put(name, entry, el_clock_sec(), NULL);
    }
    return may_leave(name) && el_remote_put(name, entry);
}

/* Whoever stores something else meanwhile is counted too, so that this copy is not used. */
static bool put_local(const el_name_t *name, const el_entry_t *entry)
{
    uint32_t changes = atomic_load(el_cache_state_changes(el_shared.cache, name));
    el_entry_t copied = *entry;
    bool is_stored = el_local_put(name, entry);

    if (is_stored) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
    }
    copied.written = atomic_load_explicit(&el_shared.cache->written, memory_order_relaxed);
    el_near_put(name, &copied, changes + is_stored, NULL);
    return is_stored;
}

bool el_store_get_near(const el_name_t *name, el_found_t *found)
{
    return el_remote_is_open()
               ? el_near_get(name, (el_near_stamp_t){el_clock_sec(), HANDED_OVER}, found)
               : el_local_get_near(name, found);
}

bool el_store_get(const el_name_t *name, el_found_t *found)
{
    if (most == 0) {
        return false;
    }
    if (el_remote_is_open()) {
        return el_store_get_near(name, found) || get_remote(name, found);
    }
    return el_local_get(name, found);
}

bool el_store_put(const el_name_t *name, const el_entry_t *entry, bool awaited)
{
    if (entry->nbytes == 0 || entry->nbytes > most) {
        return false;
    }
    return el_remote_is_open() ? put_remote(name, entry, awaited) : put_local(name, entry);
}

bool el_store_has_room(void)
{
    return most > 0 && !el_remote_is_open() && el_local_has_room();
}

/*
 * What comes again after so many other bodies would be gone from a full store before it came another
 * time. Half as many again are remembered as the store has entries, because what is not known is not
 * looked for. How many other machines keep is not known here.
 */
bool el_store_note(const el_name_t *name)
{
    uint32_t others = el_remote_is_open() ? EL_DOOR_MOST : el_local_entries() / 2 * 3;

    return el_door_note(&el_shared.cache->door, name->hash,
                        others < EL_DOOR_MOST ? others : EL_DOOR_MOST);
}
