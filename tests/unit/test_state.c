/* MAP_ANONYMOUS, which C11 alone does not show. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#include "elastic/state.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define START UINT64_C(5000000)
#define INTERVAL UINT64_C(500000)
#define TOP 8

static const el_control_config_t config = {EL_CONTROL_STEP, 0.5, 0.75, 2.0, TOP, {0}};

static el_state_t *state;
static el_reading_t sample;

static const el_load_plan_t plan = {.stat = true, .cpus = 1};
static uint64_t ticks_busy, ticks_idle;

static void setup(void)
{
    state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(state != MAP_FAILED);
    el_state_init(state, (el_control_state_t){5, TOP, false, 0}, START);
    ticks_busy = ticks_idle = 1000;
}

static void teardown(void)
{
    munmap(state, sizeof(*state));
}

/* The next sample: of 100 ticks more, `busy` were busy. */
static const el_reading_t *sample_of(unsigned busy)
{
    ticks_busy += busy;
    ticks_idle += 100 - busy;
    memset(&sample, 0, sizeof(sample));
    sample.has_stat = true;
    sample.at_usec = (ticks_busy + ticks_idle) * 10000;
    sample.stat.count = 1;
    sample.stat.present.bits[0] = 1;
    sample.stat.cpu[0].busy = ticks_busy;
    sample.stat.cpu[0].idle = ticks_idle;
    return &sample;
}

static bool commit(uint64_t claim, const el_control_config_t *c, const el_cpuset_t *mask,
                   const el_reading_t *reading)
{
    el_state_sight_t sight = {.plan = &plan, .mask = mask, .reading = reading};

    return el_state_commit(state, claim, c, &sight);
}

/* One whole tick at `now`, which is due. */
static bool tick(uint64_t generation, uint64_t now, const el_control_config_t *c, unsigned busy)
{
    uint64_t claim;

    ck_assert(el_state_claim(state, generation, now, INTERVAL, &claim));
    return commit(claim, c, NULL, sample_of(busy));
}

static void assert_control(unsigned position, unsigned top, bool bypass)
{
    el_control_state_t c = el_state_control(state);

    ck_assert_uint_eq(c.position, position);
    ck_assert_uint_eq(c.top, top);
    ck_assert(c.bypass == bypass);
}

/* What elasticd publishes. */
static el_position_t published(unsigned position, unsigned top, uint16_t fraction, uint32_t load)
{
    return (el_position_t){
        .control = {position, top, false, fraction}, .load_ppm = load, .interval_msec = 500,
    };
}

START_TEST(a_published_position_is_followed)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    el_position_t position = published(3, 6, 32768, 700000);
    uint64_t claim;

    ck_assert(el_state_claim(state, generation, START + INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &config, &position);
    /* 3.5 of 6 are 4 2/3 of 8. */
    assert_control(4, TOP, false);
    ck_assert_uint_eq(el_state_control(state).fraction, 43691);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 700000);
    ck_assert_uint_eq(atomic_load(&state->samples), 1);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);

    position.control.bypass = true;
    position.load_ppm = EL_POSITION_NO_LOAD;
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &config, &position);
    ck_assert(el_state_control(state).bypass);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 700000);

    /* Too late: another one has sampled since. */
    position.control.position = 0;
    el_state_follow(state, claim - 1, &config, &position);
    assert_control(4, TOP, true);
}
END_TEST

START_TEST(its_own_controller_begins_anew_after_following)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    el_position_t position = published(4, 8, 0, 700000);
    uint64_t claim;

    tick(generation, START + INTERVAL, &config, 60);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    el_state_follow(state, claim, &config, &position);
    /* Whatever the load was on average since then, it is not that of an interval. */
    ck_assert(!tick(generation, START + 100 * INTERVAL, &config, 100));
    assert_control(4, TOP, false);
    ck_assert(tick(generation, START + 101 * INTERVAL, &config, 100));
    assert_control(3, TOP, false);
}
END_TEST

