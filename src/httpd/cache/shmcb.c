#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr() */
#endif

#include "httpd/cache/backends.h"

#include "httpd/cache/spares.h"
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

/* The name that the provider may use in paths. */
#define CONSUMER "elastic-cache"

/*
 * shmcb looks through the list of a part, and compares the lengths of ids before it reads the ids,
 * each of which is in another place of its memory. So names of many lengths are found faster.
 */
#define ID_LENGTHS 64

/*
 * A small page of text, encoded: what shmcb divides its memory by. Its lists have room for so many
 * entries and no more, so that with a larger hint memory stays empty where pages are small. Of less
 * memory it is a part, because shmcb divides by zero where there is no room for two.
 */
#define OBJECT_HINT (2 * 1024)
#define OBJECTS_LEAST 64

/* Bytes of an id, on average. */
#define ID_HINT (sizeof(el_name_t) + ID_LENGTHS / 2)

/* What shmcb divides its memory into, at most. */
#define PARTS_MOST 256

/* An entry has no time after which it is wrong. */
#define EXPIRY apr_time_from_sec(10 * 365 * 24 * 3600L)

/* µs for which the lock is waited for, a hundred times as long as a copy takes. */
#define PATIENCE 5000

/*
 * Somebody may die in the middle of a change, after which shmcb might never come out again: then an
 * empty instance takes the place of the first one, once. It is made beside it, because no process
 * can share memory with others that live already; it takes little until it is used.
 */
#define INSTANCES 2

/* In memory that the processes share. */
typedef struct {
    el_lock_t lock;
    atomic_uint deaths; /* while the lock was held: the instance in use; INSTANCES or more: none */
} gate_t;

/* In memory of the parent process: the cache as it was opened. */
typedef struct {
    gate_t *gate;
    apr_pool_t *pool; /* of the instance; NULL: there is no cache */
    const ap_socache_provider_t *provider; /* whose instance it is */
    ap_socache_instance_t *instance[INSTANCES]; /* of which the last may be NULL */
    const char *arguments;
    uint64_t nbytes;
    bool fresh; /* nobody has used it yet */
} cache_t;

/* In force for this process; written in post_config and pre_mpm, read-only afterwards. */
static struct {
    cache_t *cache;
    const ap_socache_provider_t *provider;
    server_rec *server;
    size_t most;
    uint32_t entries;
} local;

/* Buffers of what the largest entry takes. */
static el_spares_t buffers;

static cache_t *cache_of_parent(void)
{
    static const char retained[] = "mod_elastic:cache:1";
    cache_t *kept = ap_retained_data_get(retained);

    return kept ? kept : ap_retained_data_create(retained, sizeof(*kept));
}

static size_t object_hint(uint64_t nbytes)
{
    return nbytes / OBJECTS_LEAST < OBJECT_HINT ? (size_t)(nbytes / OBJECTS_LEAST) : OBJECT_HINT;
}

/* For how many entries shmcb has room in its lists. */
static uint64_t entries_of(uint64_t nbytes)
{
    return nbytes / (object_hint(nbytes) + ID_HINT);
}

/*
 * shmcb makes as many parts of its memory, 256 or fewer by halves, as leave each twice as many
 * objects of the hinted size as there are parts. An entry lies within one part, from which it
 * drives out others: it takes half of one at most.
 */
static size_t most_of(uint64_t nbytes)
{
    uint64_t entries = entries_of(nbytes), parts = PARTS_MOST, half;

    while (parts > 1 && entries / parts < 2 * parts) {
        parts /= 2;
    }
    half = nbytes / parts / 2;
    return half > 4 * EL_ENTRY_HEAD ? (size_t)(half - 4 * EL_ENTRY_HEAD) : 0;
}

static gate_t *make_gate(void)
{
    gate_t *gate =
        mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (gate == MAP_FAILED) {
        return NULL;
    }
    if (!el_lock_init(&gate->lock)) {
        munmap(gate, sizeof(*gate));
        return NULL;
    }
    return gate;
}

