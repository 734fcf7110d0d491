#include "httpd/response/kept.h"

#include "httpd/control/ladders.h"
#include "httpd/response/credentials.h"
#include "httpd/state/costs.h"
#include "httpd/state/shared.h"
#include "httpd/store/fingerprint.h"

#include "engines/engines.h"
#include "host/files.h"

#include "apr_strings.h"

#include <stdatomic.h>

/* µs that are no reason to doubt what is expected: a process's first encodings take longer. */
#define SLACK 10000

bool el_kept_possible(const el_policy_t *policy)
{
    return el_dir_caches(policy->dir) && el_store_is_open();
}

static el_place_t place_of(const request_rec *r)
{
    return el_sketch_place(r->hostname ? r->hostname : "", r->uri ? r->uri : "");
}

bool el_kept_asks(const request_rec *r)
{
    static _Atomic uint32_t bodies;
    uint32_t turn = atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed);

    return el_sketch_asks(&el_shared.cache->sketch, place_of(r), turn);
}

/* Levels that do not move have names of their own: an entry at another level is none of theirs. */
static el_name_t name_of(const el_kept_t *kept, const el_policy_t *policy, el_coding_t coding,
                         const el_setup_t *setup)
{
    el_range_t range = policy->range[coding];
    el_name_t name = kept->name;

    el_name_encoding(&name, coding, setup, el_shared_moves(range) ? EL_NAME_MOVES : range.max);
    return name;
}

static uint32_t expected_size(el_coding_t coding, int level, const el_setup_t *like)
{
    int top = el_engine_top(coding);
    el_setup_t setup = *like;

    setup.level = level < top ? level : top;
    return el_costs_expect(coding, &setup, true).size;
}

/*
 * Both sizes are expected ones, so that the body itself has no say: what it was encoded to cannot be
 * compared with what it was not.
 */
static bool is_good(const el_entry_t *entry, const el_choice_t *choice)
{
    if (entry->coding == choice->coding) {
        return entry->level >= choice->setup.level;
    }
    return expected_size(entry->coding, entry->level, &choice->setup)
           <= expected_size(choice->coding, choice->setup.level, &choice->setup);
}

/* el_store_get(), or the like. */
typedef bool get_t(const el_name_t *name, el_found_t *found);

/*
 * Looks in the codings that the client likes equally: first in what improving leads to, or in that of
 * the choice. Of those that are not good the last one is left in kept->found; false where it is none,
 * or not good.
 */
static bool find_good(el_kept_t *kept, const el_policy_t *policy, const el_choice_t *choice,
                      get_t *get)
{
    el_coding_t first = kept->target.coding != EL_IDENTITY ? kept->target.coding : choice->coding;

    for (unsigned i = 0; i < EL_CODINGS; i++) {
        el_coding_t coding = (el_coding_t)((first + i) % EL_CODINGS);
        el_name_t name = name_of(kept, policy, coding, &choice->setup);
        el_found_t found = {.waited = kept->found.waited};
        bool is_there = choice->set & EL_CODING_BIT(coding) && get(&name, &found);

        kept->found.waited = found.waited;
        if (is_there) {
            el_found_release(&kept->found);
            kept->found = found;
            if (is_good(&found.entry, choice)) {
                return true;
            }
        }
    }
    return false;
}

/* µs of CPU time that encoding may be expected to take. */
static uint64_t expected_usec(const el_choice_t *choice, size_t nbytes)
{
    double nsec = el_costs_expect(choice->coding, &choice->setup, true).nsec;

    return (uint64_t)(nsec * (double)nbytes / 1024 / 1000) + SLACK;
}

/*
 * So many times an encoding is waited for: who made it may not have been able to hand it over. Then
 * one of those who waited makes it for the others.
 */
#define WAITS 2

/* Whether another thread leaves there, within `usec` µs, what will do. */
static bool find_or_wait(el_kept_t *kept, const el_policy_t *policy, const el_choice_t *choice,
                         uint64_t usec)
{
    el_name_t name = name_of(kept, policy, choice->coding, &choice->setup);

    for (int i = 0; i < WAITS; i++) {
        el_stampede_turn_t turn = el_stampede_enter(&kept->stampede, &name, usec);

        if (turn == EL_STAMPEDE_BUSY) {
            return kept->found.buffer != NULL;
        }
        /* Before who is to encode had its place, another may have left it. */
        if (find_good(kept, policy, choice, el_store_get_near)) {
            return true;
        }
        if (turn == EL_STAMPEDE_ENCODE) {
            return false;
        }
        if (find_good(kept, policy, choice, el_store_get) || kept->found.buffer) {
            return true;
        }
    }
    return false;
}

/*
 * Whether what there is in kept->found will do, or what another thread is about to leave there. A
 * worse one will while a better one is being made, so that one request alone pays for that.
 */
static bool find(el_kept_t *kept, const el_policy_t *policy, const el_choice_t *choice,
                 size_t nbytes)
{
    bool found;

    if ((kept->again || el_store_is_shared()) && find_good(kept, policy, choice, el_store_get)) {
        return true;
    }
    found = kept->found.buffer != NULL;
    if (!kept->bypassed) {
        found = find_or_wait(kept, policy, choice, found ? 0 : expected_usec(choice, nbytes));
    }
    if (!found) {
        el_found_release(&kept->found);
    }
    return found;
}

