#include "elastic/state.h"

#include <string.h>

/* A percentile of fewer durations than these is that of one response or two. */
#define DURATIONS_LEAST 20
/*
 * What an interval leaves of the durations before it: with the default interval, those of two
 * seconds ago count a quarter where requests are many.
 */
#define DURATIONS_KEPT 0.7

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
    atomic_store(&state->position, el_control_pack(control));
    atomic_store(&state->load_ppm, EL_STATE_NO_LOAD);
    atomic_store(&state->started, now);
    atomic_store(&state->samples, 0);
    atomic_store(&state->steps, 0);
    atomic_store(&state->sampling_failed, 0);
    atomic_store(&state->source, EL_SOURCE_UNKNOWN);
    el_histogram_fade(&state->durations, 0);
    memset(&state->last, 0, sizeof(state->last));
    state->memory = (el_control_memory_t){0};
    state->worked = (el_state_work_t){0};
    el_cost_reset(&state->costs);
    el_ratio_reset(&state->ratios);
    for (unsigned s = 0; s < EL_STATE_STRIPES; s++) {
        for (unsigned c = 0; c < EL_COUNT_TOTAL; c++) {
            atomic_store(&state->stripe[s].count[c], 0);
        }
    }
}

el_control_state_t el_state_control(const el_state_t *state)
{
    return el_control_unpack(atomic_load(&state->position));
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
    while (!atomic_compare_exchange_weak(
        &state->position, &word,
        el_control_pack(el_control_clamp(config, el_control_unpack(word))))) {
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

uint64_t el_state_due(const el_state_t *state)
{
    return atomic_load(&state->next_sample);
}

static el_state_work_t work_so_far(const el_state_t *state)
{
    return (el_state_work_t){
        .in = el_state_total(state, EL_COUNT_BYTES_IN),
        .sampled_in = el_state_total(state, EL_COUNT_SAMPLED_IN),
        .sampled_nsec = el_state_total(state, EL_COUNT_SAMPLED_NSEC),
    };
}

/*
 * CPU µs of all the work; 0 where nothing was sampled. By bytes: the time elapsed would not do,
 * because taking the CPU time is a system call, and after one a thread is scheduled otherwise.
 */
static double cpu_usec(el_state_work_t work)
{
    return work.sampled_in > 0
        ? (double)work.sampled_nsec / 1000 * ((double)work.in / (double)work.sampled_in) : 0;
}

/* What happened since the last sample, as the controller wants it. */
static el_observation_t look_back(el_state_t *state, const el_state_inputs_t *inputs)
{
    el_state_work_t now = work_so_far(state);
    el_state_work_t since = {
        .in = now.in - state->worked.in,
        .sampled_in = now.sampled_in - state->worked.sampled_in,
        .sampled_nsec = now.sampled_nsec - state->worked.sampled_nsec,
    };
    el_observation_t observed = {
        .capacity_usec = el_reading_capacity(inputs->plan, &state->last, inputs->reading),
        .spent_usec = cpu_usec(since),
        .kbytes = (double)since.in / 1024,
        .cost = inputs->cost,
        .ratio = inputs->ratio,
    };

    state->worked = now;
    return observed;
}

/* The past fades when it has told something: a site of few requests gathers them for longer. */
static double percentile(el_state_t *state)
{
    double usec = el_histogram_quantile(&state->durations, 0.95, DURATIONS_LEAST);

    if (usec > 0) {
        el_histogram_fade(&state->durations, DURATIONS_KEPT);
    }
    return usec;
}

/* Where a reload moved the position meanwhile, its word stands and this step is lost. */
static void move(el_state_t *state, uint64_t word, el_control_state_t next)
{
    el_control_state_t current = el_control_unpack(word);

    if (atomic_compare_exchange_strong(&state->position, &word, el_control_pack(next))
        && (next.position != current.position || next.fraction != current.fraction)) {
        atomic_fetch_add(&state->steps, 1);
    }
}

bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_state_inputs_t *inputs)
{
    uint64_t word = atomic_load(&state->position);
    el_observation_t observed;
    double busy;
    bool determined = el_reading_busy(inputs->plan, inputs->mask, &state->last, inputs->reading,
                                      &busy);

    if (atomic_load(&state->next_sample) != claim) {
        return false;
    }
    observed = look_back(state, inputs);
    state->last = *inputs->reading;
    if (!determined) {
        return false;
    }
    observed.busy = busy;
    observed.p95_usec = percentile(state);
    atomic_store(&state->load_ppm, (uint64_t)(busy * EL_PPM + 0.5));
    atomic_fetch_add(&state->samples, 1);
    move(state, word, el_control_next(config, &observed, &state->memory, el_control_unpack(word)));
    return true;
}

void el_state_follow(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_position_t *position)
{
    uint64_t word = atomic_load(&state->position);

    if (atomic_load(&state->next_sample) != claim) {
        return;
    }
    /* What a controller of its own remembers would be of long ago. */
    state->last.has_stat = state->last.has_usage = false;
    state->memory = (el_control_memory_t){0};
    if (position->load_ppm != EL_POSITION_NO_LOAD) {
        atomic_store(&state->load_ppm, position->load_ppm);
    }
    atomic_fetch_add(&state->samples, 1);
    move(state, word, el_position_scale(position->control, config->top));
}

bool el_state_note_source(el_state_t *state, el_source_t source)
{
    uint32_t now = (uint32_t)source;

    return atomic_exchange(&state->source, now) != now;
}

bool el_state_note_sampling(el_state_t *state, bool failed)
{
    uint32_t now = failed ? 1 : 0;

    return atomic_exchange(&state->sampling_failed, now) != now;
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
    return (uint64_t)cpu_usec(work_so_far(state));
}