START_TEST(who_sets_the_position_is_news_once)
{
    ck_assert(el_state_note_following(state, EL_STATE_ALONE));
    ck_assert(!el_state_note_following(state, EL_STATE_ALONE));
    ck_assert(el_state_note_following(state, EL_STATE_FOLLOWS));
    ck_assert(!el_state_note_following(state, EL_STATE_FOLLOWS));
    el_state_reset(state, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert(el_state_note_following(state, EL_STATE_FOLLOWS));
}
END_TEST

/* 100 ticks are a second of one CPU. */
START_TEST(what_compression_took_is_counted_for_predict)
{
    static const double cost[] = {10, 12, 16, 24, 40, 56, 72, 88, 104};
    el_control_config_t predict = config;
    el_state_sight_t sight = {.plan = &plan, .cost = cost};
    uint64_t generation, claim;

    predict.mode = EL_CONTROL_PREDICT;
    generation = el_state_adopt(state, &predict, START, INTERVAL);
    for (unsigned i = 1; i <= 2; i++) {
        /* At position 5, 0.56 s for 10000 KB. Others take 0.3. */
        el_state_count(state, 1, EL_COUNT_BYTES_IN, 10000 * 1024);
        /* Of a tenth of the bytes the time was taken. */
        el_state_count(state, 1, EL_COUNT_SAMPLED_IN, 1000 * 1024);
        el_state_count(state, 1, EL_COUNT_SAMPLED_NSEC, 56000000);
        sight.reading = sample_of(86);
        ck_assert(el_state_claim(state, generation, START + i * INTERVAL, INTERVAL, &claim));
        el_state_commit(state, claim, &predict, &sight);
    }
    /* 0.6875 - 0.3 are left: 38.75 µs a KB. */
    assert_control(3, TOP, false);
    ck_assert_uint_eq(el_state_control(state).fraction, (unsigned)(65536 * (14.75 / 16) + 0.5));
}
END_TEST

START_TEST(durations_are_counted_for_a_latency)
{
    el_control_config_t fast = config;
    uint64_t generation;

    fast.goal = (el_goal_t){.kind = EL_GOAL_LATENCY, .p95_usec = 1000};
    generation = el_state_adopt(state, &fast, START, INTERVAL);
    tick(generation, START + INTERVAL, &fast, 60);
    tick(generation, START + 2 * INTERVAL, &fast, 60);
    assert_control(5, TOP, false);
    for (unsigned n = 0; n < 40; n++) {
        el_histogram_add(&state->durations, 50000000);
    }
    tick(generation, START + 3 * INTERVAL, &fast, 60);
    assert_control(4, TOP, false);
    /* They fade: 40, 28, 19.6. */
    tick(generation, START + 4 * INTERVAL, &fast, 60);
    assert_control(3, TOP, false);
    tick(generation, START + 5 * INTERVAL, &fast, 60);
    assert_control(3, TOP, false);
    for (unsigned n = 0; n < 40; n++) {
        el_histogram_add(&state->durations, 50000000);
    }
    el_state_reset(state, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert_double_eq(el_histogram_quantile(&state->durations, 0.95, 0), 0);
}
END_TEST

START_TEST(a_new_block_is_valid_and_empty)
{
    ck_assert(el_state_valid(state));
    assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(atomic_load(&state->started), START);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
    for (int c = 0; c < EL_COUNT_TOTAL; c++) {
        ck_assert_uint_eq(el_state_total(state, (el_counter_t)c), 0);
    }
}
END_TEST

START_TEST(another_layout_is_not_valid)
{
    state->version++;
    ck_assert(!el_state_valid(state));
    state->version--;
    state->magic++;
    ck_assert(!el_state_valid(state));
    memset(state, 0, sizeof(*state));
    ck_assert(!el_state_valid(state));
}
END_TEST

START_TEST(a_change_of_the_fraction_is_a_step)
{
    el_control_config_t mix = config;
    uint64_t generation;

    mix.mode = EL_CONTROL_MIX;
    generation = el_state_adopt(state, &mix, START, INTERVAL);
    tick(generation, START + 2 * INTERVAL, &mix, 0);
    tick(generation, START + 4 * INTERVAL, &mix, 75);
    tick(generation, START + 6 * INTERVAL, &mix, 75);
    ck_assert_uint_eq(el_state_control(state).position, 4);
    ck_assert_uint_gt(el_state_control(state).fraction, 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
    tick(generation, START + 8 * INTERVAL, &mix, 63);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
}
END_TEST

START_TEST(what_the_controller_remembers_is_in_the_block)
{
    el_control_config_t mix = config;
    uint64_t generation;
    el_control_state_t first;

    mix.mode = EL_CONTROL_MIX;
    generation = el_state_adopt(state, &mix, START, INTERVAL);
    tick(generation, START + 2 * INTERVAL, &mix, 0);
    tick(generation, START + 4 * INTERVAL, &mix, 90);
    ck_assert_double_ne(state->memory.error, 0);
    first = el_state_control(state);
    el_state_reset(state, (el_control_state_t){5, TOP, false, 0}, START);
    ck_assert_double_eq(state->memory.error, 0);
    tick(generation, START + 2 * INTERVAL, &mix, 90);
    tick(generation, START + 4 * INTERVAL, &mix, 90);
    ck_assert_uint_eq(el_state_control(state).position, first.position);
    ck_assert_uint_eq(el_state_control(state).fraction, first.fraction);
}
END_TEST

START_TEST(stripes_share_no_cache_line)
{
    ck_assert_uint_eq(sizeof(el_stripe_t) % 64, 0);
    ck_assert_uint_eq((uintptr_t)&state->stripe[1] % 64, 0);
    ck_assert(atomic_is_lock_free(&state->position));
}
END_TEST

static const el_control_state_t words[] = {
    {0, 0, false, 0},     {0, 0, true, 0},      {8, 8, false, 0},         {8, 8, true, 0},
    {0, 18, true, 0},     {18, 65535, false, 0}, {7, 8, false, 1},        {7, 8, true, 65535},
    {65534, 65535, true, 65535},
};

START_TEST(a_position_is_read_as_it_was_written)
{
    el_state_reset(state, words[_i], START);
    assert_control(words[_i].position, words[_i].top, words[_i].bypass);
    ck_assert_uint_eq(el_state_control(state).fraction, words[_i].fraction);
}
END_TEST

START_TEST(a_claim_is_won_when_due_and_once)
{
    uint64_t claim = 0, late = 0;
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t due = el_state_due(state);

    ck_assert_uint_le(due, START + INTERVAL);
    ck_assert(!el_state_claim(state, generation, due - 1, INTERVAL, &claim));
    ck_assert(el_state_claim(state, generation, due, INTERVAL, &claim));
    ck_assert_uint_eq(claim, due + INTERVAL);
    ck_assert_uint_eq(atomic_load(&state->next_sample), claim);
    ck_assert(!el_state_claim(state, generation, due, INTERVAL, &late));
    ck_assert(!el_state_claim(state, generation, due + INTERVAL - 1, INTERVAL, &late));
    ck_assert(el_state_claim(state, generation, due + INTERVAL, INTERVAL, &late));
}
END_TEST

START_TEST(only_the_newest_generation_claims)
{
    uint64_t claim;
    uint64_t old = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t new = el_state_adopt(state, &config, START, INTERVAL);

    ck_assert_uint_ne(old, new);
    ck_assert(!el_state_claim(state, old, START + INTERVAL, INTERVAL, &claim));
    ck_assert(!el_state_claim(state, new + 1, START + INTERVAL, INTERVAL, &claim));
    ck_assert(el_state_claim(state, new, START + INTERVAL, INTERVAL, &claim));
}
END_TEST

#define THREADS 8
#define ROUNDS 2000

static uint64_t race_generation;
static _Atomic unsigned wins[ROUNDS];

static void *race(void *unused)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t claim;
        uint64_t now = START + (round + 1) * INTERVAL;

        if (el_state_claim(state, race_generation, now, INTERVAL, &claim)) {
            atomic_fetch_add(&wins[round], 1);
        }
        el_state_count(state, round, EL_COUNT_COMPRESSED, 1);
    }
    return unused;
}

START_TEST(of_many_threads_at_most_one_wins_a_tick)
{
    pthread_t threads[THREADS];

    race_generation = el_state_adopt(state, &config, START, INTERVAL);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        ck_assert_uint_le(atomic_load(&wins[round]), 1);
    }
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_COMPRESSED), THREADS * ROUNDS);
}
END_TEST

