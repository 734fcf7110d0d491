#include "httpd/cache/store.h"

#include "httpd/shared/costs.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/tick.h"

#include "engines/engines.h"
#include "engines/memory.h"
#include "host/process.h"

#include "apr_strings.h"
#include "http_log.h"

#include <stdatomic.h>
#include <unistd.h>

EL_USE_LOG;

/*
 * The most ns that one encoding may be expected to take: larger bodies get a lower level. brotli's
 * highest level takes 130 ms for 120 KB.
 */
#define CALL_MOST 200000000.

typedef enum { JOB_FREE, JOB_AT_WORK, JOB_DONE } job_state_t;

/*
 * Static, because the thread may outlive all pools. While a job is at work, its fields belong to
 * the idle thread; all the rest belongs to the timer's thread.
 */
static struct {
    server_rec *server;
    bool started;
    bool broken;      /* the thread could not be started */
    uint64_t counted; /* ns of the thread's CPU time that the counters have */
    struct {
        _Atomic int state;
        el_found_t found;  /* the entry to improve */
        el_name_t name;    /* the name for the result */
        el_plan_t plan;
        int level;         /* as in the configuration */
        uint64_t began;    /* the thread's CPU time at the beginning, ns */
        uint64_t expected; /* ns */
        uint8_t *made;     /* the result, in the pool; NULL: encoding failed */
        size_t nbytes;
    } job;
} improver;

/* Runs on the idle thread. */
static void idle_work(void)
{
    const el_entry_t *entry = &improver.job.found.entry;
    el_encoded_t body = {entry->coding, entry->data, entry->nbytes, (size_t)entry->in};

    improver.job.made = el_recode(&body, &improver.job.plan, &improver.job.nbytes);
    atomic_store(&improver.job.state, JOB_DONE);
}

/* The elapsed µs of which `nsec` of CPU time are the share that ElasticIdle allows. */
static uint64_t idle_time_for(uint64_t nsec)
{
    return (uint64_t)((double)nsec / 1000 / (el_tick_cpus() * el_shared.config.idle));
}

/*
 * Ends a job and stores the result if it is smaller. The next job may begin when the CPU time used
 * so far is within the allowed share of elapsed time.
 */
static void idle_finish(uint64_t used)
{
    const el_entry_t *old = &improver.job.found.entry;

    if (improver.job.made && improver.job.nbytes < old->nbytes) {
        el_entry_t entry = {
            .coding = improver.job.plan.engine->coding, .level = improver.job.level, .in = old->in,
            .data = improver.job.made, .nbytes = improver.job.nbytes,
            .gained = old->gained + (uint32_t)(old->nbytes - improver.job.nbytes),
        };

        apr_cpystrn(entry.engine, improver.job.plan.engine->name, sizeof(entry.engine));
        if (el_store_put(&improver.job.name, &entry, false)) {
            el_shared_count(EL_COUNT_IMPROVED, 1);
        }
    }
    atomic_fetch_add(&el_shared.block->improve_at,
                     idle_time_for(used - improver.job.began)
                         - idle_time_for(improver.job.expected)); /* may be negative */
    el_pool_buffer_release(improver.job.made);
    el_found_release(&improver.job.found);
    atomic_store(&improver.job.state, JOB_FREE);
}

/*
 * Makes a popular encoding the job. Returns false if the store has lost it, or already has the
 * result because several kinds of clients share it.
 */