/* Children of before keep their mappings until they end. */
static void destroy(cache_t *cache)
{
    if (cache->pool) {
        apr_pool_destroy(cache->pool);
        munmap(cache->gate, sizeof(*cache->gate));
        cache->pool = NULL;
    }
}

/*
 * The provider has cleanups in the pool, and httpd unloads it at each reload: it stays mapped,
 * where it is, until they are done. What is in httpd's own program always stays.
 */
static bool hold_provider(apr_pool_t *pool)
{
    Dl_info provider, program;
    apr_dso_handle_t *object;

    return dladdr(local.provider, &provider) && dladdr(&ap_server_conf, &program)
           && (provider.dli_fbase == program.dli_fbase
               || apr_dso_load(&object, provider.dli_fname, pool) == APR_SUCCESS);
}

static const char *create(const cache_t *cache, server_rec *server,
                          ap_socache_instance_t **instance)
{
    const struct ap_socache_hints hints = {
        .avg_id_len = ID_HINT, .avg_obj_size = object_hint(cache->nbytes),
    };
    const char *error =
        local.provider->create(instance, cache->arguments, cache->pool, cache->pool);

    if (!error
        && local.provider->init(*instance, CONSUMER, &hints, server, cache->pool) != APR_SUCCESS) {
        error = "there is no memory for it";
    }
    return error;
}

/* Where there is no memory for the last instance, the cache works without. */
static const char *create_all(cache_t *cache, server_rec *server)
{
    const char *error;

    /* Before anything of the provider's is in the pool: cleanups run from the last one. */
    if (!hold_provider(cache->pool)) {
        return "its module cannot be held in memory";
    }
    error = create(cache, server, &cache->instance[0]);
    if (!error && create(cache, server, &cache->instance[1])) {
        cache->instance[1] = NULL;
    }
    return error;
}

/* A cache in a pool of its own, which lives as long as the process unless it is destroyed. */
static bool make_cache(cache_t *cache, const char *arguments, uint64_t nbytes, server_rec *server)
{
    const char *error;

    cache->gate = make_gate();
    if (!cache->gate) {
        el_warn(server, errno, "ElasticCache is off: processes cannot share a lock");
        return false;
    }
    apr_pool_create(&cache->pool, server->process->pool);
    cache->arguments = apr_pstrdup(cache->pool, arguments);
    cache->nbytes = nbytes;
    error = create_all(cache, server);
    if (error) {
        el_warn(server, 0, "ElasticCache is off: ElasticCacheStore %s:%s: %s", PROVIDER,
                arguments, error);
        destroy(cache);
        return false;
    }
    cache->provider = local.provider;
    cache->fresh = true;
    return true;
}

/* Whether the cache of before is the one that is asked for now. */
static bool is_kept(const cache_t *cache, const char *arguments)
{
    return cache->pool && atomic_load(&cache->gate->deaths) == 0
           && cache->provider == local.provider && strcmp(cache->arguments, arguments) == 0;
}

size_t el_shmcb_open(const char *arguments, uint64_t nbytes, server_rec *main_server)
{
    cache_t *cache = cache_of_parent();

    local.provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, PROVIDER,
                                        AP_SOCACHE_PROVIDER_VERSION);
    local.server = main_server;
    local.cache = NULL;
    local.most = 0;
    if (!local.provider) {
        destroy(cache);
        return 0;
    }
    if (!is_kept(cache, arguments)) {
        destroy(cache);
        if (!make_cache(cache, arguments, nbytes, main_server)) {
            return 0;
        }
    } else {
        cache->fresh = false;
    }
    local.cache = cache;
    local.most = most_of(nbytes);
    local.entries = (uint32_t)entries_of(nbytes);
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
    destroy(cache);
    if (!make_cache(cache, arguments, cache->nbytes, main_server)) {
        local.cache = NULL;
        local.most = 0;
    }
    return local.most;
}

