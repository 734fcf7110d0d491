/* What samples make of the position in the shared block. */
#include "block.h"

#include "elastic/position.h"
#include "suites.h"

/* What elasticd publishes. */
static el_position_t published(unsigned position, unsigned top, uint16_t fraction, uint32_t load)
{
    return (el_position_t){
        .control = {position, top, false, fraction}, .load_ppm = load, .interval_msec = 500,
    };
}

CASE(block_control, .set_up = block_setup, .tear_down = block_teardown);

TEST(block_control, the_first_sample_only_begins)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);

    ck_assert(!block_tick(generation, START + INTERVAL, &block_config, 100));
    block_assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(block_last()->reading.stat.cpu[0].busy, block_reading.stat.cpu[0].busy);
}

TEST(block_control, samples_move_the_position)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    uint64_t now = START + INTERVAL;

    block_tick(generation, now, &block_config, 0);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 90));
    block_assert_control(4, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 900000);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 60));
    block_assert_control(4, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 10));
    block_assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
    ck_assert_uint_eq(atomic_load(&state->samples), 3);
}

/* It gives way to everything else. */
TEST(block_control, what_improving_takes_is_no_load)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    uint64_t now = START + INTERVAL;

    block_tick(generation, now, &block_config, 0);
    el_counters_add(&block->counters, 3, EL_COUNT_IMPROVED_NSEC, 300000000);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 90));
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
    block_assert_control(5, TOP, false);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 60));
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
    el_counters_add(&block->counters, 3, EL_COUNT_IMPROVED_NSEC, 1000000000);
    ck_assert(block_tick(generation, now += INTERVAL, &block_config, 20));
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 0);
}

TEST(block_control, a_bypass_is_no_step)
{
    el_control_config_t shedding = block_config;
    uint64_t generation;

    shedding.bypass = 0.875;
    el_block_reset(block, (el_control_state_t){0, TOP, false, 0}, START);
    generation = el_state_adopt(state, &shedding, START, INTERVAL);
    block_tick(generation, START + INTERVAL, &shedding, 0);
    ck_assert(block_tick(generation, START + 2 * INTERVAL, &shedding, 100));
    block_assert_control(0, TOP, true);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
}

TEST(block_control, no_tick_moves_nothing)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    uint64_t claim;

    block_tick(generation, START + INTERVAL, &block_config, 100);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    ck_assert(!block_commit(claim, &block_config, NULL, &block_reading));
    block_assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
}

TEST(block_control, only_cpus_of_the_mask_move_it)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    el_cpuset_t elsewhere = {{2}};
    uint64_t claim;

    block_tick(generation, START + INTERVAL, &block_config, 100);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    ck_assert(!block_commit(claim, &block_config, &elsewhere, block_sample(100)));
    block_assert_control(5, TOP, false);
}

TEST(block_control, a_change_of_the_fraction_is_a_step)
{
    el_control_config_t mix = block_config;
    uint64_t generation;

    mix.mode = EL_CONTROL_MIX;
    generation = el_state_adopt(state, &mix, START, INTERVAL);
    block_tick(generation, START + 2 * INTERVAL, &mix, 0);
    block_tick(generation, START + 4 * INTERVAL, &mix, 75);
    block_tick(generation, START + 6 * INTERVAL, &mix, 75);
    ck_assert_uint_eq(el_state_control(state).position, 4);
    ck_assert_uint_gt(el_state_control(state).fraction, 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
    block_tick(generation, START + 8 * INTERVAL, &mix, 63);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
}

TEST(block_control, the_controllers_memory_is_in_the_block)
{
    el_control_config_t mix = block_config;
    uint64_t generation;
    el_control_state_t first;

    mix.mode = EL_CONTROL_MIX;
    generation = el_state_adopt(state, &mix, START, INTERVAL);
    block_tick(generation, START + 2 * INTERVAL, &mix, 0);
    block_tick(generation, START + 4 * INTERVAL, &mix, 90);
    ck_assert_double_ne(block_last()->memory.error, 0);
    first = el_state_control(state);
    el_block_reset(block, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert_double_eq(block_last()->memory.error, 0);
    block_tick(generation, START + 2 * INTERVAL, &mix, 90);
    block_tick(generation, START + 4 * INTERVAL, &mix, 90);
    ck_assert_uint_eq(el_state_control(state).position, first.position);
    ck_assert_uint_eq(el_state_control(state).fraction, first.fraction);
}

/* The price in the block, ns. */
static double price(void)
{
    return (double)atomic_load(&state->price) / EL_PPM;
}

TEST(block_control, a_price_is_in_the_block_while_the_goal_sets_it)
{
    el_control_config_t timed = block_config;
    el_position_t position = published(3, 6, 0, 700000);
    uint64_t generation, claim;

    timed.goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = 5e6};
    generation = el_state_adopt(state, &timed, START, INTERVAL);
    block_tick(generation, START + INTERVAL, &timed, 50);
    block_tick(generation, START + 2 * INTERVAL, &timed, 50);
    ck_assert_double_eq_tol(price(), 400, 0.01);
    block_tick(generation, START + 3 * INTERVAL, &block_config, 50);
    ck_assert_uint_eq(atomic_load(&state->price), EL_STATE_NO_PRICE);
    block_tick(generation, START + 4 * INTERVAL, &timed, 50);
    ck_assert_double_eq_tol(price(), 400, 0.01);
    ck_assert(el_state_claim(state, generation, START + 5 * INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &timed, &position);
    ck_assert_uint_eq(atomic_load(&state->price), EL_STATE_NO_PRICE);
}

TEST(block_control, a_published_position_is_followed)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    el_position_t position = published(3, 6, 32768, 700000);
    uint64_t claim;

    ck_assert(el_state_claim(state, generation, START + INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &block_config, &position);
    /* 3.5 of 6 are 4 2/3 of 8. */
    block_assert_control(4, TOP, false);
    ck_assert_uint_eq(el_state_control(state).fraction, 43691);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 700000);
    ck_assert_uint_eq(atomic_load(&state->samples), 1);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);

    position.control.bypass = true;
    position.load_ppm = EL_POSITION_NO_LOAD;
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &block_config, &position);
    ck_assert(el_state_control(state).bypass);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 700000);

    /* Too late: another one has sampled since. */
    position.control.position = 0;
    el_state_follow(state, claim - 1, &block_config, &position);
    block_assert_control(4, TOP, true);
}

TEST(block_control, its_own_controller_begins_anew_after_following)
{
    uint64_t generation = el_state_adopt(state, &block_config, START, INTERVAL);
    el_position_t position = published(4, 8, 0, 700000);
    uint64_t claim;

    block_tick(generation, START + INTERVAL, &block_config, 60);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &block_config, &position);
    /* Whatever the load was on average since then, it is not that of an interval. */
    ck_assert(!block_tick(generation, START + 100 * INTERVAL, &block_config, 100));
    block_assert_control(4, TOP, false);
    ck_assert(block_tick(generation, START + 101 * INTERVAL, &block_config, 100));
    block_assert_control(3, TOP, false);
}
