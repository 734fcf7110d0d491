/* A shared block for the tests of block.h and counters.h, and samples for it. */
#ifndef ELASTIC_TESTS_BLOCK_H
#define ELASTIC_TESTS_BLOCK_H

#include "elastic/block.h"

#define START UINT64_C(5000000)
#define INTERVAL UINT64_C(500000)
#define TOP 8

extern const el_control_config_t block_config; /* step, thresholds of 50 and 75 % */
extern el_block_t *block;                   /* starts at position 5 of TOP, at START */
extern el_state_t *state;                   /* block->state */
extern el_reading_t block_reading;          /* the last reading of block_sample() */

/* A checked fixture. A test's child processes share `block`. */
void block_setup(void);
void block_teardown(void);

/* The next reading: 100 more ticks, a second of one CPU, of which `busy` were busy. */
const el_reading_t *block_sample(unsigned busy);

/* el_state_commit() of a reading, by the CPUs of `mask`; NULL: all. */
bool block_commit(uint64_t claim, const el_control_config_t *c, const el_cpuset_t *mask,
                  const el_reading_t *reading);

/* The block's last sample; zeros if there is none. Static. */
const el_sample_t *block_last(void);

/* el_state_adopt() at START; el_state_claim() at START + n intervals, which must succeed. */
uint64_t block_adopt(const el_control_config_t *c);
uint64_t block_claim(uint64_t generation, unsigned n);

/* Claims and commits at START + n intervals; returns whether the load was determined. */
bool block_tick(uint64_t generation, unsigned n, const el_control_config_t *c, unsigned busy);

void block_assert_control(unsigned position, unsigned top, bool bypass);

#endif