void el_shmcb_close(void)
{
    local.cache = NULL;
    local.most = 0;
    destroy(cache_of_parent());
}

uint32_t el_shmcb_entries(void)
{
    return local.entries;
}

/* What shmcb finds an entry by. */
typedef struct {
    uint8_t bytes[sizeof(el_name_t) + ID_LENGTHS];
    unsigned nbytes;
} entry_id_t;

static entry_id_t id_of(const el_name_t *name)
{
    entry_id_t id = {.nbytes = (unsigned)sizeof(*name) + name->hash[EL_NAME_HASH / 2] % ID_LENGTHS};

    memcpy(id.bytes, name, sizeof(*name));
    return id;
}

static void give_lock(void)
{
    el_lock_give(&local.cache->gate->lock);
}

/* The instance in use; NULL where there is none any more. */
static ap_socache_instance_t *instance_in_use(void)
{
    unsigned deaths = atomic_load_explicit(&local.cache->gate->deaths, memory_order_relaxed);

    return deaths < INSTANCES ? local.cache->instance[deaths] : NULL;
}

bool el_shmcb_is_broken(void)
{
    return local.cache && !instance_in_use();
}

/* With the lock, after its last holder died. */
static void use_next(void)
{
    atomic_fetch_add(&local.cache->gate->deaths, 1);
    el_shared_count(EL_COUNT_CACHE_FAULTS, 1);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, local.server,
                 "elastic: ElasticCacheStore: a child ended while it used the store, which %s",
                 instance_in_use() ? "goes on without what it had"
                                   : "is off until the next reload");
}

/* Takes the lock: the instance, or NULL, without the lock, where nobody may use it now. */
static ap_socache_instance_t *take(void)
{
    gate_t *gate = local.cache->gate;
    ap_socache_instance_t *instance;
    bool died;

    if (!instance_in_use()) {
        return NULL;
    }
    if (!el_lock_take(&gate->lock, PATIENCE, &died)) {
        el_shared_count(EL_COUNT_CACHE_BUSY, 1);
        return NULL;
    }
    if (died) {
        use_next();
    }
    instance = instance_in_use();
    if (!instance) {
        give_lock();
    }
    return instance;
}

/* The provider may be used by one thread at a time only, which then has the pool as well. */
static unsigned retrieve(const entry_id_t *id, uint8_t *buffer, size_t room)
{
    ap_socache_instance_t *instance = take();
    unsigned nbytes = (unsigned)room;
    apr_status_t rv;

    if (!instance) {
        return 0;
    }
    rv = local.provider->retrieve(instance, local.server, id->bytes, id->nbytes, buffer, &nbytes,
                                  local.cache->pool);
    give_lock();
    return rv == APR_SUCCESS && nbytes <= room ? nbytes : 0;
}

/* Its parts fill up one before the other. */
bool el_shmcb_has_room(void)
{
    uint64_t written = atomic_load_explicit(&el_shared.block->cache.written, memory_order_relaxed);

    return written < local.cache->nbytes / 2;
}

/* What is asked for often must not leave because it came first: it is stored again. */
static bool is_old(const el_entry_t *entry)
{
    uint64_t written = atomic_load_explicit(&el_shared.block->cache.written, memory_order_relaxed);

    return written - entry->written > local.cache->nbytes / 2;
}

/*
 * `entry`, copied to a buffer of the pool that takes as much memory as it needs. False where memory
 * is short, or bodies in flight may hold no more.
 */
static bool find_copy(el_found_t *found, const el_entry_t *entry)
{
    size_t room;
    void *buffer = el_pool_buffer_acquire(entry->nbytes, &room);

    if (!buffer) {
        return false;
    }
    memcpy(buffer, entry->data, entry->nbytes);
    found->entry = *entry;
    found->buffer = buffer;
    found->release = el_pool_buffer_release;
    found->entry.data = buffer;
    return true;
}

