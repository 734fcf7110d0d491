/* The shared block itself: its layout, its counters, what a reload and a restart leave of it. */
#include "block.h"
#include "suites.h"

CASE(block, .set_up = block_setup, .tear_down = block_teardown);

TEST(block, a_new_block_is_valid_and_empty)
{
    ck_assert(el_block_valid(block));
    block_assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(atomic_load(&block->counters.started), START);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
    for (int c = 0; c < EL_COUNT_TOTAL; c++) {
        ck_assert_uint_eq(el_counters_total(&block->counters, (el_counter_t)c), 0);
    }
}

TEST(block, another_layout_is_not_valid)
{
    block->version++;
    ck_assert(!el_block_valid(block));
    block->version--;
    block->size++;
    ck_assert(!el_block_valid(block));
    block->size--;
    block->magic++;
    ck_assert(!el_block_valid(block));
    memset(block, 0, sizeof(*block));
    ck_assert(!el_block_valid(block));
}

TEST(block, stripes_share_no_cache_line)
{
    ck_assert_uint_eq(sizeof(el_stripe_t) % 64, 0);
    ck_assert_uint_eq((uintptr_t)&block->counters.stripe[1] % 64, 0);
    ck_assert(atomic_is_lock_free(&state->position));
}

static const el_control_state_t words[] = {
    {0, 0, false, 0},     {0, 0, true, 0},      {8, 8, false, 0},         {8, 8, true, 0},
    {0, 18, true, 0},     {18, 65535, false, 0}, {7, 8, false, 1},        {7, 8, true, 65535},
    {65534, 65535, true, 65535},
};

EACH(block, a_position_is_read_as_it_was_written, words)
{
    el_block_reset(block, *row, START);
    block_assert_control(row->position, row->top, row->bypass);
    ck_assert_uint_eq(el_state_control(state).fraction, row->fraction);
}

TEST(block, a_reload_keeps_what_fits)
{
    el_control_config_t wide = block_config;

    wide.top = 11;
    el_counters_add(&block->counters, 0, EL_COUNT_COMPRESSED, 7);
    el_state_adopt(state, &wide, START, INTERVAL);
    block_assert_control(5, 11, false);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_COMPRESSED), 7);
}

TEST(block, a_restart_begins_anew)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    uint64_t claim;

    block_tick(generation, START + INTERVAL, &block_config, 0);
    block_tick(generation, START + 2 * INTERVAL, &block_config, 90);
    el_state_note_sampling(state, true);
    atomic_store(&block->cache.written, 7);
    for (unsigned i = 0; i < EL_COUNTER_STRIPES * EL_COUNT_TOTAL; i++) {
        el_counters_add(&block->counters, i / EL_COUNT_TOTAL, (el_counter_t)(i % EL_COUNT_TOTAL), 1);
    }
    ck_assert(el_state_claim(state, generation, START + 3 * INTERVAL, INTERVAL, &claim));
    el_block_reset(block, (el_control_state_t){2, 3, true, 0}, START + 9);

    ck_assert(el_block_valid(block));
    block_assert_control(2, 3, true);
    for (int c = 0; c < EL_COUNT_TOTAL; c++) {
        ck_assert_uint_eq(el_counters_total(&block->counters, (el_counter_t)c), 0);
    }
    ck_assert_uint_eq(atomic_load(&state->next_sample), START + 9);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
    ck_assert_uint_eq(atomic_load(&block->cache.written), 0);
    ck_assert_uint_eq(atomic_load(&block->counters.started), START + 9);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(block_last()->reading.stat.count, 0);
    ck_assert(el_state_note_sampling(state, true));
    ck_assert(!block_commit(claim, &block_config, NULL, block_sample(100)));
    ck_assert_uint_ne(el_state_adopt(state, &block_config, START, INTERVAL), generation);
}

static bool is_zero(const void *part, size_t nbytes)
{
    const char *bytes = part;

    return bytes[0] == 0 && memcmp(bytes, bytes + 1, nbytes - 1) == 0;
}

