#include "httpd/cache/store.h"

#include "httpd/cache/backends.h"
#include "httpd/cache/tools.h"
#include "httpd/config/config.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "engines/memory.h"
#include "host/process.h"

#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_general.h"
#include "http_core.h"
#include "http_log.h"

EL_USE_LOG;

/*
 * Bytes of local copies in each process, enough for a hundred pages. Processes with one thread are
 * numerous and share the requests, so they keep less.
 */
#define COPIES (4 * 1024 * 1024)
#define COPIES_ALONE (256 * 1024)

/*
 * For this many seconds, threads that waited for an encoding find it in this process, even if
 * another machine replaces the entry.
 */
#define HANDED_OVER 1

/* Bytes of the largest encoding to store; 0: there is no store. */
static size_t most;

/* From ElasticCacheKey. */
static el_seal_keys_t keys;

/* --- names */

_Static_assert(EL_NAME_HASH == EL_MAC, "a name holds a hash");

/* The texts that are hashed before the data. */
enum { HOST, ADDRESS, VISITOR, TEXTS = VISITOR + EL_VISITOR_TEXTS };

/* The numbers that are hashed first: they make different texts and data differ as a whole. */
typedef struct {
    uint64_t kind;
    uint64_t port;
    uint64_t length[TEXTS]; /* with the NUL; 0: no text */
    uint64_t nbytes;        /* of the data */
} head_t;
_Static_assert(sizeof(head_t) % 16 == 0, "whole blocks");

/* The key in use; written in post_config, read-only afterwards. */
static uint8_t name_key[EL_MAC_KEY];

/* False if machines share names: a host's addresses are then left out. */
static bool by_address;

/* Spare contexts for this key. */
static el_spares_t macs;

void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes)
{
    const server_rec *server = r->server;
    const char *text[TEXTS] = {NULL};
    head_t head = {.kind = kind, .nbytes = nbytes};
    void *mac = el_spares_take(&macs);

    mac = mac ? mac : el_mac_make(name_key);
    *fingerprint = (el_fingerprint_t){.mac = mac, .good = mac && el_mac_begin(mac), .kind = kind};
    if (!el_server_of(server)->values.value[EL_SERVER_CACHE_SHARED]) {
        head.port = server->port;
        text[HOST] = server->server_hostname;
        if (by_address && server->addrs) {
            text[ADDRESS] = server->addrs->virthost;
        }
    }
    if (visitor) {
        memcpy(text + VISITOR, visitor->text, sizeof(visitor->text));
    }
    for (int i = 0; i < TEXTS; i++) {
        head.length[i] = text[i] ? strlen(text[i]) + 1 : 0;
    }
    el_fingerprint_add(fingerprint, &head, sizeof(head));
    for (int i = 0; i < TEXTS; i++) {
        el_fingerprint_add(fingerprint, text[i], head.length[i]);
    }
}

void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes)
{
    fingerprint->good = fingerprint->good && el_mac_add(fingerprint->mac, data, nbytes);
}

bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name)
{
    memset(name, 0, sizeof(*name));
    name->kind = (uint8_t)fingerprint->kind;
    fingerprint->good = fingerprint->good && el_mac_end(fingerprint->mac, name->hash);
    if (fingerprint->mac && !el_spares_keep(&macs, fingerprint->mac)) {
        el_mac_free(fingerprint->mac);
    }
    return fingerprint->good;
}

void el_name_encoding(el_name_t *name, el_coding_t coding, const el_setup_t *setup, int pinned)
{
    name->coding = (uint8_t)coding;
    name->pinned = (uint8_t)pinned;
    name->window_bits = (uint8_t)setup->window_bits;
    name->mem_level = (uint8_t)setup->mem_level;
    name->block_bits = (uint8_t)setup->block_bits;
}

/* --- opening the store */

static const void *cache_provider(const el_cache_store_t *wanted)
{
    return ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, wanted->provider,
                              AP_SOCACHE_PROVIDER_VERSION);
}

/* Reads the key of a store that other machines reach. Returns false, and logs it, if it is bad. */
static bool cache_read_key(server_rec *main_server)
{
    const char *path = el_server_of(main_server)->cache_key;
    const char *fault = path ? el_key_file_read(path, &keys) : NULL;

    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, main_server,
                     "elastic: ElasticCacheStore: other machines reach this store; set "
                     "ElasticCacheKey");
    } else if (fault) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, main_server, "elastic: ElasticCacheKey %s: %s",
                     path, fault);
    }
    return path && !fault;
}

bool el_store_check(server_rec *main_server)
{
    el_cache_store_t wanted = *el_server_of(main_server)->cache_store;

    if (wanted.remote && !cache_read_key(main_server)) {
        return false;
    }
    if (atomic_load(&el_settings_cache) && !el_warnings_are_early() && !cache_provider(&wanted)) {
        el_warn(main_server, 0,
                "ElasticCache is off: ElasticCacheStore %s is not loaded; add the line "
                "LoadModule socache_%s_module modules/mod_socache_%s.so",
                wanted.provider, wanted.provider, wanted.provider);
    }
    return true;
}