static void *race_once(void *arg)
{
    uint64_t claim;
    uint64_t now = atomic_load(&state->next_sample);

    pthread_barrier_wait(arg);
    if (el_state_claim(state, race_generation, now, INTERVAL, &claim)) {
        atomic_fetch_add(&wins[0], 1);
    }
    return NULL;
}

START_TEST(of_threads_at_the_same_time_exactly_one_wins)
{
    pthread_barrier_t barrier;

    race_generation = el_state_adopt(state, &config, START, INTERVAL);
    for (unsigned round = 1; round <= 100; round++) {
        pthread_t threads[THREADS];

        ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS), 0);
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, race_once, &barrier), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        pthread_barrier_destroy(&barrier);
        ck_assert_uint_eq(atomic_load(&wins[0]), round);
    }
}
END_TEST

START_TEST(a_winner_that_dies_loses_its_tick_only)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t due = atomic_load(&state->next_sample);
    uint64_t claim;
    int status;
    pid_t child;

    tick(generation, due, &config, 60);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(el_state_claim(state, generation, due + INTERVAL, INTERVAL, &claim) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    ck_assert(!el_state_claim(state, generation, due + INTERVAL, INTERVAL, &claim));
    ck_assert(tick(generation, due + 2 * INTERVAL, &config, 90));
    assert_control(4, TOP, false);
}
END_TEST

