#include "elastic/block.h"

#include <math.h>
#include <string.h>

/*
 * The position's word is a packed state, and above it the number of writes. So an exchange fails if
 * another process has written in between, even the same position. The number wraps after 32768
 * writes: a child would have to sleep for exactly that many samples.
 */
static uint64_t block_next_word(uint64_t word, el_control_state_t control)
{
    return ((word >> EL_CONTROL_BITS) + 1) << EL_CONTROL_BITS | el_control_pack(control);
}

/* Length in µs of the slots in which arrivals are counted. */
#define SLOT UINT64_C(100000)

/* An arrivals word: the slot's number, and in the low bits the count. */
#define ARRIVAL_BITS 20
#define ARRIVAL_MASK ((UINT64_C(1) << ARRIVAL_BITS) - 1)

/*
 * Samples that follow the first one of a surge after a slot each: the first sample also covers the
 * time before the surge, and a single sample may be noise.
 */
#define SOON 4

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

    /* Always a new value, so that the claims of the old generation become invalid. */
    do {
        next = due == 0 || due > now + interval ? now + interval : due - 1;
    } while (!atomic_compare_exchange_weak(&state->next_sample, &due, next));

    word = atomic_load(&state->position);
    while (!atomic_compare_exchange_weak(
        &state->position, &word,
        block_next_word(word, el_control_clamp(config, el_control_unpack(word))))) {
    }
    return generation;
}

bool el_state_claim(el_state_t *state, uint64_t generation, uint64_t now, uint64_t interval,
                    uint64_t *claim)
{
    uint64_t due = atomic_load(&state->next_sample);
    uint32_t soon = atomic_load(&state->soon);

    /* Read after `due`: an adoption in between changes next_sample, and the exchange fails. */
    if (atomic_load(&state->generation) != generation || now < due) {
        return false;
    }
    *claim = el_control_schedule(due, now, soon > 0 && interval > SLOT ? SLOT : interval);
    if (!atomic_compare_exchange_strong(&state->next_sample, &due, *claim)) {
        return false;
    }
    atomic_store(&state->sampled, now);
    atomic_compare_exchange_strong(&state->soon, &soon, soon > 0 ? soon - 1 : 0);
    return true;
}

bool el_state_arrival(el_state_t *state, uint64_t now)
{
    uint64_t slot = now / SLOT, word = atomic_load(&state->arrivals);
    uint64_t due, soonest, next;
    uint32_t surge = atomic_load(&state->surge);

    if (surge == 0) {
        return false;
    }
    do {
        next = word >> ARRIVAL_BITS == slot ? word + 1 : slot << ARRIVAL_BITS | 1;
    } while (!atomic_compare_exchange_weak(&state->arrivals, &word, next));
    if ((next & ARRIVAL_MASK) != surge) {
        return false;
    }
    soonest = atomic_load(&state->sampled) + SLOT;
    soonest = soonest > now ? soonest : now;
    atomic_store(&state->soon, SOON);
    due = atomic_load(&state->next_sample);
    return due > soonest && atomic_compare_exchange_strong(&state->next_sample, &due, soonest);
}

/*
 * Reads the word of the position that a sample begins with. False if the claim is no longer valid.
 * The position is read first: if the claim ends after the second read, its successor writes the
 * position, and block_move() fails, or starts from the position of this sample.
 */
static bool block_begin(const el_state_t *state, uint64_t claim, uint64_t *word)
{
    *word = atomic_load(&state->position);
    return atomic_load(&state->next_sample) == claim;
}

/* False, and no change, if another process wrote the position since block_begin(). */
static bool block_move(el_state_t *state, uint64_t word, el_control_state_t next)
{
    el_control_state_t current = el_control_unpack(word);

    if (!atomic_compare_exchange_strong(&state->position, &word, block_next_word(word, next))) {
        return false;
    }
    if (next.position != current.position || next.fraction != current.fraction) {
        atomic_fetch_add(&state->steps, 1);
    }
    return true;
}

/*
 * The load since `last`, without the CPU time of improving cached encodings: that runs at idle
 * priority and is no reason to compress less. False if it is not determined.
 */
static bool block_read_busy(const el_sample_t *last, uint64_t improved_nsec,
                            const el_state_inputs_t *inputs, double *busy)
{
    double capacity = el_reading_usec(&last->reading, inputs->reading) * inputs->signals->cpus;
    double improving = (double)(improved_nsec - last->improved_nsec) / 1000;

    if (!el_reading_busy(inputs->signals, inputs->mask, &last->reading, inputs->reading, busy)) {
        return false;
    }
    *busy = fmax(0, *busy - (capacity > 0 ? improving / capacity : 0));
    return true;
}

