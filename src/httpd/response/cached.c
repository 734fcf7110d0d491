#include "httpd/response/steps.h"

#include "httpd/cache/store.h"
#include "httpd/shared/costs.h"

#include "engines/engines.h"
#include "host/machine.h"
#include "host/process.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <pthread.h>
#include <stdatomic.h>

/* µs added to the expected encoding time, because a process's first encodings take longer. */
#define SLACK 10000

/* Pinned levels are part of the name: entries at other levels must not match. */
static el_name_t cached_name_of(const el_response_t *response, el_coding_t coding,
                                const el_setup_t *setup)
{
    el_range_t range = response->policy.range[coding];
    el_name_t name = response->cached.name;

    el_name_encoding(&name, coding, setup,
                     el_shared_is_adaptive(range) ? EL_NAME_ADAPTIVE : range.max);
    return name;
}

static uint32_t cached_expected_size(el_coding_t coding, int level, const el_setup_t *like)
{
    int top = el_engine_top(coding);
    el_setup_t setup = *like;

    setup.level = level < top ? level : top;
    return el_costs_expect(coding, &setup, true).size;
}

/*
 * Compares expected sizes on both sides: the actual size of the entry cannot be compared with the
 * size of an encoding that was not made.
 */
static bool cached_is_good(const el_entry_t *entry, const el_choice_t *choice)
{
    if (entry->coding == choice->coding) {
        return entry->level >= choice->setup.level;
    }
    return cached_expected_size(entry->coding, entry->level, &choice->setup)
           <= cached_expected_size(choice->coding, choice->setup.level, &choice->setup);
}

/* el_store_get() or el_store_get_local(). */
typedef bool get_t(const el_name_t *name, el_found_t *found);

/*
 * Tries the codings that the client likes equally, the improver's first, then the chosen one.
 * Leaves the last hit that was too weak in cached.found, and returns false.
 */
