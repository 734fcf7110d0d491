#include "httpd/shared/shared.h"

#include "elastic/block.h"
#include "host/process.h"

#include "http_log.h"

#include <sys/mman.h>
#include <unistd.h>

EL_USE_LOG;

/* The layout's version is part of the key, so that a newer build makes its own block. */
#define STRING(x) #x
#define VERSIONED(version) "mod_elastic:block:" STRING(version)
static const char retained_key[] = VERSIONED(EL_BLOCK_VERSION);

el_shared_t el_shared;

/*
 * This process's count of encoders in use, set before its threads start. It may be NULL if there
 * are too many processes.
 */
static el_holder_t *busy;

static el_control_state_t shared_start_state(void)
{
    const el_control_config_t *control = &el_shared.config.control;

    return el_control_clamp(control, (el_control_state_t){.top = control->top,
                                                          .position = el_shared.config.start});
}

static void shared_adopt(void)
{
    el_shared.generation = el_state_adopt(&el_shared.block->state, &el_shared.config.control,
                                          el_clock_usec(), el_shared.config.interval);
}

apr_status_t el_shared_open(const el_shared_config_t *config, server_rec *main_server)
{
    /* The mapping outlives the configuration's pools: the parent's next generation finds it. */
    el_block_t **kept = ap_retained_data_get(retained_key);

    el_shared.config = *config;
    if (!kept || !el_block_valid(*kept)) {
        void *made = mmap(NULL, sizeof(el_block_t), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (made == MAP_FAILED) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, errno, main_server,
                         "elastic: no memory for the block that the children share (%lu bytes)",
                         (unsigned long)sizeof(el_block_t));
            return APR_ENOMEM;
        }
        kept = kept ? kept : ap_retained_data_create(retained_key, sizeof(*kept));
        *kept = made;
        el_block_init(made, shared_start_state(), el_clock_usec());
    }
    el_shared.block = *kept;
    shared_adopt();
    return APR_SUCCESS;
}

void el_shared_reset(void)
{
    el_block_reset(el_shared.block, shared_start_state(), el_clock_usec());
    shared_adopt();
}

void el_shared_child(void)
{
    el_shared.process = (unsigned)getpid();
    el_holders_forget_gone();
    busy = el_in_flight_enter(&el_shared.block->busy, el_shared.process);
}

void el_holders_begin(void)
{
    el_in_flight_add(&el_shared.block->busy, busy, 1);
}

void el_holders_end(void)
{
    el_in_flight_add(&el_shared.block->busy, busy, -1);
}

void el_holders_forget_gone(void)
{
    el_in_flight_forget(&el_shared.block->held, el_process_is_alive);
    el_in_flight_forget(&el_shared.block->busy, el_process_is_alive);
}

el_effort_t el_shared_effort_at(el_control_state_t control)
{
    uint64_t price = atomic_load_explicit(&el_shared.block->state.price, memory_order_relaxed);
    /* The position counts for goals without a price, and until the first sample. */
    bool is_priced =
        price != EL_STATE_NO_PRICE && el_control_is_priced(&el_shared.config.control);

    return (el_effort_t){control.position, control.top, is_priced ? (double)price / EL_PPM : -1};
}

el_effort_t el_shared_effort(el_control_state_t control)
{
    static _Atomic uint32_t responses;
    el_effort_t effort = el_shared_effort_at(control);

    /* Each process counts its own responses, from a different start. */
    if (effort.price < 0 && control.fraction > 0) {
        uint32_t turn = atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);

        effort.position += el_control_upper(control, turn + el_shared.process);
    }
    return effort;
}

int el_shared_level(el_range_t range, el_effort_t effort)
{
    return el_shared.config.control.mode == EL_CONTROL_OFF
               ? range.max
               : el_ladder_level(range, effort.position, effort.top);
}

bool el_shared_is_adaptive(el_range_t range)
{
    return el_shared.config.control.mode != EL_CONTROL_OFF && range.min < range.max;
}