bool el_state_commit(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_state_inputs_t *inputs)
{
    uint64_t improved_nsec = el_counters_total(inputs->counters, EL_COUNT_IMPROVED_NSEC);
    uint64_t encoded = el_tally_encoded(inputs->tally);
    el_control_state_t control;
    el_observation_t observed;
    el_sample_t sample;
    uint64_t word;
    bool determined;

    if (!block_begin(state, claim, &word)) {
        return false;
    }
    /* Zeros, which determine no load, if there is no last sample. */
    el_snapshot_read(state->last, &state->last_checksum, &sample, sizeof(sample));
    control = el_control_unpack(word);
    observed = (el_observation_t){
        .seconds = el_reading_usec(&sample.reading, inputs->reading) / 1e6,
        .cpus = inputs->signals->cpus,
    };
    determined = block_read_busy(&sample, improved_nsec, inputs, &observed.busy);
    if (determined) {
        control = el_control_next(config, &observed, &sample.memory, control);
    }
    if (!block_move(state, word, control)) {
        return false;
    }
    if (determined) {
        double slots = fmax(1, observed.seconds * 1e6 / SLOT);
        double mean = fmax(0, (double)encoded - (double)sample.encoded) / slots;
        double surge = fmin(ARRIVAL_MASK, ceil(el_price_surge(mean, observed.busy)));

        atomic_store(&state->surge, el_control_is_priced(config) ? (uint32_t)surge : 0);
    }
    sample.reading = *inputs->reading;
    sample.encoded = encoded;
    sample.improved_nsec = improved_nsec;
    el_snapshot_write(state->last, &state->last_checksum, &sample, sizeof(sample));
    if (!determined) {
        return false;
    }
    atomic_store(&state->price,
                 el_control_is_priced(config)
                     ? (uint64_t)(el_control_price(config, &sample.memory) * EL_PPM + 0.5)
                     : EL_STATE_NO_PRICE);
    /* Stored last: a reader that sees this load sees its position and price. */
    atomic_store(&state->load_ppm, (uint64_t)(observed.busy * EL_PPM + 0.5));
    atomic_fetch_add(&state->samples, 1);
    return true;
}

void el_state_follow(el_state_t *state, uint64_t claim, const el_control_config_t *config,
                     const el_position_t *position)
{
    uint64_t word;

    if (!block_begin(state, claim, &word)
        || !block_move(state, word, el_position_scale(position->control, config->top))) {
        return;
    }
    /* The last sample of this controller is too old now. */
    atomic_store(&state->last_checksum, 0);
    atomic_store(&state->price, EL_STATE_NO_PRICE);
    atomic_store(&state->surge, 0);
    if (position->load_ppm != EL_POSITION_NO_LOAD) {
        atomic_store(&state->load_ppm, position->load_ppm);
    }
    atomic_fetch_add(&state->samples, 1);
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

_Atomic uint32_t *el_cache_state_changes(el_cache_state_t *state, const el_name_t *name)
{
    uint32_t hash;

    memcpy(&hash, name->hash, sizeof(hash));
    return &state->changes[(hash ^ name->coding) % EL_CACHE_CHANGES];
}

/* Seconds between two logged faults. */
#define QUIET 60

bool el_cache_state_may_complain(el_cache_state_t *state, uint32_t now)
{
    uint32_t last = atomic_load(&state->complained);

    /* 0 means never logged, so a clock of 0 is stored as 1. */
    return (last == 0 || now - last >= QUIET)
           && atomic_compare_exchange_strong(&state->complained, &last, now > 0 ? now : 1);
}

void el_block_init(el_block_t *block, el_control_state_t control, uint64_t now)
{
    el_block_reset(block, control, now);
    block->version = EL_BLOCK_VERSION;
    block->size = sizeof(*block);
    block->magic = EL_BLOCK_MAGIC;
}

bool el_block_valid(const el_block_t *block)
{
    return block->magic == EL_BLOCK_MAGIC && block->version == EL_BLOCK_VERSION
           && block->size == sizeof(*block);
}

/* Word by word: children from before a restart may still count. */
static void block_clear(void *part, size_t nbytes)
{
    _Atomic uint64_t *word = part;

    for (size_t i = 0; i < nbytes / sizeof(*word); i++) {
        atomic_store_explicit(&word[i], 0, memory_order_relaxed);
    }
}

/* Clears a part that consists of words only. */
#define CLEAR(part) block_clear(&(part), sizeof(part))

/*
 * Keeps the generation, so that children of the old one do not control, the owners of the slots of
 * virtual hosts, and the memory that bodies hold.
 */
void el_block_reset(el_block_t *block, el_control_state_t control, uint64_t now)
{
    el_state_t *state = &block->state;
    uint64_t word;

    /* First, so that earlier claims become invalid. */
    atomic_store(&state->next_sample, now);
    word = atomic_load(&state->position);
    while (!atomic_compare_exchange_weak(&state->position, &word, block_next_word(word, control))) {
    }
    atomic_store(&state->load_ppm, EL_STATE_NO_LOAD);
    atomic_store(&state->price, EL_STATE_NO_PRICE);
    atomic_store(&state->surge, 0);
    atomic_store(&state->samples, 0);
    atomic_store(&state->steps, 0);
    atomic_store(&state->sampling_failed, 0);
    atomic_store(&state->source, EL_SOURCE_UNKNOWN);
    atomic_store(&state->last_checksum, 0);
    CLEAR(block->history); /* before the counters: history totals never exceed them */
    atomic_store(&block->counters.started, now);
    atomic_store(&block->counters.cpu_usec, 0);
    CLEAR(block->counters.stripe);
    CLEAR(block->costs);
    CLEAR(block->shares);
    CLEAR(block->popular);
    atomic_store(&block->improve_at, 0);
    el_doorkeeper_reset(&block->cache.doorkeeper);
    el_sketch_reset(&block->cache.sketch);
    atomic_store(&block->cache.calls.word, 0);
    atomic_store(&block->cache.puts.word, 0);
    atomic_store(&block->cache.written, 0);
    atomic_store(&block->cache.complained, 0);
    CLEAR(block->tally);
    CLEAR(block->precompressed);
    CLEAR(block->vhosts.stripe);
}