static bool get_far(const el_name_t *name, uint32_t changes, el_found_t *found)
{
    size_t room = EL_ENTRY_HEAD + local.most + 1;
    uint8_t *buffer = el_spares_take(&buffers);
    entry_id_t id = id_of(name);
    el_entry_t entry;
    unsigned nbytes;
    bool is_found = false;

    buffer = buffer ? buffer : malloc(room);
    if (!buffer) {
        return false;
    }
    nbytes = retrieve(&id, buffer, room);
    if (nbytes > 0 && !el_entry_parse(name, buffer, nbytes, &entry)) {
        el_stats_cache_fault(APR_SUCCESS, "an entry is damaged");
    } else if (nbytes > 0) {
        is_found = el_local_put(name, &entry, changes, found) || find_copy(found, &entry);
    }
    if (!el_spares_keep(&buffers, buffer)) {
        free(buffer);
    }
    return is_found;
}

static uint32_t changes_of(const el_name_t *name)
{
    return atomic_load(el_cache_state_changes(&el_shared.block->cache, name));
}

/* Under the lock, so that changes are counted in the order in which they come. */
static apr_status_t store_and_count(ap_socache_instance_t *instance, const el_name_t *name,
                                    uint8_t *bytes, size_t nbytes)
{
    entry_id_t id = id_of(name);
    apr_status_t rv = local.provider->store(instance, local.server, id.bytes, id.nbytes,
                                            apr_time_now() + EXPIRY, bytes, (unsigned)nbytes,
                                            local.cache->pool);

    atomic_fetch_add(el_cache_state_changes(&el_shared.block->cache, name), 1);
    return rv;
}

static bool store(const el_name_t *name, uint8_t *bytes, size_t nbytes)
{
    ap_socache_instance_t *instance = take();
    apr_status_t rv;

    if (!instance) {
        return false;
    }
    rv = store_and_count(instance, name, bytes, nbytes);
    give_lock();
    if (rv != APR_SUCCESS) {
        el_stats_cache_fault(rv, "it refused an entry");
    }
    return rv == APR_SUCCESS;
}

/* What an entry takes of all the bytes: at least its place in shmcb's lists. */
static uint64_t share_of(size_t nbytes)
{
    size_t least = object_hint(local.cache->nbytes) + ID_HINT;

    return nbytes + ID_HINT > least ? nbytes + ID_HINT : least;
}

static bool put_far(const el_name_t *name, const el_entry_t *entry)
{
    size_t nbytes = EL_ENTRY_HEAD + entry->nbytes, room;
    el_entry_t stamped = *entry;
    uint8_t *bytes;
    bool is_stored;

    if (entry->nbytes > local.most || !(bytes = el_pool_buffer_acquire(nbytes, &room))) {
        return false;
    }
    stamped.written = atomic_fetch_add_explicit(&el_shared.block->cache.written, share_of(nbytes),
                                                memory_order_relaxed);
    el_entry_write(name, &stamped, bytes);
    is_stored = store(name, bytes, nbytes);
    el_pool_buffer_release(bytes);
    return is_stored;
}

bool el_shmcb_get(const el_name_t *name, el_found_t *found)
{
    uint32_t changes = changes_of(name);
    bool is_found = el_local_get(name, (el_local_stamp_t){.now = changes}, found)
                    || get_far(name, changes, found);

    if (is_found && is_old(&found->entry)) {
        put_far(name, &found->entry);
    }
    return is_found;
}

/* Whoever stores something else meanwhile is counted too, so that this copy is not used. */
bool el_shmcb_put(const el_name_t *name, const el_entry_t *entry)
{
    uint32_t changes = changes_of(name);
    el_entry_t copied = *entry;
    bool is_stored = put_far(name, entry);

    if (is_stored) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
    }
    copied.written = atomic_load_explicit(&el_shared.block->cache.written, memory_order_relaxed);
    el_local_put(name, &copied, changes + is_stored, NULL);
    return is_stored;
}
