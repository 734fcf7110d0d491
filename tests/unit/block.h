/* A shared block for the tests of block.h and counters.h, and the samples that move it. */
#ifndef ELASTIC_TESTS_BLOCK_H
#define ELASTIC_TESTS_BLOCK_H

#include "elastic/block.h"

#define START UINT64_C(5000000)
#define INTERVAL UINT64_C(500000)
#define TOP 8

extern const el_control_config_t block_config; /* step, between 50 and 75 % */
extern el_block_t *block;                   /* at position 5 of TOP since START */
extern el_state_t *state;                   /* its part */
extern el_reading_t block_reading;          /* the last that block_sample() gave */

/* A checked fixture: `block` is shared with the children of a test. */
void block_setup(void);
void block_teardown(void);

/* The next sample: of 100 ticks more, which are a second of one CPU, `busy` were busy. */
const el_reading_t *block_sample(unsigned busy);

/* el_state_commit() of a reading, by the CPUs of `mask`; all where it is NULL. */
bool block_commit(uint64_t claim, const el_control_config_t *c, const el_cpuset_t *mask,
                  const el_reading_t *reading);

/* The last sample that the block has, zeros where it has none; static. */
const el_sample_t *block_last(void);

/* el_state_adopt() at START; el_state_claim() at START + n intervals, which has to win. */
uint64_t block_adopt(const el_control_config_t *c);
uint64_t block_claim(uint64_t generation, unsigned n);

/* One whole tick at START + n intervals: whether it told something. */
bool block_tick(uint64_t generation, unsigned n, const el_control_config_t *c, unsigned busy);

void block_assert_control(unsigned position, unsigned top, bool bypass);

#endif
