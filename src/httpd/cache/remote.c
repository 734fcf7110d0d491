#include "httpd/cache/remote.h"

#include "httpd/cache/workers.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "elastic/lockfree.h"
#include "engines/pool.h"
#include "host/clock.h"

#include "ap_mpm.h"
#include "ap_provider.h"
#include "ap_socache.h"
#include "apr_strings.h"

/* What providers put before names; a colon and the NUL follow, within 16 bytes. */
#define CONSUMER "mod_elastic"

/* An entry that nobody has stored again for so long makes room: hot ones are. */
#define LIFE apr_time_from_sec(24 * 3600)

/* So many threads of a process call the store: one that hangs leaves others. */
#define THREADS 4

/* Memory that a thread keeps from one call to the next. */
#define KEPT_MEMORY (1 << 20)

/*
 * What a call may bring to the provider. apr_redis hangs where the kernel takes a request only in
 * part: 32 KB are less than a new connection's send buffer, of 46 KB where segments are small.
 * memcached takes 1 MB, its own header included, and above half of that stores in a chain.
 */
static const struct {
    const char *provider;
    size_t piece;
} kinds[] = {{"redis", 32 * 1024}, {"memcache", 512 * 1024 - 1024}};

/* Before the first piece: the bytes of all, the highest first. */
#define LENGTH 4

/* Where an entry begins in what is stored. */
#define ENTRY (LENGTH + EL_SEAL_NONCE)

/* The name of a piece: the value's, and the piece's number. */
#define PIECE_NAME (EL_SEAL_NAME + 2)

/* That of a trial, which no value has. */
#define TRIAL_PIECE 0xffff

/* Written in post_config and child_init, read-only afterwards. */
static struct {
    const ap_socache_provider_t *provider; /* NULL: there is no remote store */
    ap_socache_instance_t *instance;
    server_rec *server;
    const el_seal_keys_t *keys;
    size_t piece;
    size_t most; /* bytes of a sealed entry */
    bool works;  /* there are threads */
} remote;

static el_workers_t workers;

/* A sealed entry on its way from the store or to it, with LENGTH before it. */
typedef struct {
    el_task_t task;
    unsigned char name[EL_SEAL_NAME];
    size_t first;         /* the number of its first piece */
    unsigned char *bytes; /* of the pool (engines/pool.h), which counts what bodies hold */
    size_t nbytes;
    apr_status_t status;
    el_pause_ticket_t ticket;
} parcel_t;

/* What a thread keeps from one call to the next. */
typedef struct {
    apr_pool_t *pool;
    unsigned char *piece;
} desk_t;

static size_t piece_of(const char *provider)
{
    size_t i = 0;

    while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].provider, provider) != 0) {
        i++;
    }
    return kinds[i].piece;
}

/* --- in a thread of workers.h */

