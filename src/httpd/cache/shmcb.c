#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr() */
#endif

#include "httpd/cache/backends.h"

#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "engines/memory.h"
#include "host/process.h"

#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_dso.h"
#include "apr_strings.h"
#include "http_log.h"
#include "http_main.h"

#include <dlfcn.h>
#include <sys/mman.h>

EL_USE_LOG;

#define PROVIDER "shmcb"

/* The provider may use this name in paths. */
#define CONSUMER "elastic-cache"

/*
 * shmcb walks the list of a subcache and compares ids' lengths before it reads the ids, which lie
 * in scattered memory. Ids of many different lengths make look-ups in a full list faster.
 */
#define ID_LENGTHS 64
#define ID_HINT (sizeof(el_name_t) + ID_LENGTHS / 2)

/*
 * shmcb divides its memory by the hinted size of an entry, here a small page of text. Its lists
 * hold that many entries and no more, so a larger hint would leave memory unused if pages are
 * small. If there is little memory, the hint is a part of it, because shmcb divides by zero if
 * fewer than two entries fit.
 */
#define OBJECT_HINT (2 * 1024)
#define OBJECTS_LEAST 64

/* The most subcaches that shmcb makes. */
#define PARTS_MOST 256

/* Entries never expire. */
#define EXPIRY apr_time_from_sec(10 * 365 * 24 * 3600L)

/* The longest wait for the lock, µs: a hundred times as long as a copy takes. */
#define PATIENCE 5000

/*
 * If a process dies while changing the cache, shmcb may never return from a later call. An empty
 * instance then replaces the first one, once. Both are made at the start, because running processes
 * cannot share new memory. An unused instance takes little memory.
 */
#define INSTANCES 2

/* In memory that the processes share. */
typedef struct {
    el_lock_t lock;
    atomic_uint deaths; /* processes that died with the lock; the index of the instance in use;
                           INSTANCES or more: none */
} gate_t;

/* The cache as it was opened, in the parent's memory. */
typedef struct {
    gate_t *gate;
    apr_pool_t *pool; /* of the instances; NULL: there is no cache */
    const ap_socache_provider_t *provider; /* that made the instances */
    ap_socache_instance_t *instance[INSTANCES]; /* the last may be NULL */
    const char *arguments;
    uint64_t nbytes;
    bool fresh; /* not used yet */
} cache_t;

/* This process's view; written in post_config and pre_mpm, read-only afterwards. */
static struct {
    cache_t *cache;
    const ap_socache_provider_t *provider;
    server_rec *server;
    size_t most;
    uint32_t entries;
} local;

/* Spare buffers for the largest entry. */
static el_spares_t buffers;

/* --- sizes inside shmcb */

static size_t shmcb_hint(uint64_t nbytes)
{
    return nbytes / OBJECTS_LEAST < OBJECT_HINT ? (size_t)(nbytes / OBJECTS_LEAST) : OBJECT_HINT;
}

/* The number of entries that shmcb's lists hold. */
static uint64_t shmcb_entries(uint64_t nbytes)
{
    return nbytes / (shmcb_hint(nbytes) + ID_HINT);
}

/*
 * The bytes of the largest encoding. shmcb makes 256 subcaches, or halves that number until each
 * holds at least twice as many hinted entries as there are subcaches. An entry lies in one subcache
 * and evicts others there, so it may take half of it.
 */
static size_t shmcb_most(uint64_t nbytes)
{
    uint64_t entries = shmcb_entries(nbytes), parts = PARTS_MOST, half;

    while (parts > 1 && entries / parts < 2 * parts) {
        parts /= 2;
    }
    half = nbytes / parts / 2;
    return half > 4 * EL_ENTRY_HEAD ? (size_t)(half - 4 * EL_ENTRY_HEAD) : 0;
}

/* --- opening and closing */

static cache_t *shmcb_of_parent(void)
{
    static const char retained[] = "mod_elastic:cache:1";
    cache_t *kept = ap_retained_data_get(retained);

    return kept ? kept : ap_retained_data_create(retained, sizeof(*kept));
}

/* Old children keep their mappings until they end. */
static void shmcb_destroy(cache_t *cache)
{
    if (cache->pool) {
        apr_pool_destroy(cache->pool);
        munmap(cache->gate, sizeof(*cache->gate));
        cache->pool = NULL;
    }
}

static const char *shmcb_create(const cache_t *cache, server_rec *server,
                                ap_socache_instance_t **instance)
{
    const struct ap_socache_hints hints = {
        .avg_id_len = ID_HINT, .avg_obj_size = shmcb_hint(cache->nbytes),
    };
    const char *error =
        local.provider->create(instance, cache->arguments, cache->pool, cache->pool);

    if (!error
        && local.provider->init(*instance, CONSUMER, &hints, server, cache->pool) != APR_SUCCESS) {
        error = "there is no memory for it";
    }
    return error;
}

/*
 * Makes a cache in a pool of its own, which lives as long as the process or until it is destroyed.
 * The provider has cleanups in that pool, but httpd unloads its module at each reload: so the pool
 * holds the module. A provider inside httpd's program needs no hold.
 */
