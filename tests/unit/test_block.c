/* The shared block: layout, reset, and once-only notes. */
#include "block.h"
#include "suites.h"

CASE(block, .set_up = block_setup, .tear_down = block_teardown);

static void assert_empty(uint64_t started)
{
    ck_assert(el_block_valid(block));
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(atomic_load(&block->counters.started), started);
    ck_assert(atomic_load(&state->samples) == 0 && atomic_load(&state->steps) == 0);
    for (int c = 0; c < EL_COUNT_TOTAL; c++) {
        ck_assert_uint_eq(el_counters_total(&block->counters, (el_counter_t)c), 0);
    }
}

TEST(block, a_new_block_is_valid_and_empty)
{
    assert_empty(START);
    block_assert_control(5, TOP, false);
    ck_assert(atomic_is_lock_free(&state->position));
}

static const size_t marks[] = {offsetof(el_block_t, magic), offsetof(el_block_t, version),
                               offsetof(el_block_t, size)};

EACH(block, another_layout_is_not_valid, marks)
{
    ++*((unsigned char *)block + *row);
    ck_assert(!el_block_valid(block));
    memset(block, 0, sizeof(*block));
    ck_assert(!el_block_valid(block));
}

static const el_control_state_t words[] = {
    {0, 0, false, 0},      {0, 0, true, 0},  {8, 8, false, 0},    {0, 18, true, 0},
    {18, 65535, false, 0}, {7, 8, false, 1}, {7, 8, true, 65535}, {65534, 65535, true, 65535},
};
EACH(block, a_position_is_read_as_it_was_written, words)
{
    el_block_reset(block, *row, START);
    block_assert_control(row->position, row->top, row->bypass);
    ck_assert_uint_eq(el_state_control(state).fraction, row->fraction);
}

TEST(block, a_restart_begins_anew)
{
    uint64_t generation = block_adopt(&block_config), claim;

    block_tick(generation, 1, &block_config, 0);
    block_tick(generation, 2, &block_config, 90);
    el_state_note_sampling(state, true);
    atomic_store(&block->cache.written, 7);
    claim = block_claim(generation, 3);
    el_block_reset(block, (el_control_state_t){2, 3, true, 0}, START + 9);

    assert_empty(START + 9);
    block_assert_control(2, 3, true);
    ck_assert_uint_eq(atomic_load(&state->next_sample), START + 9);
    ck_assert_uint_eq(atomic_load(&block->cache.written), 0);
    ck_assert_uint_eq(block_last()->reading.stat.count, 0);
    ck_assert(el_state_note_sampling(state, true));
    ck_assert(!block_commit(claim, &block_config, NULL, block_sample(100)));
    ck_assert_uint_ne(block_adopt(&block_config), generation);
}

/* Parts that a restart clears. Names of hosts and memory held stay. */
#define PART(of) offsetof(el_block_t, of), sizeof(((el_block_t *)0)->of)

static const struct {
    size_t at, nbytes;
    bool forgotten;
} parts[] = {
    {PART(counters.cpu_usec), true}, {PART(counters.stripe), true}, {PART(costs), true},
    {PART(shares), true},            {PART(popular), true},         {PART(history), true},
    {PART(tally), true},             {PART(vhosts.stripe), true},   {PART(vhosts.name), false},
    {PART(held), false},
};
EACH(block, a_restart_forgets_what_was_counted_and_measured, parts)
{
    unsigned char *part = (unsigned char *)block + row->at;
    bool zeros;

    memset(part, 1, row->nbytes);
    el_block_reset(block, (el_control_state_t){2, 3, true, 0}, START);
    zeros = part[0] == 0 && memcmp(part, part + 1, row->nbytes - 1) == 0;
    ck_assert(zeros == row->forgotten);
}

TEST(block, a_failure_to_sample_and_another_source_are_told_once)
{
    ck_assert(!el_state_note_sampling(state, false));
    ck_assert(el_state_note_sampling(state, true));
    ck_assert_uint_eq(atomic_load(&state->sampling_failed), 1);
    ck_assert(!el_state_note_sampling(state, true));
    ck_assert(el_state_note_sampling(state, false) && !el_state_note_sampling(state, false));

    ck_assert(el_state_note_source(state, EL_SOURCE_OWN));
    ck_assert(!el_state_note_source(state, EL_SOURCE_OWN));
    ck_assert(el_state_note_source(state, EL_SOURCE_FILE));
    ck_assert(!el_state_note_source(state, EL_SOURCE_FILE));
    el_block_reset(block, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert(el_state_note_source(state, EL_SOURCE_FILE));
}

TEST(block, the_store_complains_once_a_minute)
{
    static const struct {
        uint32_t at;
        bool may;
    } times[] = {{0, true}, {30, false}, {59, false}, {61, true}, {120, false}, {121, true}};

    for (int i = 0; i < ROWS(times); i++) {
        ck_assert(el_cache_state_may_complain(&block->cache, times[i].at) == times[i].may);
    }
}

TEST(block, counters_add_up_over_all_lanes)
{
    for (unsigned lane = 0; lane < 3 * EL_COUNTER_STRIPES; lane++) {
        el_counters_add(&block->counters, lane, EL_COUNT_BYTES_OUT, lane);
    }
    el_counters_add(&block->counters, UINT32_MAX, EL_COUNT_BYTES_OUT, UINT64_C(1) << 40);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_BYTES_OUT),
                      (UINT64_C(1) << 40) + 96 * 95 / 2);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_BYTES_IN), 0);
}