static bool cached_find_good(el_response_t *response, get_t *get)
{
    const el_choice_t *choice = &response->choice;
    el_cached_t *cached = &response->cached;
    el_coding_t target = cached->target.coding;
    el_coding_t first = target != EL_IDENTITY ? target : choice->coding;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        el_coding_t coding = (el_coding_t)((first + i) % EL_CODINGS);
        el_name_t name = cached_name_of(response, coding, &choice->setup);
        el_found_t found = {.waited = cached->found.waited};
        bool is_there = choice->set & EL_CODING_BIT(coding) && get(&name, &found);

        cached->found.waited = found.waited;
        if (is_there) {
            el_found_release(&cached->found);
            cached->found = found;
            if (cached_is_good(&found.entry, choice)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Wait at most twice, because the encoding thread may fail to hand its result over. Then one of the
 * waiting threads encodes for the others.
 */
#define WAITS 2

/* Waits up to `usec` µs for another thread's encoding that is good enough. */
static bool cached_find_or_wait(el_response_t *response, uint64_t usec)
{
    const el_choice_t *choice = &response->choice;
    el_cached_t *cached = &response->cached;
    el_name_t name = cached_name_of(response, choice->coding, &choice->setup);

    for (int i = 0; i < WAITS; i++) {
        uint64_t began = el_clock_nsec();
        el_waiters_answer_t answer = el_waiters_enter(&cached->waiters, &name, usec);

        /* Waiting does not count as encoding time. */
        cached->meter.began_elapsed += el_clock_nsec() - began;
        if (answer == EL_WAITERS_BUSY) {
            return cached->found.buffer != NULL;
        }
        /* Another thread may have stored its encoding before this one was told to encode. */
        if (cached_find_good(response, el_store_get_local)) {
            return true;
        }
        if (answer == EL_WAITERS_ENCODE) {
            return false;
        }
        if (cached_find_good(response, el_store_get) || cached->found.buffer) {
            return true;
        }
    }
    return false;
}

/*
 * Looks for a good enough entry of the body's name, or waits for another thread's. While another
 * thread makes a better encoding, a weak entry is used, so that only one request pays for it.
 */
static bool cached_find(el_response_t *response, size_t nbytes, bool any)
{
    const el_choice_t *choice = &response->choice;
    el_cached_t *cached = &response->cached;
    const el_entry_t *entry = &cached->found.entry;
    el_name_t name;
    bool found;

    cached->target =
        el_improver_target(response->policy.range, choice->set, &choice->setup, nbytes);
    found = (cached->again || el_store_is_shared()) && cached_find_good(response, el_store_get);
    if (!found) {
        found = cached->found.buffer != NULL;
        if (!any) {
            el_cost_t cost = el_costs_expect(choice->coding, &choice->setup, true);
            uint64_t usec = (uint64_t)(cost.nsec * (double)nbytes / 1024 / 1000) + SLACK;

            /* Do not wait for an encoding that the store would not take. */
            if (el_store_takes((uint64_t)(cost.size / 10000. * (double)nbytes))) {
                found = cached_find_or_wait(response, found ? 0 : usec);
            }
        }
        if (!found) {
            el_found_release(&cached->found);
        }
    }
    if (found) {
        /* Offer it to the idle thread for improvement. */
        name = cached_name_of(response, entry->coding, &choice->setup);
        el_improver_note(&name, entry, cached->target);
    }
    el_shared_count(found ? EL_COUNT_CACHE_HITS : EL_COUNT_CACHE_MISSES, 1);
    return found;
}

/* Names the body by its bytes. Returns false if reading or hashing fails. */
static bool cached_name_body(el_response_t *response, const apr_bucket_brigade *bb)
{
    request_rec *r = response->r;
    size_t nbytes = (size_t)response->facts.moment.size;
    el_visitor_t visitor = el_response_visitor(r);
    el_fingerprint_t fingerprint;
    bool is_whole = true;

    el_fingerprint_begin(&fingerprint, r, &visitor, EL_NAME_BODY, nbytes);
    if (response->gathered) {
        el_fingerprint_add(&fingerprint, response->body.data, response->body.nbytes);
    } else {
        for (apr_bucket *e = APR_BRIGADE_FIRST(bb); is_whole && !APR_BUCKET_IS_EOS(e);
             e = APR_BUCKET_NEXT(e)) {
            apr_size_t expected = e->length, len;
            const char *data;

            if (APR_BUCKET_IS_METADATA(e)) {
                continue;
            }
            is_whole = apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS
                       && len == expected;
            if (is_whole) {
                el_fingerprint_add(&fingerprint, data, len);
            }
        }
    }
    return el_fingerprint_end(&fingerprint, &response->cached.name) && is_whole;
}

/* The files whose names are remembered: a name takes as long as the rest of a cached response. */
#define NAMES 64

/* The name of a file on one server. */
typedef struct {
    const server_rec *server; /* NULL: an empty slot */
    el_file_id_t file;
    el_name_t name;
    bool good; /* the file's numbers identify its content */
} known_t;

/* Asks the file system outside the lock: it may be remote and slow. */
static known_t cached_know_file(const request_rec *r, const el_cached_t *cached)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static known_t files[NAMES];
    known_t *place = &files[cached->file.inode % NAMES], known;
    el_fingerprint_t fingerprint;

    pthread_mutex_lock(&lock);
    known = *place;
    pthread_mutex_unlock(&lock);
    if (known.server != r->server
        || memcmp(&known.file, &cached->file, sizeof(known.file)) != 0) {
        known = (known_t){.server = r->server, .file = cached->file};
        if (!el_file_is_in_memory(cached->descriptor)) {
            el_fingerprint_begin(&fingerprint, r, NULL, EL_NAME_FILE, sizeof(known.file));
            el_fingerprint_add(&fingerprint, &known.file, sizeof(known.file));
            known.good = el_fingerprint_end(&fingerprint, &known.name);
        }
        pthread_mutex_lock(&lock);
        *place = known;
        pthread_mutex_unlock(&lock);
    }
    return known;
}

/* Names the body by a file's numbers, if it is one whole file and they identify its content. */
static bool cached_name_file(const request_rec *r, el_cached_t *cached,
                             const apr_bucket_brigade *bb)
{
    const apr_bucket *e = APR_BRIGADE_FIRST(bb);
    apr_os_file_t fd;
    known_t known;

    if (e == APR_BRIGADE_SENTINEL(bb) || !APR_BUCKET_IS_FILE(e) || e->start != 0
        || APR_BUCKET_NEXT(e) == APR_BRIGADE_SENTINEL(bb)
        || !APR_BUCKET_IS_EOS(APR_BUCKET_NEXT(e))
        || apr_os_file_get(&fd, ((const apr_bucket_file *)e->data)->fd) != APR_SUCCESS) {
        return false;
    }
    cached->descriptor = fd;
    if (!el_file_stat(fd, &cached->file) || cached->file.size != e->length
        || !el_file_id_settled(&cached->file, r->request_time)) {
        return false;
    }
    known = cached_know_file(r, cached);
    cached->name = known.name;
    return known.good;
}

bool el_cached_find(el_response_t *response, apr_bucket_brigade *bb, bool any, apr_status_t *rv)
{
    static _Atomic uint32_t bodies;
    const request_rec *r = response->r;
    el_sketch_t *sketch = &el_shared.block->cache.sketch;
    el_cached_t *cached = &response->cached;
    bool found = false;
    el_sketch_key_t key;

    cached->meter = el_meter_create();
    cached->looked = true;
    el_meter_start(&cached->meter);
    cached->is_file = cached_name_file(r, cached, bb);
    if (cached->is_file) {
        /* Files are few: if there is room, cache them at first sight. */
        cached->again = el_store_note(&cached->name) || el_store_has_room();
        found = cached_find(response, cached->file.size, any);
    }
    el_meter_stop(&cached->meter);
    if (cached->is_file) {
        return found;
    }
    /* Hash the body only if bodies of this URL repeat. */
    key = el_sketch_key(r->hostname ? r->hostname : "", r->uri ? r->uri : "");
    if (!el_sketch_asks(sketch, key,
                        atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed))) {
        return false;
    }
    /* The bytes that are hashed must be those that are encoded. */
    if (!response->measure.is_private) {
        *rv = el_body_gather(bb, &response->measure, &response->body);
        response->gathered = *rv == APR_SUCCESS;
        if (*rv != APR_SUCCESS) {
            /* Encoding will fail for the same lack of memory, and report it. */
            *rv = *rv == APR_ENOMEM ? APR_SUCCESS : *rv;
            return false;
        }
    }
    el_meter_start(&cached->meter);
    if (cached_name_body(response, bb)) {
        cached->again = el_store_note(&cached->name);
        found = cached_find(response, (size_t)response->facts.moment.size, any);
        el_sketch_learn(sketch, key, cached->again || found);
    }
    el_meter_stop(&cached->meter);
    return found;
}

void el_cached_store(el_response_t *response)
{
    const el_encoder_t *encoder = &response->encoder;
    const el_usage_t *used = &encoder->meter.used;
    const el_plan_t *plan = &encoder->plan;
    el_cached_t *cached = &response->cached;
    el_coding_t coding = plan->engine->coding;
    apr_bucket *bucket = APR_BRIGADE_FIRST(encoder->brigade);
    el_entry_t entry = {.coding = coding, .level = encoder->level, .in = used->in};
    el_name_t name;
    const char *data;
    el_file_id_t now;

    cached->waiters.vain = used->out >= used->in || !el_store_takes(used->out);
    if (cached->waiters.vain
        || !(cached->again || el_waiters_leave(&cached->waiters, true))
        || bucket == APR_BRIGADE_SENTINEL(encoder->brigade)
        || apr_bucket_read(bucket, &data, &entry.nbytes, APR_BLOCK_READ) != APR_SUCCESS
        || entry.nbytes != used->out) {
        return;
    }
    /* If the file has changed meanwhile, the encoded bytes are not those of the name. */
    if (cached->is_file
        && (!el_file_stat(cached->descriptor, &now)
            || memcmp(&now, &cached->file, sizeof(now)) != 0)) {
        return;
    }
    entry.data = (const uint8_t *)data;
    apr_cpystrn(entry.engine, plan->engine->name, sizeof(entry.engine));
    name = cached_name_of(response, coding, &plan->setup);
    el_store_put(&name, &entry, el_waiters_count(&cached->waiters) > 0);
}