static bool shmcb_make(cache_t *cache, const char *arguments, uint64_t nbytes, server_rec *server)
{
    apr_dso_handle_t *object;
    Dl_info provider, program;
    const char *error;

    cache->gate =
        mmap(NULL, sizeof(*cache->gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cache->gate != MAP_FAILED && !el_lock_init(&cache->gate->lock)) {
        munmap(cache->gate, sizeof(*cache->gate));
        cache->gate = MAP_FAILED;
    }
    if (cache->gate == MAP_FAILED) {
        el_warn(server, errno, "ElasticCache is off: processes cannot share a lock");
        return false;
    }
    apr_pool_create(&cache->pool, server->process->pool);
    cache->arguments = apr_pstrdup(cache->pool, arguments);
    cache->nbytes = nbytes;
    /* Held first, because cleanups run in reverse order. */
    if (!dladdr(local.provider, &provider) || !dladdr(&ap_server_conf, &program)
        || (provider.dli_fbase != program.dli_fbase
            && apr_dso_load(&object, provider.dli_fname, cache->pool) != APR_SUCCESS)) {
        error = "its module cannot be held in memory";
    } else {
        error = shmcb_create(cache, server, &cache->instance[0]);
        /* The cache works without a second instance, too. */
        if (!error && shmcb_create(cache, server, &cache->instance[1])) {
            cache->instance[1] = NULL;
        }
    }
    if (error) {
        el_warn(server, 0, "ElasticCache is off: ElasticCacheStore %s:%s: %s", PROVIDER,
                arguments, error);
        shmcb_destroy(cache);
        return false;
    }
    cache->provider = local.provider;
    cache->fresh = true;
    return true;
}

size_t el_shmcb_open(const char *arguments, uint64_t nbytes, server_rec *main_server)
{
    cache_t *cache = shmcb_of_parent();

    local.provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, PROVIDER,
                                        AP_SOCACHE_PROVIDER_VERSION);
    local.server = main_server;
    local.cache = NULL;
    local.most = 0;
    if (!local.provider) {
        shmcb_destroy(cache);
        return 0;
    }
    if (cache->pool && atomic_load(&cache->gate->deaths) == 0
        && cache->provider == local.provider && strcmp(cache->arguments, arguments) == 0) {
        cache->fresh = false;
    } else {
        shmcb_destroy(cache);
        if (!shmcb_make(cache, arguments, nbytes, main_server)) {
            return 0;
        }
    }
    local.cache = cache;
    local.most = shmcb_most(nbytes);
    local.entries = (uint32_t)shmcb_entries(nbytes);
    return local.most;
}

size_t el_shmcb_reset(server_rec *main_server)
{
    cache_t *cache = local.cache;
    const char *arguments;

    if (!cache || cache->fresh) {
        return local.most;
    }
    arguments = apr_pstrdup(main_server->process->pconf, cache->arguments);
    shmcb_destroy(cache);
    if (!shmcb_make(cache, arguments, cache->nbytes, main_server)) {
        local.cache = NULL;
        local.most = 0;
    }
    return local.most;
}

void el_shmcb_close(void)
{
    local.cache = NULL;
    local.most = 0;
    shmcb_destroy(shmcb_of_parent());
}

uint32_t el_shmcb_entries(void)
{
    return local.entries;
}

/* --- reading and storing; the lock's holder may use the pool, too */

/* The instance in use; NULL if none is left. */
static ap_socache_instance_t *shmcb_instance(void)
{
    unsigned deaths = atomic_load_explicit(&local.cache->gate->deaths, memory_order_relaxed);

    return deaths < INSTANCES ? local.cache->instance[deaths] : NULL;
}

bool el_shmcb_is_broken(void)
{
    return local.cache && !shmcb_instance();
}

/* Takes the lock and returns the instance; NULL, without the lock, if it cannot be used now. */
static ap_socache_instance_t *shmcb_take(void)
{
    gate_t *gate = local.cache->gate;
    ap_socache_instance_t *instance;
    bool died;

    if (!shmcb_instance()) {
        return NULL;
    }
    if (!el_lock_take(&gate->lock, PATIENCE, &died)) {
        el_shared_count(EL_COUNT_CACHE_BUSY, 1);
        return NULL;
    }
    if (died) {
        atomic_fetch_add(&gate->deaths, 1);
        el_shared_count(EL_COUNT_CACHE_FAULTS, 1);
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, local.server,
                     "elastic: ElasticCacheStore: a child ended while it used the store, which %s",
                     shmcb_instance() ? "goes on without what it had"
                                      : "is off until the next reload");
    }
    instance = shmcb_instance();
    if (!instance) {
        el_lock_give(&gate->lock);
    }
    return instance;
}

/* shmcb's id of an entry. */
typedef struct {
    uint8_t bytes[sizeof(el_name_t) + ID_LENGTHS];
    unsigned nbytes;
} shmcb_id_t;