START_TEST(the_first_sample_only_begins)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);

    ck_assert(!tick(generation, START + INTERVAL, &config, 100));
    assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(state->last.stat.cpu[0].busy, ticks_busy);
}
END_TEST

START_TEST(samples_move_the_position)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t now = START + INTERVAL;

    tick(generation, now, &config, 0);
    ck_assert(tick(generation, now += INTERVAL, &config, 90));
    assert_control(4, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 900000);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);
    ck_assert(tick(generation, now += INTERVAL, &config, 60));
    assert_control(4, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
    ck_assert_uint_eq(atomic_load(&state->steps), 1);
    ck_assert(tick(generation, now += INTERVAL, &config, 10));
    assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->steps), 2);
    ck_assert_uint_eq(atomic_load(&state->samples), 3);
}
END_TEST

START_TEST(a_bypass_is_no_step)
{
    el_control_config_t shedding = config;
    uint64_t generation;

    shedding.bypass = 0.875;
    el_state_reset(state, (el_control_state_t){0, TOP, false, 0}, START);
    generation = el_state_adopt(state, &shedding, START, INTERVAL);
    tick(generation, START + INTERVAL, &shedding, 0);
    ck_assert(tick(generation, START + 2 * INTERVAL, &shedding, 100));
    assert_control(0, TOP, true);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
}
END_TEST

START_TEST(no_tick_moves_nothing)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t claim;

    tick(generation, START + INTERVAL, &config, 100);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    ck_assert(!commit(claim, &config, NULL, &sample));
    assert_control(5, TOP, false);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
}
END_TEST

START_TEST(only_cpus_of_the_mask_move_it)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    el_cpuset_t elsewhere = {{2}};
    uint64_t claim;

    tick(generation, START + INTERVAL, &config, 100);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    ck_assert(!commit(claim, &config, &elsewhere, sample_of(100)));
    assert_control(5, TOP, false);
}
END_TEST

START_TEST(a_claim_that_ran_out_moves_nothing)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t slow, quick;
    el_reading_t kept;

    tick(generation, START + INTERVAL, &config, 0);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &slow));
    ck_assert(el_state_claim(state, generation, START + 3 * INTERVAL, INTERVAL, &quick));
    ck_assert(commit(quick, &config, NULL, sample_of(60)));
    kept = state->last;
    ck_assert(!commit(slow, &config, NULL, sample_of(100)));
    assert_control(5, TOP, false);
    ck_assert_mem_eq(&state->last, &kept, sizeof(kept));
    ck_assert_uint_eq(atomic_load(&state->samples), 1);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
}
END_TEST