static bool idle_prepare(const el_popular_item_t *item)
{
    el_coding_t coding = (el_coding_t)item->coding;
    el_found_t *found = &improver.job.found;
    el_setup_t setup = {
        .level = item->level, .window_bits = item->name.window_bits,
        .mem_level = item->name.mem_level, .block_bits = item->name.block_bits,
        .size_hint = item->nbytes,
    };
    bool is_done;

    /* The result is for adaptive levels, even if it improves an entry of a pinned one. */
    improver.job.name = item->name;
    improver.job.name.coding = item->coding;
    improver.job.name.pinned = EL_NAME_ADAPTIVE;
    improver.job.made = NULL;
    found->waited = 0;
    is_done = el_store_get(&improver.job.name, found) && found->entry.level >= item->level;
    el_found_release(found);
    if (is_done || !el_store_get(&item->name, found)) {
        return false;
    }
    improver.job.level = item->level;
    improver.job.plan = el_engine_plan(coding, &setup, true);
    improver.job.expected =
        (uint64_t)((double)el_costs_expect(coding, &setup, true).nsec * item->nbytes / 1024);
    return true;
}

/* Starts the thread at the first call. Returns false if there is none. */
static bool idle_has_thread(void)
{
    if (!improver.started && !improver.broken) {
        improver.started = el_code_keep(&improver) && el_idle_thread_start(idle_work);
        improver.broken = !improver.started;
        if (improver.broken) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, errno, improver.server,
                         "elastic: ElasticIdle has no effect in this process: it cannot start a "
                         "thread with SCHED_IDLE");
        }
    }
    return improver.started;
}

/*
 * Runs on the timer's thread. Only the process that samples the load (`samples`) begins jobs, and
 * only while CPU time is spare: the load is below the controller's low threshold, and previous jobs
 * are within the share. EL_STATE_NO_LOAD is above any threshold.
 */
static void idle_tick(uint64_t now, bool samples)
{
    uint64_t used = el_idle_thread_cpu_nsec();
    el_popular_item_t item;

    if (used > improver.counted) {
        el_shared_count(EL_COUNT_IMPROVED_NSEC, used - improver.counted);
        improver.counted = used;
    }
    if (atomic_load(&improver.job.state) == JOB_DONE) {
        idle_finish(el_idle_thread_cpu_nsec());
    }
    if (samples && atomic_load(&improver.job.state) == JOB_FREE
        && (double)atomic_load(&el_shared.block->state.load_ppm) / EL_PPM
               < el_shared.config.control.low
        && now >= atomic_load(&el_shared.block->improve_at)
        && el_popular_take(&el_shared.block->popular, (uint32_t)(now / 1000000), &item)
        && idle_has_thread() && idle_prepare(&item)) {
        improver.job.began = el_idle_thread_cpu_nsec();
        atomic_store(&el_shared.block->improve_at, now + idle_time_for(improver.job.expected));
        atomic_store(&improver.job.state, JOB_AT_WORK);
        el_idle_thread_wake();
    }
}

static bool idle_is_on(void)
{
    return el_shared.config.idle > 0 && el_shared.config.control.mode != EL_CONTROL_OFF;
}

void el_improver_open(server_rec *main_server)
{
    improver.server = main_server;
    el_tick_also(idle_is_on() && el_store_is_open() ? idle_tick : NULL);
}

el_target_t el_improver_target(const el_range_t *range, unsigned set, const el_setup_t *setup,
                               uint64_t nbytes)
{
    el_target_t target = {EL_IDENTITY, 0};
    uint32_t smallest = UINT32_MAX;

    for (int i = EL_IDENTITY + 1; i < EL_CODINGS && idle_is_on(); i++) {
        el_coding_t coding = (el_coding_t)i;
        el_setup_t wanted = *setup;
        el_cost_t cost;

        if (!(set & EL_CODING_BIT(coding)) || !el_shared_is_adaptive(range[coding])) {
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
    el_popular_item_t item = {
        .name = *name, .nbytes = (uint32_t)entry->in,
        .coding = (uint8_t)target.coding, .level = (uint8_t)target.level,
    };

    if (entry->gained > 0) {
        el_shared_count(EL_COUNT_IMPROVED_BYTES, entry->gained);
    }
    if (target.coding != EL_IDENTITY
        && (entry->coding != target.coding || entry->level < target.level)) {
        el_popular_note(&el_shared.block->popular, &item, el_clock_sec());
    }
}
