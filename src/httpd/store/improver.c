#include "httpd/store/improver.h"

#include "httpd/control/ladders.h"
#include "httpd/control/sampler.h"
#include "httpd/control/timer.h"
#include "httpd/state/costs.h"
#include "httpd/state/shared.h"
#include "httpd/store/found.h"
#include "httpd/store/store.h"

#include "engines/engines.h"
#include "engines/plan.h"
#include "engines/pool.h"
#include "engines/recode.h"
#include "host/clock.h"
#include "host/code.h"
#include "host/idle_thread.h"

#include "apr_strings.h"
#include "http_log.h"

#include <stdatomic.h>
#include <unistd.h>

EL_USE_LOG;

/*
 * Nanoseconds that one call may be expected to take. brotli's highest level takes 130 ms for 120 KB;
 * what is larger gets a lower one.
 */
#define CALL_MOST 200000000.

/*
 * Encodings that are handed to the thread at a time: small ones are made faster than the timer comes
 * to look, ten times a second.
 */
#define JOBS 4

typedef enum { JOB_FREE, JOB_READY, JOB_AT_WORK, JOB_DONE } job_state_t;

typedef struct {
    _Atomic int state;
    el_found_t found; /* the entry that is to be improved */
    el_name_t name;   /* under which the result is kept */
    el_plan_t plan;
    int level;        /* as users count levels */
    int64_t expected; /* ns */
    uint8_t *made;    /* of the pool; NULL where that failed */
    size_t nbytes;
} job_t;

/* Static: the thread may outlive all pools. All but the jobs is the timer thread's. */
static struct {
    server_rec *server;
    bool started;
    bool broken;      /* there is no such thread */
    uint64_t counted; /* ns of the thread's CPU time */
    job_t job[JOBS];
} improver;

/* On the idle thread. */
static void work(void)
{
    for (int i = 0; i < JOBS; i++) {
        job_t *job = &improver.job[i];
        int ready = JOB_READY;

        if (atomic_compare_exchange_strong(&job->state, &ready, JOB_AT_WORK)) {
            const el_entry_t *entry = &job->found.entry;
            el_encoded_t body = {entry->coding, entry->data, entry->nbytes, (size_t)entry->in};

            job->made = el_recode(&body, &job->plan, &job->nbytes);
            atomic_store(&job->state, JOB_DONE);
        }
    }
}

/* The CPU time that the thread has used since the last call. */
static void account(void)
{
    uint64_t used = el_idle_thread_cpu_nsec();

    if (used > improver.counted) {
        el_idle_spend(el_shared.idle, used - improver.counted);
        el_shared_count(EL_COUNT_IMPROVED_NSEC, used - improver.counted);
        improver.counted = used;
    }
}

static void release(job_t *job)
{
    el_pool_buffer_release(job->made);
    el_found_release(&job->found);
    atomic_store(&job->state, JOB_FREE);
}

/* What became smaller takes the place of what it was made of. */
static void finish(job_t *job)
{
    const el_entry_t *old = &job->found.entry;
    el_entry_t entry = {
        .coding = job->plan.engine->coding, .level = job->level, .in = old->in,
        .data = job->made, .nbytes = job->nbytes,
    };

    if (job->made && job->nbytes < old->nbytes) {
        entry.gained = old->gained + (uint32_t)(old->nbytes - job->nbytes);
        apr_cpystrn(entry.engine, job->plan.engine->name, sizeof(entry.engine));
        if (el_store_put(&job->name, &entry, false)) {
            el_shared_count(EL_COUNT_IMPROVED, 1);
        }
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, improver.server,
                     "elastic: improved: %s %d of %lu bytes became %s %d of %lu",
                     el_coding_info(old->coding)->token, old->level, (unsigned long)old->nbytes,
                     el_coding_info(entry.coding)->token, entry.level,
                     (unsigned long)entry.nbytes);
    }
    release(job);
}

/* Stores what was made; nanoseconds that are expected of what was not yet. */
static int64_t collect(void)
{
    int64_t expected = 0;

    for (int i = 0; i < JOBS; i++) {
        int state = atomic_load(&improver.job[i].state);

        if (state == JOB_DONE) {
            finish(&improver.job[i]);
        } else if (state != JOB_FREE) {
            expected += improver.job[i].expected;
        }
    }
    return expected;
}

/* Takes back what the thread has not begun with. */
static void withdraw(void)
{
    for (int i = 0; i < JOBS; i++) {
        int ready = JOB_READY;

        if (atomic_compare_exchange_strong(&improver.job[i].state, &ready, JOB_DONE)) {
            release(&improver.job[i]);
        }
    }
}

static el_setup_t setup_of(const el_name_t *name, int level, uint64_t nbytes)
{
    return (el_setup_t){
        .level = level, .window_bits = name->window_bits, .mem_level = name->mem_level,
        .block_bits = name->block_bits, .size_hint = nbytes,
    };
}

