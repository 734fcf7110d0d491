#include "elastic/state.h"

#include <string.h>

/* The position's word: the position below, the top it was set for above it, then the bypass. */
#define TOP_SHIFT 32
#define TOP_MASK 0xffffu
#define BYPASS_BIT (UINT64_C(1) << 48)

static uint64_t pack(el_control_state_t control)
{
    return (uint64_t)(uint32_t)control.position | (uint64_t)(control.top & TOP_MASK) << TOP_SHIFT
        | (control.bypass ? BYPASS_BIT : 0);
}

static el_control_state_t unpack(uint64_t word)
{
    return (el_control_state_t){
        .position = (uint32_t)word,
        .top = (unsigned)(word >> TOP_SHIFT) & TOP_MASK,
        .bypass = (word & BYPASS_BIT) != 0,
    };
}

void el_state_init(el_state_t *state, el_control_state_t control, uint64_t now)
{
    el_state_reset(state, control, now);
    state->version = EL_STATE_VERSION;
    state->magic = EL_STATE_MAGIC;
}

bool el_state_valid(const el_state_t *state)
{
    return state->magic == EL_STATE_MAGIC && state->version == EL_STATE_VERSION;
}

/* The generation stays: children of the old one may still run and must not pass for new ones. */
void el_state_reset(el_state_t *state, el_control_state_t control, uint64_t now)
{
    /* First, so that a claim made before has run out. */
    atomic_store(&state->next_sample, now);
    atomic_store(&state->position, pack(control));
    atomic_store(&state->load_ppm, EL_STATE_NO_LOAD);
    atomic_store(&state->started, now);
    atomic_store(&state->samples, 0);
    atomic_store(&state->steps, 0);
    atomic_store(&state->trouble, 0);
    memset(&state->last, 0, sizeof(state->last));
    el_cost_reset(&state->costs);
    for (unsigned s = 0; s < EL_STATE_STRIPES; s++) {
        for (unsigned c = 0; c < EL_COUNT_TOTAL; c++) {
            atomic_store(&state->stripe[s].count[c], 0);
        }
    }
}

el_control_state_t el_state_control(const el_state_t *state)
{
    return unpack(atomic_load(&state->position));
}

uint64_t el_state_adopt(el_state_t *state, const el_control_config_t *config, uint64_t now,
                        uint64_t interval)
{
    uint64_t generation = atomic_fetch_add(&state->generation, 1) + 1;
    uint64_t due = atomic_load(&state->next_sample);
    uint64_t next, word;

    /* Always another value than before, so that the claims of the old generation run out. */
    do {
        next = due == 0 || due > now + interval ? now + interval : due - 1;
    } while (!atomic_compare_exchange_weak(&state->next_sample, &due, next));

    word = atomic_load(&state->position);
    while (!atomic_compare_exchange_weak(&state->position, &word,
                                         pack(el_control_clamp(config, unpack(word))))) {
    }
    return generation;
}

bool el_state_claim(el_state_t *state, uint64_t generation, uint64_t now, uint64_t interval,
                    uint64_t *claim)
{
    uint64_t due = atomic_load(&state->next_sample);

    /* Read after `due`: an adoption in between has changed next_sample, and the swap fails. */
    if (atomic_load(&state->generation) != generation || !el_control_due(due, now)) {
        return false;
    }
    *claim = el_control_schedule(due, now, interval);
    return atomic_compare_exchange_strong(&state->next_sample, &due, *claim);
}

bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_cpuset_t *mask, const el_load_sample_t *sample)
{
    uint64_t word = atomic_load(&state->position);
    el_control_state_t current = unpack(word);
    el_control_state_t next;
    double busy;
    bool determined = el_load_busy(&state->last, sample, mask, &busy);

    if (atomic_load(&state->next_sample) != claim) {
        return false;
    }
    state->last = *sample;
    if (!determined) {
        return false;
    }
    atomic_store(&state->load_ppm, (uint64_t)(busy * EL_PPM + 0.5));
    atomic_fetch_add(&state->samples, 1);

    /* Where a reload moved the position meanwhile, its word stands and this step is lost. */
    next = el_control_next(config, current, busy);
    if (atomic_compare_exchange_strong(&state->position, &word, pack(next))
        && next.position != current.position) {
        atomic_fetch_add(&state->steps, 1);
    }
    return true;
}

bool el_state_trouble(el_state_t *state, bool trouble)
{
    uint32_t now = trouble ? 1 : 0;

    return atomic_exchange(&state->trouble, now) != now;
}

/* Counters order nothing, so they need no barriers. */
void el_state_count(el_state_t *state, unsigned lane, el_counter_t counter, uint64_t add)
{
    atomic_fetch_add_explicit(&state->stripe[lane % EL_STATE_STRIPES].count[counter], add,
                              memory_order_relaxed);
}

uint64_t el_state_total(const el_state_t *state, el_counter_t counter)
{
    uint64_t total = 0;

    for (unsigned s = 0; s < EL_STATE_STRIPES; s++) {
        total += atomic_load_explicit(&state->stripe[s].count[counter], memory_order_relaxed);
    }
    return total;
}

uint64_t el_state_cpu_usec(const el_state_t *state)
{
    double elapsed = (double)el_state_total(state, EL_COUNT_ELAPSED_NSEC);
    double sampled = (double)el_state_total(state, EL_COUNT_SAMPLED_NSEC);
    double used = (double)el_state_total(state, EL_COUNT_SAMPLED_CPU_NSEC);

    if (sampled > 0) {
        elapsed *= used / sampled;
    }
    return (uint64_t)(elapsed / 1000);
}
