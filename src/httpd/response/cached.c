#include "httpd/response/cached.h"

#include "httpd/cache/store.h"
#include "httpd/shared/costs.h"

#include "engines/engines.h"
#include "host/files.h"
#include "host/process.h"

#include "apr_strings.h"

#include <pthread.h>
#include <stdatomic.h>

/* µs that are no reason to doubt what is expected: a process's first encodings take longer. */
#define SLACK 10000

bool el_cached_possible(const el_policy_t *policy)
{
    return policy->dir->values.value[EL_DIR_CACHE] && el_store_is_open();
}

static el_sketch_key_t cached_sketch_key(const request_rec *r)
{
    return el_sketch_key(r->hostname ? r->hostname : "", r->uri ? r->uri : "");
}

bool el_cached_asks(const request_rec *r)
{
    static _Atomic uint32_t bodies;
    uint32_t turn = atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed);

    return el_sketch_asks(&el_shared.block->cache.sketch, cached_sketch_key(r), turn);
}

/* Pinned levels have names of their own: an entry at another level is none of theirs. */
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
 * Both sizes are expected ones, so that the body itself has no say: what it was encoded to cannot
 * be compared with what it was not.
 */
static bool cached_is_good(const el_entry_t *entry, const el_choice_t *choice)
{
    if (entry->coding == choice->coding) {
        return entry->level >= choice->setup.level;
    }
    return cached_expected_size(entry->coding, entry->level, &choice->setup)
           <= cached_expected_size(choice->coding, choice->setup.level, &choice->setup);
}

/* el_store_get(), or the like. */
typedef bool get_t(const el_name_t *name, el_found_t *found);

/*
 * Looks in the codings that the client likes equally: first in what improving leads to, or in that
 * of the choice. Of those that are not good the last one is left in cached.found; false where it is
 * none, or not good.
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

/* µs of CPU time that encoding may be expected to take. */
static uint64_t cached_expected_usec(const el_choice_t *choice, size_t nbytes)
{
    double nsec = el_costs_expect(choice->coding, &choice->setup, true).nsec;

    return (uint64_t)(nsec * (double)nbytes / 1024 / 1000) + SLACK;
}

/*
 * So many times an encoding is waited for: who made it may not have been able to hand it over. Then
 * one of those who waited makes it for the others.
 */
#define WAITS 2

/* Whether others may be handed what the body is encoded to. */
static bool cached_may_be_kept(const el_choice_t *choice, size_t nbytes)
{
    double share = el_costs_expect(choice->coding, &choice->setup, true).size / 10000.;

    return el_store_takes((uint64_t)(share * (double)nbytes));
}