/* NULL: no memory. */
static desk_t *desk(void)
{
    static _Thread_local desk_t own;
    apr_allocator_t *allocator;

    if (!own.pool && apr_allocator_create(&allocator) == APR_SUCCESS) {
        apr_allocator_max_free_set(allocator, KEPT_MEMORY);
        /* Of no other pool: nothing may take it from a thread that hangs. */
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

static void name_piece(const parcel_t *parcel, size_t number, unsigned char *name)
{
    number += parcel->first;
    memcpy(name, parcel->name, EL_SEAL_NAME);
    name[EL_SEAL_NAME] = (unsigned char)(number >> 8);
    name[EL_SEAL_NAME + 1] = (unsigned char)number;
}

static apr_status_t store_piece(parcel_t *parcel, size_t number, apr_pool_t *pool)
{
    size_t at = number * remote.piece, rest = parcel->nbytes - at;
    unsigned char name[PIECE_NAME];

    name_piece(parcel, number, name);
    return remote.provider->store(remote.instance, remote.server, name, sizeof(name),
                                  apr_time_now() + LIFE, parcel->bytes + at,
                                  (unsigned)(rest < remote.piece ? rest : remote.piece), pool);
}

/* The first piece last: who finds it finds the others. */
static apr_status_t store_all(parcel_t *parcel, apr_pool_t *pool)
{
    size_t number = (parcel->nbytes + remote.piece - 1) / remote.piece;
    apr_status_t status = APR_SUCCESS;

    while (status == APR_SUCCESS && number > 0) {
        status = store_piece(parcel, --number, pool);
        apr_pool_clear(pool);
    }
    return status;
}

/* What a value is that cannot have been stored by this module. */
#define FOREIGN APR_EINVAL

/* Memory that is short here, or may not be held, is no fault of the store's: it is as if it had none. */
#define NO_ROOM APR_NOTFOUND

/* Memory for the parcel's bytes; false where it is short, or bodies hold all that they may. */
static bool make_bytes(parcel_t *parcel, size_t nbytes)
{
    size_t room;

    parcel->nbytes = nbytes;
    parcel->bytes = el_pool_buffer_acquire(nbytes, &room);
    return parcel->bytes != NULL;
}

static apr_status_t retrieve_piece(const parcel_t *parcel, size_t number, desk_t *at,
                                   unsigned *nbytes)
{
    unsigned char name[PIECE_NAME];
    apr_status_t status;

    name_piece(parcel, number, name);
    *nbytes = (unsigned)remote.piece;
    status = remote.provider->retrieve(remote.instance, remote.server, name, sizeof(name),
                                       at->piece, nbytes, at->pool);
    apr_pool_clear(at->pool);
    return status;
}

/* Makes room for all that the first piece announces. */
static apr_status_t begin_parcel(parcel_t *parcel, const unsigned char *piece, unsigned nbytes)
{
    size_t len;

    if (nbytes < LENGTH + EL_SEAL_OVERHEAD) {
        return FOREIGN;
    }
    len = (size_t)piece[0] << 24 | (size_t)piece[1] << 16 | (size_t)piece[2] << 8 | piece[3];
    if (len < EL_SEAL_OVERHEAD || len > remote.most) {
        return FOREIGN;
    }
    return make_bytes(parcel, LENGTH + len) ? APR_SUCCESS : NO_ROOM;
}

static apr_status_t retrieve_all(parcel_t *parcel, desk_t *at)
{
    size_t got = 0;
    unsigned nbytes;
    apr_status_t status;

    for (size_t number = 0; number == 0 || got < parcel->nbytes; number++) {
        status = retrieve_piece(parcel, number, at, &nbytes);
        if (status == APR_SUCCESS && number == 0) {
            status = begin_parcel(parcel, at->piece, nbytes);
        }
        if (status != APR_SUCCESS || el_task_is_late(&parcel->task)) {
            return status;
        }
        if (nbytes == 0 || nbytes > parcel->nbytes - got) {
            return FOREIGN;
        }
        memcpy(parcel->bytes + got, at->piece, nbytes);
        got += nbytes;
    }
    return APR_SUCCESS;
}

static void run_get(el_task_t *task)
{
    parcel_t *parcel = (parcel_t *)task;
    desk_t *at = desk();

    parcel->status = at ? retrieve_all(parcel, at) : NO_ROOM;
}

static void run_put(el_task_t *task)
{
    parcel_t *parcel = (parcel_t *)task;
    desk_t *at = desk();

    parcel->status = at ? store_all(parcel, at->pool) : APR_ENOMEM;
    if (parcel->status == APR_SUCCESS) {
        el_shared_count(EL_COUNT_CACHE_STORED, 1);
        el_pause_worked(&el_shared.cache->puts, parcel->ticket);
    } else if (el_pause_failed(&el_shared.cache->puts, parcel->ticket, el_clock_usec())) {
        el_stats_cache_fault(parcel->status, "it does not take what is to be kept");
    }
}

/*
 * After a pause: something of this process is stored and comes back in the time that a request
 * would wait, of a few times once. A request's own name would say nothing: of a server that they
 * take for dead, the clients say that nothing was found.
 */
#define TRIALS 4

static void run_trial(el_task_t *task)
{
    parcel_t *parcel = (parcel_t *)task;
    desk_t *at = desk();
    bool in_time = false;

    parcel->status = at ? store_all(parcel, at->pool) : APR_ENOMEM;
    for (int i = 0; i < TRIALS && parcel->status == APR_SUCCESS && !in_time; i++) {
        uint64_t begun = el_clock_usec();
        unsigned nbytes;

        parcel->status = retrieve_piece(parcel, 0, at, &nbytes);
        in_time = el_clock_usec() - begun <= EL_REMOTE_PATIENCE;
        if (parcel->status == APR_SUCCESS
            && (nbytes != parcel->nbytes || memcmp(at->piece, parcel->bytes, nbytes) != 0)) {
            parcel->status = APR_EGENERAL;
        }
    }
    if (in_time && parcel->status == APR_SUCCESS) {
        el_pause_worked(&el_shared.cache->calls, parcel->ticket);
    } else {
        el_pause_failed(&el_shared.cache->calls, parcel->ticket, el_clock_usec());
        el_stats_cache_fault(parcel->status, "it still does not answer in time");
    }
}

static void discard(el_task_t *task)
{
    el_pool_buffer_release(((parcel_t *)task)->bytes);
    free(task);
}

/* --- in any other */

/* NULL: no memory. */
static parcel_t *make_parcel(void (*run)(el_task_t *task), el_pause_ticket_t ticket)
{
    parcel_t *parcel = calloc(1, sizeof(*parcel));

    if (parcel) {
        parcel->task.run = run;
        parcel->task.discard = discard;
        parcel->ticket = ticket;
    }
    return parcel;
}

static void failed(el_pause_ticket_t ticket, apr_status_t status, const char *what)
{
    el_pause_failed(&el_shared.cache->calls, ticket, el_clock_usec());
    el_stats_cache_fault(status, what);
}

/* A thread tries whether the store works again. */
static void try_again(el_pause_ticket_t ticket)
{
    parcel_t *parcel = make_parcel(run_trial, ticket);

    if (!parcel) {
        return;
    }
    parcel->first = TRIAL_PIECE;
    if (!make_bytes(parcel, LENGTH + EL_SEAL_NAME)
        || apr_generate_random_bytes(parcel->bytes, parcel->nbytes) != APR_SUCCESS
        || !el_seal_name(remote.keys, parcel->bytes, parcel->nbytes, parcel->name)
        || !el_workers_post(&workers, &parcel->task)) {
        discard(&parcel->task);
    }
}

/* Whether the store may be called now. */
static bool may_call(el_pause_ticket_t *ticket)
{
    el_pause_state_t state;

    if (!remote.works) {
        return false;
    }
    state = el_pause_at(&el_shared.cache->calls, el_clock_usec(), ticket);
    if (state == EL_PAUSE_TRIAL) {
        try_again(*ticket);
    }
    return state == EL_PAUSE_NONE;
}

static bool open_parcel(const parcel_t *parcel)
{
    unsigned char *sealed = parcel->bytes + LENGTH;

    return el_seal_open(remote.keys, parcel->name, sealed, parcel->nbytes - LENGTH,
                        sealed + EL_SEAL_NONCE);
}

/*
 * Whether what a call brought is the entry, opened where it lies. A value that is another makes no
 * pause: it would be there again behind the pause. It is missing, and so replaced.
 */
static bool is_good(const parcel_t *parcel)
{
    if (parcel->status == APR_SUCCESS && open_parcel(parcel)) {
        return true;
    }
    switch (parcel->status) {
    case APR_NOTFOUND:
        break;
    case APR_SUCCESS:
    case APR_ENOMEM: /* longer than any, as the providers say it */
    case FOREIGN:
        el_stats_cache_fault(APR_SUCCESS, "what it returned is not what was stored");
        break;
    default:
        failed(parcel->ticket, parcel->status, "it failed");
    }
    return false;
}

void *el_remote_get(const el_name_t *name, uint64_t *waited, const uint8_t **entry, size_t *nbytes)
{
    uint64_t begun = el_clock_usec();
    el_pause_ticket_t ticket;
    el_task_end_t end = EL_TASK_REFUSED;
    parcel_t *parcel;
    unsigned char *bytes = NULL;

    if (*waited >= EL_REMOTE_PATIENCE || !may_call(&ticket)
        || !(parcel = make_parcel(run_get, ticket))) {
        return NULL;
    }
    if (el_seal_name(remote.keys, name, sizeof(*name), parcel->name)) {
        end = el_workers_call(&workers, &parcel->task, EL_REMOTE_PATIENCE - *waited);
        *waited += el_clock_usec() - begun;
    }
    if (end == EL_TASK_LATE) {
        failed(ticket, APR_TIMEUP, "it does not answer in time");
        return NULL;
    }
    if (end == EL_TASK_DONE && is_good(parcel)) {
        bytes = parcel->bytes;
        parcel->bytes = NULL;
        *entry = bytes + ENTRY;
        *nbytes = parcel->nbytes - LENGTH - EL_SEAL_OVERHEAD;
    }
    discard(&parcel->task);
    return bytes;
}

/* Fills the parcel with the entry, sealed; false where there is no memory. */
static bool pack(parcel_t *parcel, const el_name_t *name, const el_entry_t *entry)
{
    size_t plain = EL_ENTRY_HEAD + entry->nbytes, len = plain + EL_SEAL_OVERHEAD;

    if (!make_bytes(parcel, LENGTH + len)) {
        return false;
    }
    for (int i = 0; i < LENGTH; i++) {
        parcel->bytes[i] = (unsigned char)(len >> 8 * (LENGTH - 1 - i));
    }
    el_entry_write(name, entry, parcel->bytes + ENTRY);
    return el_seal_name(remote.keys, name, sizeof(*name), parcel->name)
           && el_seal_close(remote.keys, parcel->name, parcel->bytes + ENTRY, plain,
                            parcel->bytes + LENGTH);
}

bool el_remote_put(const el_name_t *name, const el_entry_t *entry)
{
    el_pause_ticket_t ticket;
    parcel_t *parcel;

    if (EL_ENTRY_HEAD + entry->nbytes + EL_SEAL_OVERHEAD > remote.most || !may_call(&ticket)
        || el_pause_at(&el_shared.cache->puts, el_clock_usec(), &ticket) == EL_PAUSE_ON
        || !(parcel = make_parcel(run_put, ticket))) {
        return false;
    }
    if (!pack(parcel, name, entry) || !el_workers_post(&workers, &parcel->task)) {
        discard(&parcel->task);
        return false;
    }
    return true;
}

/* --- its life */

static const char *create(const el_remote_config_t *config, server_rec *server, apr_pool_t *pconf)
{
    const struct ap_socache_hints hints = {.avg_id_len = PIECE_NAME};
    const char *error = remote.provider->create(&remote.instance, config->arguments, pconf, pconf);

    if (!error
        && remote.provider->init(remote.instance, CONSUMER, &hints, server, pconf) != APR_SUCCESS) {
        error = "the provider failed";
    }
    return error;
}

bool el_remote_open(const el_remote_config_t *config, server_rec *main_server, apr_pool_t *pconf)
{
    const char *error = "its provider is not loaded";

    remote.provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, config->provider,
                                         AP_SOCACHE_PROVIDER_VERSION);
    remote.server = main_server;
    remote.keys = config->keys;
    remote.piece = piece_of(config->provider);
    remote.most = EL_ENTRY_HEAD + config->most + EL_SEAL_OVERHEAD;
    if (remote.provider) {
        error = create(config, main_server, pconf);
    }
    if (error) {
        el_warn(main_server, 0, "ElasticCache is off: ElasticCacheStore %s:%s: %s", config->provider,
                config->arguments, error);
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