START_TEST(a_reload_ends_the_claims_before_it)
{
    el_control_config_t narrow = config;
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t claim;

    narrow.top = 3;
    tick(generation, START + INTERVAL, &config, 0);
    ck_assert(el_state_claim(state, generation, START + 2 * INTERVAL, INTERVAL, &claim));
    el_state_adopt(state, &narrow, START + 2 * INTERVAL, INTERVAL);
    assert_control(3, 3, false);
    ck_assert(!commit(claim, &config, NULL, sample_of(0)));
    assert_control(3, 3, false);
}
END_TEST

START_TEST(a_reload_keeps_what_fits)
{
    el_control_config_t wide = config;

    wide.top = 11;
    el_state_count(state, 0, EL_COUNT_COMPRESSED, 7);
    el_state_adopt(state, &wide, START, INTERVAL);
    assert_control(5, 11, false);
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_COMPRESSED), 7);
}
END_TEST

static const struct {
    const char *guards;
    uint64_t due, now, interval;
} adoptions[] = {
    {"a sample far off comes nearer", START + 60000000, START, INTERVAL},
    {"one that is due soon stays so", START + 1000, START, INTERVAL},
    {"one that is exactly an interval off", START + INTERVAL, START, INTERVAL},
    {"one that is overdue stays so", START - 1000, START, INTERVAL},
    {"one at the beginning of time", 0, START, INTERVAL},
};

START_TEST(a_reload_samples_within_an_interval)
{
    uint64_t due = adoptions[_i].due;
    uint64_t latest = adoptions[_i].now + adoptions[_i].interval;
    uint64_t next;

    atomic_store(&state->next_sample, due);
    el_state_adopt(state, &config, adoptions[_i].now, adoptions[_i].interval);
    next = atomic_load(&state->next_sample);
    /* One less where it could stay, so that claims made before have run out. */
    ck_assert_msg(next == (due == 0 || due > latest ? latest : due - 1), "%s",
                  adoptions[_i].guards);
}
END_TEST

START_TEST(a_restart_begins_anew)
{
    uint64_t generation = el_state_adopt(state, &config, START, INTERVAL);
    uint64_t claim;

    tick(generation, START + INTERVAL, &config, 0);
    tick(generation, START + 2 * INTERVAL, &config, 90);
    el_state_trouble(state, true);
    for (unsigned i = 0; i < EL_STATE_STRIPES * EL_COUNT_TOTAL; i++) {
        el_state_count(state, i / EL_COUNT_TOTAL, (el_counter_t)(i % EL_COUNT_TOTAL), 1);
    }
    ck_assert(el_state_claim(state, generation, START + 3 * INTERVAL, INTERVAL, &claim));
    el_state_reset(state, (el_control_state_t){2, 3, true, 0}, START + 9);

    ck_assert(el_state_valid(state));
    assert_control(2, 3, true);
    for (int c = 0; c < EL_COUNT_TOTAL; c++) {
        ck_assert_uint_eq(el_state_total(state, (el_counter_t)c), 0);
    }
    ck_assert_uint_eq(atomic_load(&state->next_sample), START + 9);
    ck_assert_uint_eq(atomic_load(&state->samples), 0);
    ck_assert_uint_eq(atomic_load(&state->steps), 0);
    ck_assert_uint_eq(atomic_load(&state->started), START + 9);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), EL_STATE_NO_LOAD);
    ck_assert_uint_eq(state->last.stat.count, 0);
    ck_assert(el_state_trouble(state, true));
    ck_assert(!commit(claim, &config, NULL, sample_of(100)));
    ck_assert_uint_ne(el_state_adopt(state, &config, START, INTERVAL), generation);
}
END_TEST

START_TEST(trouble_is_news_once)
{
    ck_assert(!el_state_trouble(state, false));
    ck_assert(el_state_trouble(state, true));
    ck_assert_uint_eq(atomic_load(&state->trouble), 1);
    ck_assert(!el_state_trouble(state, true));
    ck_assert(el_state_trouble(state, false));
    ck_assert(!el_state_trouble(state, false));
}
END_TEST

