#include "httpd/cache/backends.h"

#include "httpd/cache/tools.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "elastic/lockfree.h"
#include "engines/memory.h"
#include "host/process.h"

#include "ap_mpm.h"
#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_strings.h"

/* Providers put this and a colon before names; with the NUL they reserve 16 bytes. */
#define CONSUMER "mod_elastic"

/* Entries expire after this time unless they are stored again; popular ones are. */
#define LIFE apr_time_from_sec(24 * 3600)

/* Threads of a process that call the store: if one hangs, others are left. */
#define THREADS 4

/* Bytes that a thread keeps between calls. */
#define KEPT_MEMORY (1 << 20)

/*
 * Bytes of a piece. apr_redis hangs if the kernel takes only part of a request: 32 KB fit in a new
 * connection's send buffer, which has 46 KB with small segments. memcached takes 1 MB with its
 * header, and stores more than half of that in chained chunks.
 */
static const struct {
    const char *provider;
    size_t piece;
} kinds[] = {{"redis", 32 * 1024}, {"memcache", 512 * 1024 - 1024}};

/* The bytes before the sealed entry: its length, highest byte first. */
#define LENGTH 4

/* The offset of the plain entry in a value. */
#define ENTRY (LENGTH + EL_SEAL_NONCE)

/* The bytes of a piece's name: the value's name and the piece's number. */
#define PIECE_NAME (EL_SEAL_NAME + 2)

/* The piece number of a trial; no value has it. */
#define TRIAL_PIECE 0xffff

/* Written in post_config and child_init, read-only afterwards. */
static struct {
    const ap_socache_provider_t *provider; /* NULL: no remote store */
    ap_socache_instance_t *instance;
    server_rec *server;
    const el_seal_keys_t *keys;
    size_t piece;
    size_t most; /* bytes of the largest sealed entry */
    bool works;  /* worker threads are running */
} remote;

static el_workers_t workers;

/* A sealed entry on its way to or from the store, after its LENGTH. */
typedef struct {
    el_task_t task;
    unsigned char name[EL_SEAL_NAME];
    size_t first;         /* the number of its first piece */
    unsigned char *bytes; /* from the pool (engines/memory.h), so counted as a body's memory */
    size_t nbytes;
    apr_status_t status;
    el_pause_ticket_t ticket;
} transfer_t;

/* A worker thread's memory, kept between calls. */
typedef struct {
    apr_pool_t *pool;
    unsigned char *piece;
} memory_t;

/* --- on a worker thread */

/* NULL if memory is short. */
static memory_t *remote_own_memory(void)
{
    static _Thread_local memory_t own;
    apr_allocator_t *allocator;

    if (!own.pool && apr_allocator_create(&allocator) == APR_SUCCESS) {
        apr_allocator_max_free_set(allocator, KEPT_MEMORY);
        /* Has no parent pool: nothing may free it while its thread hangs. */
        if (apr_pool_create_unmanaged_ex(&own.pool, NULL, allocator) != APR_SUCCESS) {
            apr_allocator_destroy(allocator);
            return NULL;
        }
        apr_allocator_owner_set(allocator, own.pool);
    }
    if (!own.piece) {
        own.piece = malloc(remote.piece);
    }
    return own.pool && own.piece ? &own : NULL;
}

static void remote_name_piece(const transfer_t *transfer, size_t number, unsigned char *name)
{
    number += transfer->first;
    memcpy(name, transfer->name, EL_SEAL_NAME);
    name[EL_SEAL_NAME] = (unsigned char)(number >> 8);
    name[EL_SEAL_NAME + 1] = (unsigned char)number;
}

/* Stores the first piece last: a reader who finds it finds the others. */
static apr_status_t remote_store_all(transfer_t *transfer, apr_pool_t *pool)
{
    size_t number = (transfer->nbytes + remote.piece - 1) / remote.piece;
    apr_status_t status = APR_SUCCESS;

    while (status == APR_SUCCESS && number > 0) {
        size_t at = --number * remote.piece, rest = transfer->nbytes - at;
        unsigned char name[PIECE_NAME];

        remote_name_piece(transfer, number, name);
        status = remote.provider->store(remote.instance, remote.server, name, sizeof(name),
                                        apr_time_now() + LIFE, transfer->bytes + at,
                                        (unsigned)(rest < remote.piece ? rest : remote.piece),
                                        pool);
        apr_pool_clear(pool);
    }
    return status;
}

