/* for MAP_ANONYMOUS, which C11 alone does not declare */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#include "block.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>

const el_control_config_t block_config = {EL_CONTROL_STEP, 0.5, 0.75, 2.0, TOP, {0}};
el_block_t *block;
el_state_t *state;
el_reading_t block_reading;

static uint64_t ticks_busy, ticks_idle;

void block_setup(void)
{
    block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(block != MAP_FAILED);
    state = &block->state;
    el_block_init(block, (el_control_state_t){5, TOP, false, 0}, START);
    ticks_busy = ticks_idle = 1000;
}

void block_teardown(void)
{
    munmap(block, sizeof(*block));
}

const el_reading_t *block_sample(unsigned busy)
{
    el_reading_t *reading = &block_reading;

    ticks_busy += busy;
    ticks_idle += 100 - busy;
    memset(reading, 0, sizeof(*reading));
    reading->has_stat = true;
    reading->at_usec = (ticks_busy + ticks_idle) * 10000;
    reading->stat.count = 1;
    reading->stat.present.bits[0] = 1;
    reading->stat.cpu[0].busy = ticks_busy;
    reading->stat.cpu[0].idle = ticks_idle;
    return reading;
}

bool block_commit(uint64_t claim, const el_control_config_t *c, const el_cpuset_t *mask,
                  const el_reading_t *reading)
{
    static const el_load_signals_t signals = {.cpus = 1}; /* /proc/stat, one CPU */
    el_state_inputs_t inputs = {.signals = &signals, .mask = mask, .reading = reading,
                                .counters = &block->counters, .tally = &block->tally};

    return el_state_commit(state, claim, c, &inputs);
}

const el_sample_t *block_last(void)
{
    static el_sample_t sample;

    el_snapshot_read(state->last, &state->last_checksum, &sample, sizeof(sample));
    return &sample;
}

uint64_t block_adopt(const el_control_config_t *c)
{
    return el_state_adopt(state, c, START, INTERVAL);
}

uint64_t block_claim(uint64_t generation, unsigned n)
{
    uint64_t claim;

    ck_assert(el_state_claim(state, generation, START + n * INTERVAL, INTERVAL, &claim));
    return claim;
}

bool block_tick(uint64_t generation, unsigned n, const el_control_config_t *c, unsigned busy)
{
    return block_commit(block_claim(generation, n), c, NULL, block_sample(busy));
}

void block_assert_control(unsigned position, unsigned top, bool bypass)
{
    el_control_state_t c = el_state_control(state);

    ck_assert_uint_eq(c.position, position);
    ck_assert_uint_eq(c.top, top);
    ck_assert(c.bypass == bypass);
}