/* Whether another thread leaves there, within `usec` µs, what will do. */
static bool cached_find_or_wait(el_response_t *response, uint64_t usec)
{
    const el_choice_t *choice = &response->choice;
    el_cached_t *cached = &response->cached;
    el_name_t name = cached_name_of(response, choice->coding, &choice->setup);

    for (int i = 0; i < WAITS; i++) {
        uint64_t began = el_clock_nsec();
        el_waiters_answer_t answer = el_waiters_enter(&cached->waiters, &name, usec);

        /* The time of waiting is no time of encoding. */
        cached->meter.began_elapsed += el_clock_nsec() - began;
        if (answer == EL_WAITERS_BUSY) {
            return cached->found.buffer != NULL;
        }
        /* Before who is to encode had its place, another may have left it. */
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
 * Whether what there is in cached.found will do, or what another thread is about to leave there. A
 * worse one will while a better one is being made, so that one request alone pays for that.
 */
static bool cached_find(el_response_t *response, size_t nbytes, bool any)
{
    el_cached_t *cached = &response->cached;
    bool found;

    if ((cached->again || el_store_is_shared()) && cached_find_good(response, el_store_get)) {
        return true;
    }
    found = cached->found.buffer != NULL;
    if (!any && cached_may_be_kept(&response->choice, nbytes)) {
        found = cached_find_or_wait(response,
                                    found ? 0 : cached_expected_usec(&response->choice, nbytes));
    }
    if (!found) {
        el_found_release(&cached->found);
    }
    return found;
}

/* What goes out may be worth improving. */
static void cached_note_found(const el_response_t *response)
{
    const el_entry_t *entry = &response->cached.found.entry;
    el_name_t name = cached_name_of(response, entry->coding, &response->choice.setup);

    el_improver_note(&name, entry, response->cached.target);
}

static bool cached_find_and_count(el_response_t *response, size_t nbytes, bool any)
{
    const el_choice_t *choice = &response->choice;
    bool is_found;

    response->cached.target =
        el_improver_target(response->policy.range, choice->set, &choice->setup, nbytes);
    is_found = cached_find(response, nbytes, any);
    if (is_found) {
        cached_note_found(response);
    }
    el_shared_count(is_found ? EL_COUNT_CACHE_HITS : EL_COUNT_CACHE_MISSES, 1);
    return is_found;
}

static void cached_start_meter(el_cached_t *cached)
{
    if (!cached->looked) {
        cached->meter = el_meter_create();
        cached->looked = true;
    }
    el_meter_start(&cached->meter);
}

static void cached_add_piece(void *fingerprint, const char *data, size_t nbytes)
{
    el_fingerprint_add(fingerprint, data, nbytes);
}

static bool cached_name_body(request_rec *r, el_response_t *response, const apr_bucket_brigade *bb)
{
    size_t nbytes = (size_t)response->facts.moment.size;
    el_visitor_t visitor = el_response_visitor(r);
    el_fingerprint_t fingerprint;
    bool is_whole = true;

    el_fingerprint_begin(&fingerprint, r, &visitor, EL_NAME_BODY, nbytes);
    if (response->gathered) {
        cached_add_piece(&fingerprint, response->body.data, response->body.nbytes);
    } else {
        is_whole = el_body_each(bb, cached_add_piece, &fingerprint);
    }
    return el_fingerprint_end(&fingerprint, &response->cached.name) && is_whole;
}

bool el_cached_find_body(el_response_t *response, const apr_bucket_brigade *bb, bool any)
{
    request_rec *r = response->r;
    el_cached_t *cached = &response->cached;
    bool is_found = false;

    cached_start_meter(cached);
    if (cached_name_body(r, response, bb)) {
        cached->again = el_store_note(&cached->name);
        is_found = cached_find_and_count(response, (size_t)response->facts.moment.size, any);
        el_sketch_learn(&el_shared.block->cache.sketch, cached_sketch_key(r), cached->again
                        || is_found);
    }
    el_meter_stop(&cached->meter);
    return is_found;
}

/* So many names of files are remembered: one takes as long as all else of a cached response. */
#define NAMES 64

/* False where the numbers of a file do not stand for its content. */
static bool cached_make_file_name(const request_rec *r, const el_cached_t *cached, el_name_t *name)
{
    el_fingerprint_t fingerprint;

    if (el_file_is_in_memory(cached->descriptor)) {
        return false;
    }
    el_fingerprint_begin(&fingerprint, r, NULL, EL_NAME_FILE, sizeof(cached->file));
    el_fingerprint_add(&fingerprint, &cached->file, sizeof(cached->file));
    return el_fingerprint_end(&fingerprint, name);
}

/* What is remembered of a file of the server `r` is for. */
typedef struct {
    const server_rec *server; /* NULL: nothing */
    el_file_id_t file;
    el_name_t name;
    bool good; /* it has that name */
} known_t;

/* Asking the file system may take a while, where it is another machine's: not under the lock. */
static known_t cached_know_file(const request_rec *r, const el_cached_t *cached)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static known_t files[NAMES];
    known_t *place = &files[cached->file.inode % NAMES], known;

    pthread_mutex_lock(&lock);
    known = *place;
    pthread_mutex_unlock(&lock);
    if (known.server != r->server
        || memcmp(&known.file, &cached->file, sizeof(known.file)) != 0) {
        known = (known_t){.server = r->server, .file = cached->file};
        known.good = cached_make_file_name(r, cached, &known.name);
        pthread_mutex_lock(&lock);
        *place = known;
        pthread_mutex_unlock(&lock);
    }
    return known;
}

/* The name of the whole file that `bb` is, where its numbers stand for its content. */
static bool cached_name_file(const request_rec *r, el_cached_t *cached,
                             const apr_bucket_brigade *bb)
{
    known_t known;

    cached->descriptor = el_body_file(bb);
    if (cached->descriptor < 0 || !el_file_stat(cached->descriptor, &cached->file)
        || cached->file.size != APR_BRIGADE_FIRST(bb)->length
        || !el_file_id_settled(&cached->file, r->request_time)) {
        return false;
    }
    known = cached_know_file(r, cached);
    cached->name = known.name;
    return known.good;
}

/* There are only so many files: where none is driven out for it, each is kept at first sight. */
bool el_cached_find_file(el_response_t *response, const apr_bucket_brigade *bb, bool any)
{
    request_rec *r = response->r;
    el_cached_t *cached = &response->cached;
    bool is_found = false;

    cached_start_meter(cached);
    cached->is_file = cached_name_file(r, cached, bb);
    if (cached->is_file) {
        cached->again = el_store_note(&cached->name) || el_store_has_room();
        is_found = cached_find_and_count(response, cached->file.size, any);
    }
    el_meter_stop(&cached->meter);
    return is_found;
}

/* What was read of a file is that of its name only if it has not changed meanwhile. */
static bool cached_has_its_name(const el_cached_t *cached)
{
    el_file_id_t now;

    return !cached->is_file
           || (el_file_stat(cached->descriptor, &now)
               && memcmp(&now, &cached->file, sizeof(now)) == 0);
}

void el_cached_leave(el_response_t *response)
{
    el_waiters_leave(&response->cached.waiters, false);
}

/* False where it is too large, or no smaller than the body. */
static bool cached_may_keep_made(const el_usage_t *used)
{
    return used->out < used->in && el_store_takes(used->out);
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

    cached->waiters.vain = !cached_may_keep_made(used);
    if (cached->waiters.vain
        || !(cached->again || el_waiters_leave(&cached->waiters, true))
        || bucket == APR_BRIGADE_SENTINEL(encoder->brigade)
        || apr_bucket_read(bucket, &data, &entry.nbytes, APR_BLOCK_READ) != APR_SUCCESS
        || entry.nbytes != used->out || !cached_has_its_name(cached)) {
        return;
    }
    entry.data = (const uint8_t *)data;
    apr_cpystrn(entry.engine, plan->engine->name, sizeof(entry.engine));
    name = cached_name_of(response, coding, &plan->setup);
    el_store_put(&name, &entry, el_waiters_count(&cached->waiters) > 0);
}