/* The value cannot be this module's. */
#define FOREIGN APR_EINVAL

/* No memory, or no more allowed. The store is not at fault, so the value counts as missing. */
#define NO_ROOM APR_NOTFOUND

/* Allocates the transfer's bytes; false if memory is short or bodies may hold no more. */
static bool remote_make_bytes(transfer_t *transfer, size_t nbytes)
{
    size_t room;

    transfer->nbytes = nbytes;
    transfer->bytes = el_pool_buffer_acquire(nbytes, &room);
    return transfer->bytes != NULL;
}

static apr_status_t remote_retrieve_piece(const transfer_t *transfer, size_t number, memory_t *at,
                                          unsigned *nbytes)
{
    unsigned char name[PIECE_NAME];
    apr_status_t status;

    remote_name_piece(transfer, number, name);
    *nbytes = (unsigned)remote.piece;
    status = remote.provider->retrieve(remote.instance, remote.server, name, sizeof(name),
                                       at->piece, nbytes, at->pool);
    apr_pool_clear(at->pool);
    return status;
}

/* Allocates memory for the length that the first piece announces. */
static apr_status_t remote_begin_transfer(transfer_t *transfer, const unsigned char *piece,
                                          unsigned nbytes)
{
    size_t len;

    if (nbytes < LENGTH + EL_SEAL_OVERHEAD) {
        return FOREIGN;
    }
    len = (size_t)piece[0] << 24 | (size_t)piece[1] << 16 | (size_t)piece[2] << 8 | piece[3];
    if (len < EL_SEAL_OVERHEAD || len > remote.most) {
        return FOREIGN;
    }
    return remote_make_bytes(transfer, LENGTH + len) ? APR_SUCCESS : NO_ROOM;
}

static apr_status_t remote_retrieve_all(transfer_t *transfer, memory_t *at)
{
    size_t got = 0;
    unsigned nbytes;
    apr_status_t status;

    for (size_t number = 0; number == 0 || got < transfer->nbytes; number++) {
        status = remote_retrieve_piece(transfer, number, at, &nbytes);
        if (status == APR_SUCCESS && number == 0) {
            status = remote_begin_transfer(transfer, at->piece, nbytes);
        }
        if (status != APR_SUCCESS || el_task_is_late(&transfer->task)) {
            return status;
        }
        if (nbytes == 0 || nbytes > transfer->nbytes - got) {
            return FOREIGN;
        }
        memcpy(transfer->bytes + got, at->piece, nbytes);
        got += nbytes;
    }
    return APR_SUCCESS;
}

static void remote_run_get(el_task_t *task)
{
    transfer_t *transfer = (transfer_t *)task;
    memory_t *at = remote_own_memory();

    transfer->status = at ? remote_retrieve_all(transfer, at) : NO_ROOM;
}

static void remote_run_put(el_task_t *task)
{
    transfer_t *transfer = (transfer_t *)task;
    memory_t *at = remote_own_memory();

    transfer->status = at ? remote_store_all(transfer, at->pool) : APR_ENOMEM;
    if (transfer->status == APR_SUCCESS) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
        el_pause_worked(&el_shared.block->cache.puts, transfer->ticket);
    } else if (el_pause_failed(&el_shared.block->cache.puts, transfer->ticket, el_clock_usec())) {
        el_stats_cache_fault(transfer->status, "it refused a compressed copy");
    }
}

/*
 * After a pause, a random value is stored, and must come back in time once in TRIALS attempts.
 * Looking up a request's name would prove nothing: the clients answer "not found" for a server that
 * they take for dead.
 */
#define TRIALS 4