/* What goes out may be worth improving. */
static void note_found(const el_kept_t *kept, const el_policy_t *policy,
                       const el_choice_t *choice)
{
    const el_entry_t *entry = &kept->found.entry;
    el_name_t name = name_of(kept, policy, entry->coding, &choice->setup);

    el_improver_note(&name, entry, kept->target);
}

static bool find_and_count(el_kept_t *kept, const el_policy_t *policy, const el_choice_t *choice,
                           size_t nbytes)
{
    bool is_found;

    kept->target = el_improver_target(policy->range, choice->set, &choice->setup, nbytes);
    is_found = find(kept, policy, choice, nbytes);
    if (is_found) {
        note_found(kept, policy, choice);
    }
    el_shared_count(is_found ? EL_COUNT_CACHE_HITS : EL_COUNT_CACHE_MISSES, 1);
    return is_found;
}

static void start_meter(el_kept_t *kept)
{
    if (!kept->looked) {
        kept->meter = el_meter_create();
        kept->looked = true;
    }
    el_meter_start(&kept->meter);
}

void el_kept_charge(const el_kept_t *kept, el_meter_t *meter)
{
    if (kept->looked) {
        el_meter_go_on(meter, &kept->meter);
    }
}

static void add_piece(void *fingerprint, const char *data, size_t nbytes)
{
    el_fingerprint_add(fingerprint, data, nbytes);
}

static bool name_body(el_kept_t *kept, request_rec *r, const el_kept_body_t *body)
{
    el_visitor_t visitor = el_credentials_of(r);
    el_fingerprint_t fingerprint;
    bool is_whole = true;

    el_fingerprint_begin(&fingerprint, r, &visitor, EL_NAME_BODY, body->nbytes);
    if (body->whole) {
        add_piece(&fingerprint, body->whole->data, body->whole->nbytes);
    } else {
        is_whole = el_body_each(body->bb, add_piece, &fingerprint);
    }
    return el_fingerprint_end(&fingerprint, &kept->name) && is_whole;
}

bool el_kept_find(el_kept_t *kept, request_rec *r, const el_policy_t *policy,
                  const el_choice_t *choice, const el_kept_body_t *body)
{
    bool is_found = false;

    start_meter(kept);
    if (name_body(kept, r, body)) {
        kept->again = el_store_note(&kept->name);
        is_found = find_and_count(kept, policy, choice, body->nbytes);
        el_sketch_learn(&el_shared.cache->sketch, place_of(r), kept->again || is_found);
    }
    el_meter_stop(&kept->meter);
    return is_found;
}

/* The name of the whole file that `bb` is, where its numbers stand for its content. */
static bool name_file(el_kept_t *kept, const request_rec *r, const apr_bucket_brigade *bb)
{
    el_fingerprint_t fingerprint;

    kept->descriptor = el_body_file(bb);
    if (kept->descriptor < 0 || !el_file_stat(kept->descriptor, &kept->file)
        || kept->file.size != APR_BRIGADE_FIRST(bb)->length
        || !el_file_id_settled(&kept->file, r->request_time)) {
        return false;
    }
    el_fingerprint_begin(&fingerprint, r, NULL, EL_NAME_FILE, sizeof(kept->file));
    el_fingerprint_add(&fingerprint, &kept->file, sizeof(kept->file));
    return el_fingerprint_end(&fingerprint, &kept->name);
}

/* There are only so many files: where none is driven out for it, each is kept at first sight. */
bool el_kept_find_file(el_kept_t *kept, const request_rec *r, const el_policy_t *policy,
                       const el_choice_t *choice, const apr_bucket_brigade *bb)
{
    bool is_found = false;

    start_meter(kept);
    kept->is_file = name_file(kept, r, bb);
    if (kept->is_file) {
        kept->again = el_store_note(&kept->name) || el_store_has_room();
        is_found = find_and_count(kept, policy, choice, kept->file.size);
    }
    el_meter_stop(&kept->meter);
    return is_found;
}

/* What was read of a file is that of its name only if it has not changed meanwhile. */
static bool has_its_name(const el_kept_t *kept)
{
    el_file_id_t now;

    return !kept->is_file
           || (el_file_stat(kept->descriptor, &now)
               && memcmp(&now, &kept->file, sizeof(now)) == 0);
}

void el_kept_leave(el_kept_t *kept)
{
    el_stampede_leave(&kept->stampede);
}

void el_kept_store(el_kept_t *kept, const el_policy_t *policy, const el_encoder_t *encoder)
{
    const el_usage_t *used = &encoder->meter.used;
    const el_plan_t *plan = &encoder->plan;
    el_coding_t coding = plan->engine->coding;
    apr_bucket *bucket = APR_BRIGADE_FIRST(encoder->brigade);
    el_entry_t entry = {.coding = coding, .level = encoder->level, .in = used->in};
    el_name_t name;
    const char *data;

    if (!(kept->again || el_stampede_is_awaited(&kept->stampede)) || used->out >= used->in
        || bucket == APR_BRIGADE_SENTINEL(encoder->brigade)
        || apr_bucket_read(bucket, &data, &entry.nbytes, APR_BLOCK_READ) != APR_SUCCESS
        || entry.nbytes != used->out || !has_its_name(kept)) {
        return;
    }
    entry.data = (const uint8_t *)data;
    apr_cpystrn(entry.engine, plan->engine->name, sizeof(entry.engine));
    name = name_of(kept, policy, coding, &plan->setup);
    el_store_put(&name, &entry, el_stampede_waiting(&kept->stampede) > 0);
}