/* A random key in the parent's memory, kept across reloads. NULL if there is no randomness. */
static const uint8_t *cache_random_key(void)
{
    static const char retained[] = "mod_elastic:fingerprint:1";
    struct {
        bool made;
        uint8_t key[EL_MAC_KEY];
    } *kept = ap_retained_data_get(retained);

    if (!kept) {
        kept = ap_retained_data_create(retained, sizeof(*kept));
    }
    if (!kept->made) {
        kept->made = apr_generate_random_bytes(kept->key, sizeof(kept->key)) == APR_SUCCESS;
    }
    return kept->made ? kept->key : NULL;
}

/* Sets the key of names; a store that other machines reach uses that of ElasticCacheKey. */
static bool cache_open_names(const el_cache_store_t *wanted, server_rec *main_server)
{
    const uint8_t *key;
    void *mac = NULL;

    if (wanted->remote && !cache_read_key(main_server)) {
        return false;
    }
    key = wanted->remote ? keys.fingerprints : cache_random_key();
    by_address = !wanted->remote;
    if (key) {
        memcpy(name_key, key, sizeof(name_key));
        /* Only a test: each child makes its own contexts. */
        mac = el_mac_make(name_key);
        el_mac_free(mac);
    }
    if (!mac) {
        el_warn(main_server, 0, "ElasticCache is off: libcrypto does not compute AES-GMAC");
    }
    return mac != NULL;
}

void el_store_open(server_rec *main_server, apr_pool_t *pconf)
{
    const el_server_t *server = el_server_of(main_server);
    el_cache_store_t wanted = *server->cache_store;
    size_t room;

    most = 0;
    el_remote_close();
    if (!atomic_load(&el_settings_cache) || !cache_provider(&wanted)
        || !cache_open_names(&wanted, main_server)) {
        el_shmcb_close();
        return;
    }
    most = (size_t)server->values.value[EL_SERVER_CACHE_MAX_SIZE];
    if (wanted.remote) {
        const el_remote_config_t config = {
            .provider = wanted.provider, .arguments = wanted.arguments, .keys = &keys, .most = most,
        };

        el_shmcb_close();
        most = el_remote_open(&config, main_server, pconf) ? most : 0;
    } else {
        room = el_shmcb_open(wanted.arguments, wanted.nbytes, main_server);
        most = most < room ? most : room;
    }
}

void el_store_reset(server_rec *main_server)
{
    if (!el_remote_is_open()) {
        size_t room = el_shmcb_reset(main_server);

        most = most < room ? most : room;
    }
}

void el_store_child(bool threads)
{
    if (most > 0) {
        el_local_open(threads ? COPIES : COPIES_ALONE);
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

/* --- reading and storing */

bool el_store_takes(uint64_t nbytes)
{
    return nbytes > 0 && nbytes <= most;
}

bool el_store_get_local(const el_name_t *name, el_found_t *found)
{
    return el_local_get(name,
                       el_remote_is_open() ? (el_local_stamp_t){el_clock_sec(), HANDED_OVER}
                                           : (el_local_stamp_t){.age = UINT32_MAX},
                       found);
}

bool el_store_get(const el_name_t *name, el_found_t *found)
{
    const uint8_t *entry;
    size_t nbytes;

    if (most == 0) {
        return false;
    }
    if (!el_remote_is_open()) {
        return el_shmcb_get(name, found);
    }
    if (el_store_get_local(name, found)) {
        return true;
    }
    /* On another machine, a file's numbers mean another file. */
    found->buffer = name->kind != EL_NAME_FILE
                        ? el_remote_get(name, &found->waited, &entry, &nbytes)
                        : NULL;
    found->release = el_pool_buffer_release;
    if (found->buffer && !el_entry_parse(name, entry, nbytes, &found->entry)) {
        el_stats_cache_fault(APR_SUCCESS, "a compressed copy is damaged");
        el_found_release(found);
    }
    return found->buffer != NULL;
}

bool el_store_put(const el_name_t *name, const el_entry_t *entry, bool awaited)
{
    if (!el_store_takes(entry->nbytes)) {
        return false;
    }
    if (!el_remote_is_open()) {
        return el_shmcb_put(name, entry);
    }
    if (awaited) {
        el_local_put(name, entry, el_clock_sec(), NULL);
    }
    return name->kind != EL_NAME_FILE && el_remote_put(name, entry);
}

bool el_store_has_room(void)
{
    return most > 0 && !el_remote_is_open() && el_shmcb_has_room();
}

bool el_store_note(const el_name_t *name)
{
    /*
     * A body is worth storing only if it comes back before the store evicts it, that is before as
     * many other bodies as the store has entries. Half as many again are remembered, because only
     * known bodies are looked up. For other machines, the number of entries is unknown.
     */
    uint32_t others = el_remote_is_open() ? EL_DOORKEEPER_MOST : el_shmcb_entries() / 2 * 3;

    return el_doorkeeper_note(&el_shared.block->cache.doorkeeper, name->hash,
                              others < EL_DOORKEEPER_MOST ? others : EL_DOORKEEPER_MOST);
}