static void remote_run_trial(el_task_t *task)
{
    transfer_t *transfer = (transfer_t *)task;
    memory_t *at = remote_own_memory();
    bool in_time = false;

    transfer->status = at ? remote_store_all(transfer, at->pool) : APR_ENOMEM;
    for (int i = 0; i < TRIALS && transfer->status == APR_SUCCESS && !in_time; i++) {
        uint64_t begun = el_clock_usec();
        unsigned nbytes;

        transfer->status = remote_retrieve_piece(transfer, 0, at, &nbytes);
        in_time = el_clock_usec() - begun <= EL_REMOTE_PATIENCE;
        if (transfer->status == APR_SUCCESS
            && (nbytes != transfer->nbytes || memcmp(at->piece, transfer->bytes, nbytes) != 0)) {
            transfer->status = APR_EGENERAL;
        }
    }
    if (in_time && transfer->status == APR_SUCCESS) {
        el_pause_worked(&el_shared.block->cache.calls, transfer->ticket);
    } else {
        el_pause_failed(&el_shared.block->cache.calls, transfer->ticket, el_clock_usec());
        el_stats_cache_fault(transfer->status, "it does not answer in time");
    }
}

static void remote_discard(el_task_t *task)
{
    el_pool_buffer_release(((transfer_t *)task)->bytes);
    free(task);
}

/* --- on other threads */

/* NULL if memory is short. */
static transfer_t *remote_make_transfer(void (*run)(el_task_t *task), el_pause_ticket_t ticket)
{
    transfer_t *transfer = calloc(1, sizeof(*transfer));

    if (transfer) {
        transfer->task.run = run;
        transfer->task.discard = remote_discard;
        transfer->ticket = ticket;
    }
    return transfer;
}

static void remote_failed(el_pause_ticket_t ticket, apr_status_t status, const char *what)
{
    el_pause_failed(&el_shared.block->cache.calls, ticket, el_clock_usec());
    el_stats_cache_fault(status, what);
}

/* Lets a worker test if the store works again. */
static void remote_try_again(el_pause_ticket_t ticket)
{
    transfer_t *transfer = remote_make_transfer(remote_run_trial, ticket);

    if (!transfer) {
        return;
    }
    transfer->first = TRIAL_PIECE;
    if (!remote_make_bytes(transfer, LENGTH + EL_SEAL_NAME)
        || apr_generate_random_bytes(transfer->bytes, transfer->nbytes) != APR_SUCCESS
        || !el_seal_name(remote.keys, transfer->bytes, transfer->nbytes, transfer->name)
        || !el_workers_post(&workers, &transfer->task)) {
        remote_discard(&transfer->task);
    }
}

/* Returns false during a pause. The first caller after it starts a test of the store. */
static bool remote_may_call(el_pause_ticket_t *ticket)
{
    el_pause_state_t state;

    if (!remote.works) {
        return false;
    }
    state = el_pause_at(&el_shared.block->cache.calls, el_clock_usec(), ticket);
    if (state == EL_PAUSE_TRIAL) {
        remote_try_again(*ticket);
    }
    return state == EL_PAUSE_NONE;
}

/*
 * Opens the entry that a call returned, in place. A damaged value causes no pause, because it would
 * still be there afterwards; it counts as missing and is replaced.
 */
static bool remote_is_good(const transfer_t *transfer)
{
    unsigned char *sealed = transfer->bytes + LENGTH;

    if (transfer->status == APR_SUCCESS
        && el_seal_open(remote.keys, transfer->name, sealed, transfer->nbytes - LENGTH,
                        sealed + EL_SEAL_NONCE)) {
        return true;
    }
    switch (transfer->status) {
    case APR_NOTFOUND:
        break;
    case APR_SUCCESS:
    case APR_ENOMEM: /* the providers' error for a value that is too long */
    case FOREIGN:
        el_stats_cache_fault(APR_SUCCESS, "a compressed copy is damaged");
        break;
    default:
        remote_failed(transfer->ticket, transfer->status, "a request to it failed");
    }
    return false;
}