/* Whether the store has it at `level` already: others share what was made for some. */
static bool is_there(const el_name_t *name, int level)
{
    el_found_t found;
    bool good;

    if (!el_store_get(name, &found)) {
        return false;
    }
    good = found.entry.level >= level;
    el_found_release(&found);
    return good;
}

/* Makes a job of what is hot; false where that is gone, or is as good already. */
static bool prepare(job_t *job, const el_hot_item_t *item)
{
    el_setup_t setup = setup_of(&item->name, item->level, item->nbytes);

    job->name = item->name;
    job->name.coding = item->coding;
    job->made = NULL;
    if (is_there(&job->name, item->level) || !el_store_get(&item->name, &job->found)) {
        return false;
    }
    job->level = item->level;
    job->plan = el_engine_plan((el_coding_t)item->coding, &setup, true);
    job->expected = (int64_t)((double)el_costs_expect((el_coding_t)item->coding, &setup, true).nsec
                              * item->nbytes / 1024);
    return true;
}

/* The first time, starts the thread. */
static bool has_thread(void)
{
    if (!improver.started && !improver.broken) {
        improver.started = el_code_keep(&improver) && el_idle_thread_start(work);
        improver.broken = !improver.started;
        if (improver.broken) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, errno, improver.server,
                         "elastic: ElasticIdle: no thread for idle CPU time (SCHED_IDLE) in this "
                         "process: nothing is improved");
        }
    }
    return improver.started;
}

/* Hands out what is hot, as long as there is CPU time for it. */
static void hand_out(int64_t expected, uint32_t second)
{
    el_hot_item_t item;

    for (int i = 0; i < JOBS && el_idle_credit(el_shared.idle) > expected; i++) {
        job_t *job = &improver.job[i];

        if (atomic_load(&job->state) != JOB_FREE) {
            continue;
        }
        if (!el_hot_take(el_shared.hot, second, &item) || !has_thread()) {
            break;
        }
        if (prepare(job, &item)) {
            expected += job->expected;
            atomic_store(&job->state, JOB_READY);
            el_idle_thread_wake();
        }
    }
}

/* On the timer's thread; `samples` where this process is the one that samples the load. */
static void improve(uint64_t now, bool samples)
{
    uint32_t pid = (uint32_t)getpid();
    int64_t expected;

    account();
    expected = collect();
    /* A call that has begun is still this process's. */
    if ((!samples && expected == 0) || !el_idle_hold(el_shared.idle, pid, now)) {
        withdraw();
        el_idle_release(el_shared.idle, pid);
        return;
    }
    el_idle_earn(el_shared.idle, now, el_sampler_cpus(), el_shared.config.idle);
    if (samples
        && el_idle_spare(&el_shared.config.control, atomic_load(&el_shared.state->load_ppm))) {
        hand_out(expected, (uint32_t)(now / 1000000));
    } else {
        withdraw();
    }
}

static bool is_on(void)
{
    return el_shared.config.idle > 0 && el_shared.config.control.mode != EL_CONTROL_OFF;
}

void el_improver_open(server_rec *main_server)
{
    improver.server = main_server;
    el_timer_also(is_on() && el_store_is_open() ? improve : NULL);
}

el_target_t el_improver_target(const el_range_t *range, unsigned set, const el_setup_t *setup,
                               uint64_t nbytes)
{
    el_target_t target = {EL_IDENTITY, 0};
    uint32_t smallest = UINT32_MAX;

    for (int i = EL_IDENTITY + 1; i < EL_CODINGS && is_on(); i++) {
        el_coding_t coding = (el_coding_t)i;
        el_setup_t wanted = *setup;
        el_cost_t cost;

        if (!(set & EL_CODING_BIT(coding)) || !el_shared_moves(range[coding])) {
            continue;
        }
        wanted.level = el_shared.config.idle_top ? el_engine_top(coding) : range[coding].max;
        wanted.size_hint = nbytes;
        cost = el_costs_expect(coding, &wanted, true);
        while (wanted.level > range[coding].min && cost.nsec / 1024. * (double)nbytes > CALL_MOST) {
            wanted.level--;
            cost = el_costs_expect(coding, &wanted, true);
        }
        if (cost.size < smallest) {
            smallest = cost.size;
            target = (el_target_t){coding, wanted.level};
        }
    }
    return target;
}

void el_improver_note(const el_name_t *name, const el_entry_t *entry, el_target_t target)
{
    el_hot_item_t item = {
        .name = *name, .nbytes = (uint32_t)entry->in,
        .coding = (uint8_t)target.coding, .level = (uint8_t)target.level,
    };

    if (entry->gained > 0) {
        el_shared_count(EL_COUNT_IMPROVED_BYTES, entry->gained);
    }
    if (target.coding != EL_IDENTITY
        && (entry->coding != target.coding || entry->level < target.level)) {
        el_hot_note(el_shared.hot, &item, el_clock_sec());
    }
}