START_TEST(counters_add_up_over_all_lanes)
{
    for (unsigned lane = 0; lane < 3 * EL_STATE_STRIPES; lane++) {
        el_state_count(state, lane, EL_COUNT_BYTES_OUT, lane);
    }
    el_state_count(state, UINT32_MAX, EL_COUNT_BYTES_OUT, UINT64_C(1) << 40);
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_BYTES_OUT),
                      (UINT64_C(1) << 40) + 96 * 95 / 2);
    ck_assert_uint_eq(atomic_load(&state->stripe[1].count[EL_COUNT_BYTES_OUT]), 1 + 33 + 65);
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_BYTES_IN), 0);
}
END_TEST

START_TEST(each_reason_has_a_counter)
{
    el_state_count(state, 0, EL_COUNT_SKIPPED + EL_REASON_ERROR, 3);
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_TOTAL - 1), 3);
    ck_assert_uint_eq(el_state_total(state, EL_COUNT_SKIPPED + EL_REASON_SMALL), 0);
}
END_TEST

static const struct {
    const char *guards;
    uint64_t in, sampled, used, usec;
} costs[] = {
    {"nothing yet", 0, 0, 0, 0},
    {"no sample", 7000, 0, 0, 0},
    {"an eighth was sampled", 8000000, 1000000, 500000, 4000},
    {"all was sampled", 8000000, 8000000, 500000, 500},
    {"samples that took no time", 8000000, 1000000, 0, 0},
    {"a year of it", UINT64_C(31536000000000000), 1000, 500, UINT64_C(15768000000000)},
};

START_TEST(the_cpu_time_is_scaled_from_samples)
{
    el_state_count(state, 1, EL_COUNT_BYTES_IN, costs[_i].in);
    el_state_count(state, 2, EL_COUNT_SAMPLED_IN, costs[_i].sampled);
    el_state_count(state, 3, EL_COUNT_SAMPLED_NSEC, costs[_i].used);
    ck_assert_msg(el_state_cpu_usec(state) == costs[_i].usec, "%s", costs[_i].guards);
}
END_TEST

Suite *state_suite(void)
{
    Suite *suite = suite_create("state");
    TCase *tc = tcase_create("state");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_new_block_is_valid_and_empty);
    tcase_add_test(tc, another_layout_is_not_valid);
    tcase_add_test(tc, a_published_position_is_followed);
    tcase_add_test(tc, its_own_controller_begins_anew_after_following);
    tcase_add_test(tc, who_sets_the_position_is_news_once);
    tcase_add_test(tc, what_compression_took_is_counted_for_predict);
    tcase_add_test(tc, durations_are_counted_for_a_latency);
    tcase_add_test(tc, a_change_of_the_fraction_is_a_step);
    tcase_add_test(tc, what_the_controller_remembers_is_in_the_block);
    tcase_add_test(tc, stripes_share_no_cache_line);
    tcase_add_loop_test(tc, a_position_is_read_as_it_was_written, 0, ROWS(words));
    tcase_add_test(tc, a_claim_is_won_when_due_and_once);
    tcase_add_test(tc, only_the_newest_generation_claims);
    tcase_add_test(tc, of_many_threads_at_most_one_wins_a_tick);
    tcase_add_test(tc, of_threads_at_the_same_time_exactly_one_wins);
    tcase_add_test(tc, a_winner_that_dies_loses_its_tick_only);
    tcase_add_test(tc, the_first_sample_only_begins);
    tcase_add_test(tc, samples_move_the_position);
    tcase_add_test(tc, a_bypass_is_no_step);
    tcase_add_test(tc, no_tick_moves_nothing);
    tcase_add_test(tc, only_cpus_of_the_mask_move_it);
    tcase_add_test(tc, a_claim_that_ran_out_moves_nothing);
    tcase_add_test(tc, a_reload_ends_the_claims_before_it);
    tcase_add_test(tc, a_reload_keeps_what_fits);
    tcase_add_loop_test(tc, a_reload_samples_within_an_interval, 0, ROWS(adoptions));
    tcase_add_test(tc, a_restart_begins_anew);
    tcase_add_test(tc, trouble_is_news_once);
    tcase_add_test(tc, counters_add_up_over_all_lanes);
    tcase_add_test(tc, each_reason_has_a_counter);
    tcase_add_loop_test(tc, the_cpu_time_is_scaled_from_samples, 0, ROWS(costs));
    suite_add_tcase(suite, tc);
    return suite;
}