static shmcb_id_t shmcb_id(const el_name_t *name)
{
    shmcb_id_t id = {.nbytes = (unsigned)sizeof(*name) + name->hash[EL_NAME_HASH / 2] % ID_LENGTHS};

    memcpy(id.bytes, name, sizeof(*name));
    return id;
}

/* The count of changes for the name. */
static _Atomic uint32_t *shmcb_changes(const el_name_t *name)
{
    return el_cache_state_changes(&el_shared.block->cache, name);
}

static uint64_t shmcb_written(void)
{
    return atomic_load_explicit(&el_shared.block->cache.written, memory_order_relaxed);
}

bool el_shmcb_has_room(void)
{
    /* Subcaches fill unevenly, so count on half of the memory. */
    return shmcb_written() < local.cache->nbytes / 2;
}

/* Stores an entry, and counts the change of its name. */
static bool shmcb_store(const el_name_t *name, const el_entry_t *entry)
{
    size_t nbytes = EL_ENTRY_HEAD + entry->nbytes, room, least = shmcb_hint(local.cache->nbytes);
    shmcb_id_t id = shmcb_id(name);
    ap_socache_instance_t *instance;
    el_entry_t stamped = *entry;
    apr_status_t rv = APR_TIMEUP;
    uint8_t *bytes;

    if (entry->nbytes > local.most || !(bytes = el_pool_buffer_acquire(nbytes, &room))) {
        return false;
    }
    /* An entry takes at least one hinted entry of shmcb's lists. */
    stamped.written = atomic_fetch_add_explicit(
        &el_shared.block->cache.written, (nbytes > least ? nbytes : least) + ID_HINT,
        memory_order_relaxed);
    el_entry_write(name, &stamped, bytes);
    instance = shmcb_take();
    if (instance) {
        rv = local.provider->store(instance, local.server, id.bytes, id.nbytes,
                                   apr_time_now() + EXPIRY, bytes, (unsigned)nbytes,
                                   local.cache->pool);
        /* Under the lock, so that changes are counted in their order. */
        atomic_fetch_add(shmcb_changes(name), 1);
        el_lock_give(&local.cache->gate->lock);
        if (rv != APR_SUCCESS) {
            el_stats_cache_fault(rv, "it refused a compressed copy");
        }
    }
    el_pool_buffer_release(bytes);
    return rv == APR_SUCCESS;
}

/*
 * Retrieves an entry, and copies it into a local copy or, if that has no room, into a buffer of the
 * pool. False if it is missing, memory is short, or bodies may hold no more.
 */
static bool shmcb_retrieve(const el_name_t *name, uint32_t changes, el_found_t *found)
{
    unsigned room = (unsigned)(EL_ENTRY_HEAD + local.most + 1), nbytes = room;
    shmcb_id_t id = shmcb_id(name);
    ap_socache_instance_t *instance;
    apr_status_t rv = APR_NOTFOUND;
    el_entry_t entry;
    bool is_found = false;
    size_t held;
    uint8_t *buffer = el_spares_take(&buffers), *copy;

    buffer = buffer ? buffer : malloc(room);
    if (!buffer) {
        return false;
    }
    instance = shmcb_take();
    if (instance) {
        rv = local.provider->retrieve(instance, local.server, id.bytes, id.nbytes, buffer, &nbytes,
                                      local.cache->pool);
        el_lock_give(&local.cache->gate->lock);
    }
    if (rv != APR_SUCCESS || nbytes > room) {
        /* not found */
    } else if (!el_entry_parse(name, buffer, nbytes, &entry)) {
        el_stats_cache_fault(APR_SUCCESS, "a compressed copy is damaged");
    } else if (el_local_put(name, &entry, changes, found)) {
        is_found = true;
    } else if ((copy = el_pool_buffer_acquire(entry.nbytes, &held)) != NULL) {
        memcpy(copy, entry.data, entry.nbytes);
        found->entry = entry;
        found->entry.data = found->buffer = copy;
        found->release = el_pool_buffer_release;
        is_found = true;
    }
    if (!el_spares_keep(&buffers, buffer)) {
        free(buffer);
    }
    return is_found;
}

bool el_shmcb_get(const el_name_t *name, el_found_t *found)
{
    uint32_t changes = atomic_load(shmcb_changes(name));
    bool is_found = el_local_get(name, (el_local_stamp_t){.now = changes}, found)
                    || shmcb_retrieve(name, changes, found);

    /* shmcb evicts in order of arrival; insert popular entries again. */
    if (is_found && shmcb_written() - found->entry.written > local.cache->nbytes / 2) {
        shmcb_store(name, &found->entry);
    }
    return is_found;
}

bool el_shmcb_put(const el_name_t *name, const el_entry_t *entry)
{
    uint32_t changes = atomic_load(shmcb_changes(name));
    el_entry_t copied = *entry;
    bool is_stored = shmcb_store(name, entry);

    if (is_stored) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
    }
    copied.written = shmcb_written();
    /* A concurrent store bumps the count as well, and so invalidates this copy. */
    el_local_put(name, &copied, changes + is_stored, NULL);
    return is_stored;
}