void *el_remote_get(const el_name_t *name, uint64_t *waited, const uint8_t **entry, size_t *nbytes)
{
    uint64_t begun = el_clock_usec();
    el_pause_ticket_t ticket;
    el_task_end_t end = EL_TASK_REFUSED;
    transfer_t *transfer;
    unsigned char *bytes = NULL;

    if (*waited >= EL_REMOTE_PATIENCE || !remote_may_call(&ticket)
        || !(transfer = remote_make_transfer(remote_run_get, ticket))) {
        return NULL;
    }
    if (el_seal_name(remote.keys, name, sizeof(*name), transfer->name)) {
        end = el_workers_call(&workers, &transfer->task, EL_REMOTE_PATIENCE - *waited);
        *waited += el_clock_usec() - begun;
    }
    if (end == EL_TASK_LATE) {
        remote_failed(ticket, APR_TIMEUP, "it does not answer in time");
        return NULL;
    }
    if (end == EL_TASK_DONE && remote_is_good(transfer)) {
        bytes = transfer->bytes;
        transfer->bytes = NULL;
        *entry = bytes + ENTRY;
        *nbytes = transfer->nbytes - LENGTH - EL_SEAL_OVERHEAD;
    }
    remote_discard(&transfer->task);
    return bytes;
}

/* Fills the transfer with the sealed entry; false if memory is short. */
static bool remote_pack(transfer_t *transfer, const el_name_t *name, const el_entry_t *entry)
{
    size_t plain = EL_ENTRY_HEAD + entry->nbytes, len = plain + EL_SEAL_OVERHEAD;

    if (!remote_make_bytes(transfer, LENGTH + len)) {
        return false;
    }
    for (int i = 0; i < LENGTH; i++) {
        transfer->bytes[i] = (unsigned char)(len >> 8 * (LENGTH - 1 - i));
    }
    el_entry_write(name, entry, transfer->bytes + ENTRY);
    return el_seal_name(remote.keys, name, sizeof(*name), transfer->name)
           && el_seal_close(remote.keys, transfer->name, transfer->bytes + ENTRY, plain,
                            transfer->bytes + LENGTH);
}

bool el_remote_put(const el_name_t *name, const el_entry_t *entry)
{
    el_pause_ticket_t ticket;
    transfer_t *transfer;

    if (EL_ENTRY_HEAD + entry->nbytes + EL_SEAL_OVERHEAD > remote.most || !remote_may_call(&ticket)
        || el_pause_at(&el_shared.block->cache.puts, el_clock_usec(), &ticket) == EL_PAUSE_ON
        || !(transfer = remote_make_transfer(remote_run_put, ticket))) {
        return false;
    }
    if (!remote_pack(transfer, name, entry) || !el_workers_post(&workers, &transfer->task)) {
        remote_discard(&transfer->task);
        return false;
    }
    return true;
}

/* --- its life */

bool el_remote_open(const el_remote_config_t *config, server_rec *main_server, apr_pool_t *pconf)
{
    const struct ap_socache_hints hints = {.avg_id_len = PIECE_NAME};
    size_t kind = 0;
    const char *error;

    remote.provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, config->provider,
                                         AP_SOCACHE_PROVIDER_VERSION);
    remote.server = main_server;
    remote.keys = config->keys;
    while (kind + 1 < sizeof(kinds) / sizeof(kinds[0])
           && strcmp(kinds[kind].provider, config->provider) != 0) {
        kind++;
    }
    remote.piece = kinds[kind].piece;
    remote.most = EL_ENTRY_HEAD + config->most + EL_SEAL_OVERHEAD;
    error = remote.provider->create(&remote.instance, config->arguments, pconf, pconf);
    if (!error
        && remote.provider->init(remote.instance, CONSUMER, &hints, main_server, pconf)
               != APR_SUCCESS) {
        error = "its provider cannot start";
    }
    if (error) {
        el_warn(main_server, 0, "ElasticCache is off: ElasticCacheStore %s:%s: %s",
                config->provider, config->arguments, error);
        remote.provider = NULL;
    }
    return remote.provider != NULL;
}

void el_remote_close(void)
{
    remote.provider = NULL;
}

void el_remote_child(void)
{
    int threads = 1;

    if (!remote.provider) {
        return;
    }
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &threads);
    remote.works = el_workers_start(&workers, threads < THREADS ? (unsigned)threads : THREADS);
}

bool el_remote_is_open(void)
{
    return remote.provider != NULL;
}
