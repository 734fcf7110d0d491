/* Effects of samples on the position in the shared block. */
#include "block.h"
#include "elastic/control.h"
#include "suites.h"

CASE(block_control, .set_up = block_setup, .tear_down = block_teardown);

static void assert_counts(uint64_t samples, uint64_t steps, uint64_t load_ppm)
{
    ck_assert_uint_eq(atomic_load(&state->samples), samples);
    ck_assert_uint_eq(atomic_load(&state->steps), steps);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), load_ppm);
}

TEST(block_control, the_first_sample_only_begins)
{
    ck_assert(!block_tick(block_adopt(&block_config), 1, &block_config, 100));
    block_assert_control(5, TOP, false);
    assert_counts(0, 0, EL_STATE_NO_LOAD);
    ck_assert_uint_eq(block_last()->reading.stat.cpu[0].busy, block_reading.stat.cpu[0].busy);
}

TEST(block_control, samples_move_the_position)
{
    static const struct {
        unsigned busy, position, steps;
    } ticks[] = {{90, 4, 1}, {60, 4, 1}, {10, 5, 2}};
    uint64_t generation = block_adopt(&block_config);

    block_tick(generation, 1, &block_config, 0);
    for (unsigned i = 0; i < ROWS(ticks); i++) {
        ck_assert(block_tick(generation, 2 + i, &block_config, ticks[i].busy));
        block_assert_control(ticks[i].position, TOP, false);
        assert_counts(i + 1, ticks[i].steps, ticks[i].busy * 10000);
    }
}

/* Improving runs at idle priority. */
TEST(block_control, what_improving_takes_is_no_load)
{
    static const struct {
        uint64_t improved_nsec;
        unsigned busy;
        uint64_t load_ppm;
    } ticks[] = {{300000000, 90, 600000}, {0, 60, 600000}, {1000000000, 20, 0}};
    uint64_t generation = block_adopt(&block_config);

    block_tick(generation, 1, &block_config, 0);
    for (unsigned i = 0; i < ROWS(ticks); i++) {
        block_assert_control(5, TOP, false);
        el_counters_add(&block->counters, 3, EL_COUNT_IMPROVED_NSEC, ticks[i].improved_nsec);
        ck_assert(block_tick(generation, 2 + i, &block_config, ticks[i].busy));
        ck_assert_uint_eq(atomic_load(&state->load_ppm), ticks[i].load_ppm);
    }
}

TEST(block_control, a_bypass_is_no_step)
{
    el_control_config_t shedding = block_config;
    uint64_t generation;

    shedding.bypass = 0.875;
    el_block_reset(block, (el_control_state_t){0, TOP, false, 0}, START);
    generation = block_adopt(&shedding);
    block_tick(generation, 1, &shedding, 0);
    ck_assert(block_tick(generation, 2, &shedding, 100));
    block_assert_control(0, TOP, true);
    assert_counts(1, 0, 1000000);
}

/* Only CPU 0 is busy. */
TEST(block_control, no_tick_and_other_cpus_move_nothing)
{
    uint64_t generation = block_adopt(&block_config);
    el_cpuset_t elsewhere = {{2}};

    block_tick(generation, 1, &block_config, 100);
    ck_assert(!block_commit(block_claim(generation, 2), &block_config, NULL, &block_reading));
    ck_assert(!block_commit(block_claim(generation, 3), &block_config, &elsewhere,
                            block_sample(100)));
    block_assert_control(5, TOP, false);
    assert_counts(0, 0, EL_STATE_NO_LOAD);
}

TEST(block_control, a_change_of_the_fraction_is_a_step)
{
    static const struct {
        unsigned busy, steps;
    } ticks[] = {{0, 0}, {75, 1}, {75, 2}, {63, 2}};
    el_control_config_t mix = block_config;
    uint64_t generation;

    mix.mode = EL_CONTROL_MIX;
    generation = block_adopt(&mix);
    for (unsigned i = 0; i < ROWS(ticks); i++) {
        block_tick(generation, 2 + 2 * i, &mix, ticks[i].busy);
        ck_assert_uint_eq(atomic_load(&state->steps), ticks[i].steps);
        /* The controller's memory is in the block, too. */
        ck_assert((block_last()->memory.error != 0) == (ticks[i].busy == 75));
    }
    ck_assert_uint_eq(el_state_control(state).position, 4);
    ck_assert_uint_gt(el_state_control(state).fraction, 0);
}

/* The block's price in ns. */
static double price(void)
{
    return (double)atomic_load(&state->price) / EL_PPM;
}

/* Follows a position of elasticd. */
static void follow(uint64_t claim, const el_control_config_t *config, el_control_state_t control,
                   uint32_t load_ppm)
{
    el_position_t position = {.control = control, .load_ppm = load_ppm, .interval_msec = 500};

    el_state_follow(state, claim, config, &position);
}

TEST(block_control, a_price_is_in_the_block_while_the_goal_sets_it)
{
    el_control_config_t timed = block_config;
    uint64_t generation;

    timed.goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = 5e6};
    generation = block_adopt(&timed);
    block_tick(generation, 1, &timed, 50);
    block_tick(generation, 2, &timed, 50);
    ck_assert_double_eq_tol(price(), 400, 0.01);
    block_tick(generation, 3, &block_config, 50);
    ck_assert_uint_eq(atomic_load(&state->price), EL_STATE_NO_PRICE);
    block_tick(generation, 4, &timed, 50);
    ck_assert_double_eq_tol(price(), 400, 0.01);
    follow(block_claim(generation, 5), &timed, (el_control_state_t){3, 6, false, 0}, 700000);
    ck_assert_uint_eq(atomic_load(&state->price), EL_STATE_NO_PRICE);
}

TEST(block_control, a_published_position_is_followed)
{
    uint64_t generation = block_adopt(&block_config), claim;

    /* 3.5 of 6 is 4 2/3 of 8. */
    follow(block_claim(generation, 1), &block_config, (el_control_state_t){3, 6, false, 32768},
           700000);
    block_assert_control(4, TOP, false);
    ck_assert_uint_eq(el_state_control(state).fraction, 43691);
    assert_counts(1, 1, 700000);

    claim = block_claim(generation, 2);
    follow(claim, &block_config, (el_control_state_t){3, 6, true, 32768}, EL_POSITION_NO_LOAD);
    ck_assert(el_state_control(state).bypass);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 700000);

    /* Too late: another sample was claimed. */
    follow(claim - 1, &block_config, (el_control_state_t){0, 6, true, 32768}, 700000);
    block_assert_control(4, TOP, true);
}

TEST(block_control, its_own_controller_begins_anew_after_following)
{
    uint64_t generation = block_adopt(&block_config);

    block_tick(generation, 1, &block_config, 60);
    follow(block_claim(generation, 2), &block_config, (el_control_state_t){4, 8, false, 0}, 700000);
    /* The mean load since the last own sample is not that of an interval. */
    ck_assert(!block_tick(generation, 100, &block_config, 100));
    block_assert_control(4, TOP, false);
    ck_assert(block_tick(generation, 101, &block_config, 100));
    block_assert_control(3, TOP, false);
}
