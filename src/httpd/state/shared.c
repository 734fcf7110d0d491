#include "httpd/state/shared.h"

#include "httpd/config/policy.h"

#include "elastic/block.h"

#include "http_log.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

EL_USE_LOG;

/* The layout's version is part of the key: a newer build makes a block of its own. */
#define STRING(x) #x
#define VERSIONED(version) "mod_elastic:block:" STRING(version)
static const char retained_key[] = VERSIONED(EL_BLOCK_VERSION);

el_shared_t el_shared;
static el_block_t *block;

uint64_t el_shared_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint32_t el_shared_sec(void)
{
    return (uint32_t)(el_shared_now() / APR_USEC_PER_SEC);
}

static el_control_state_t start_state(server_rec *main_server)
{
    el_range_t ranges[EL_CODINGS];
    el_control_state_t start = {0};

    el_policy_ranges(main_server, ranges);
    start.top = el_shared.control.top;
    start.position = el_ladder_start(ranges);
    return el_control_clamp(&el_shared.control, start);
}

/*
 * A mapping that outlives the configuration's pools: the parent's next generation finds it again.
 */
static el_block_t *block_of_parent(server_rec *main_server)
{
    el_block_t **kept = ap_retained_data_get(retained_key);
    void *made;

    if (kept && el_block_valid(*kept)) {
        return *kept;
    }
    made =
        mmap(NULL, sizeof(el_block_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return NULL;
    }
    if (!kept) {
        kept = ap_retained_data_create(retained_key, sizeof(*kept));
    }
    *kept = made;
    el_block_init(*kept, start_state(main_server), el_shared_now());
    return *kept;
}

apr_status_t el_shared_open(server_rec *main_server)
{
    const el_server_t *server = el_server_of(main_server);
    el_range_t ranges[EL_CODINGS];

    el_policy_ranges(main_server, ranges);
    el_shared.control = el_server_control(server, ranges);
    el_shared.position = el_server_position(server, main_server->process->pconf);
    el_shared.interval = (uint64_t)el_server_interval(server);
    block = block_of_parent(main_server);
    if (!block) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, errno, main_server,
                     "elastic: no memory for the block that the children share (%lu bytes)",
                     (unsigned long)sizeof(el_block_t));
        return APR_ENOMEM;
    }
    el_shared.state = &block->state;
    el_shared.counters = &block->counters;
    el_shared.durations = &block->durations;
    el_shared.costs = &block->costs;
    el_shared.ratios = &block->ratios;
    el_shared.generation = el_state_adopt(el_shared.state, &el_shared.control, el_shared_now(),
                                          el_shared.interval);
    return APR_SUCCESS;
}

void el_shared_reset(server_rec *main_server)
{
    el_block_reset(block, start_state(main_server), el_shared_now());
    el_shared.generation = el_state_adopt(el_shared.state, &el_shared.control, el_shared_now(),
                                          el_shared.interval);
}

/* This process's number, asked for once; threads that race here store the same. */
static unsigned process_number(void)
{
    static _Atomic unsigned known;
    unsigned number = atomic_load_explicit(&known, memory_order_relaxed);

    if (!number) {
        number = (unsigned)getpid();
        atomic_store_explicit(&known, number, memory_order_relaxed);
    }
    return number;
}

static int level_at(el_control_state_t control, el_range_t range)
{
    if (el_shared.control.mode == EL_CONTROL_OFF) {
        return range.max;
    }
    return el_ladder_level(range, control.position, control.top);
}

int el_shared_level(el_range_t range)
{
    return level_at(el_state_control(el_shared.state), range);
}

/* `control` with one of the two whole positions that it is between. */
static el_control_state_t take_turn(el_control_state_t control)
{
    /* Counted in each process, which begins at a number of its own. */
    static _Atomic uint32_t requests;
    uint32_t turn;

    if (control.fraction > 0) {
        turn = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + process_number();
        control.position += el_control_upper(control, turn);
    }
    return control;
}

unsigned el_shared_next_position(unsigned *top)
{
    el_control_state_t control = take_turn(el_state_control(el_shared.state));

    *top = control.top;
    return control.position;
}

int el_shared_next_level(el_range_t range)
{
    return level_at(take_turn(el_state_control(el_shared.state)), range);
}

void el_shared_duration(uint64_t nsec)
{
    if (el_shared.control.goal.kind == EL_GOAL_LATENCY) {
        el_histogram_add(el_shared.durations, nsec);
    }
}

void el_shared_count(el_counter_t counter, uint64_t add)
{
    el_counters_add(el_shared.counters, process_number(), counter, add);
}