TEST(block, a_restart_forgets_what_was_counted_and_measured)
{
    memset(&block->counters, 1, sizeof(block->counters));
    memset(&block->costs, 1, sizeof(block->costs));
    memset(&block->shares, 1, sizeof(block->shares));
    memset(&block->popular, 1, sizeof(block->popular));
    memset(&block->history, 1, sizeof(block->history));
    memset(&block->tally, 1, sizeof(block->tally));
    memset(&block->vhosts, 1, sizeof(block->vhosts));
    memset(&block->held, 1, sizeof(block->held));
    el_block_reset(block, (el_control_state_t){2, 3, true, 0}, START);

    ck_assert(is_zero(&block->counters.cpu_usec, sizeof(block->counters.cpu_usec)));
    ck_assert(is_zero(block->counters.stripe, sizeof(block->counters.stripe)));
    ck_assert(is_zero(&block->costs, sizeof(block->costs)));
    ck_assert(is_zero(&block->shares, sizeof(block->shares)));
    ck_assert(is_zero(&block->popular, sizeof(block->popular)));
    ck_assert(is_zero(&block->history, sizeof(block->history)));
    ck_assert(is_zero(&block->tally, sizeof(block->tally)));
    ck_assert(is_zero(block->vhosts.stripe, sizeof(block->vhosts.stripe)));
    ck_assert(!is_zero(block->vhosts.name, sizeof(block->vhosts.name)));
    ck_assert(!is_zero(&block->held, sizeof(block->held)));
}

TEST(block, a_failure_to_sample_is_reported_once)
{
    ck_assert(!el_state_note_sampling(state, false));
    ck_assert(el_state_note_sampling(state, true));
    ck_assert_uint_eq(atomic_load(&state->sampling_failed), 1);
    ck_assert(!el_state_note_sampling(state, true));
    ck_assert(el_state_note_sampling(state, false));
    ck_assert(!el_state_note_sampling(state, false));
}

TEST(block, a_change_of_the_source_is_reported_once)
{
    ck_assert(el_state_note_source(state, EL_SOURCE_OWN));
    ck_assert(!el_state_note_source(state, EL_SOURCE_OWN));
    ck_assert(el_state_note_source(state, EL_SOURCE_FILE));
    ck_assert(!el_state_note_source(state, EL_SOURCE_FILE));
    el_block_reset(block, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert(el_state_note_source(state, EL_SOURCE_FILE));
}

TEST(block, counters_add_up_over_all_lanes)
{
    for (unsigned lane = 0; lane < 3 * EL_COUNTER_STRIPES; lane++) {
        el_counters_add(&block->counters, lane, EL_COUNT_BYTES_OUT, lane);
    }
    el_counters_add(&block->counters, UINT32_MAX, EL_COUNT_BYTES_OUT, UINT64_C(1) << 40);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_BYTES_OUT),
                      (UINT64_C(1) << 40) + 96 * 95 / 2);
    ck_assert_uint_eq(atomic_load(&block->counters.stripe[1].count[EL_COUNT_BYTES_OUT]), 1 + 33 + 65);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_BYTES_IN), 0);
}

TEST(block, each_reason_has_a_counter)
{
    el_counters_add(&block->counters, 0, EL_COUNT_SKIPPED + EL_REASON_ERROR, 3);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_TOTAL - 1), 3);
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_SKIPPED + EL_REASON_SMALL), 0);
}

TEST(block, the_store_complains_once_a_minute)
{
    ck_assert(el_cache_state_may_complain(&block->cache, 0));
    ck_assert(!el_cache_state_may_complain(&block->cache, 30));
    ck_assert(!el_cache_state_may_complain(&block->cache, 59));
    ck_assert(el_cache_state_may_complain(&block->cache, 61));
    ck_assert(!el_cache_state_may_complain(&block->cache, 120));
    ck_assert(el_cache_state_may_complain(&block->cache, 121));
}
