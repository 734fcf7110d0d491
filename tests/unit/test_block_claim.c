/* Claims of samples on the shared block, by threads, processes and generations. */
#define _GNU_SOURCE /* for pthread_barrier_t */
#include "block.h"
#include "elastic/control.h"
#include "suites.h"

#include <sys/wait.h>
#include <unistd.h>

CASE(claims, .set_up = block_setup, .tear_down = block_teardown);

static bool claims(uint64_t generation, uint64_t now)
{
    uint64_t claim;

    return el_state_claim(state, generation, now, INTERVAL, &claim);
}

TEST(claims, a_claim_is_won_when_due_and_once)
{
    uint64_t generation = block_adopt(&block_config), due = atomic_load(&state->next_sample);
    uint64_t claim = 0;

    ck_assert_uint_le(due, START + INTERVAL);
    ck_assert(!claims(generation, due - 1));
    ck_assert(el_state_claim(state, generation, due, INTERVAL, &claim));
    ck_assert_uint_eq(claim, due + INTERVAL);
    ck_assert_uint_eq(atomic_load(&state->next_sample), claim);
    ck_assert(!claims(generation, due) && !claims(generation, due + INTERVAL - 1));
    ck_assert(claims(generation, due + INTERVAL));
    /* Only the newest generation claims. */
    ck_assert_uint_ne(block_adopt(&block_config), generation);
    ck_assert(!claims(generation, due + 9 * INTERVAL));
    ck_assert(!claims(generation + 2, due + 9 * INTERVAL));
    ck_assert(claims(generation + 1, due + 9 * INTERVAL));
}

TEST(claims, a_winner_that_dies_loses_its_tick_only)
{
    uint64_t generation = block_adopt(&block_config);
    int status;
    pid_t child;

    block_tick(generation, 1, &block_config, 60);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(claims(generation, START + 2 * INTERVAL) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(!claims(generation, START + 2 * INTERVAL));
    ck_assert(block_tick(generation, 3, &block_config, 90));
    block_assert_control(4, TOP, false);
}

TEST(claims, a_claim_that_ran_out_moves_nothing)
{
    uint64_t generation = block_adopt(&block_config), slow, quick;
    el_sample_t kept;

    block_tick(generation, 1, &block_config, 0);
    slow = block_claim(generation, 2);
    quick = block_claim(generation, 3);
    ck_assert(block_commit(quick, &block_config, NULL, block_sample(60)));
    kept = *block_last();
    ck_assert(!block_commit(slow, &block_config, NULL, block_sample(100)));
    block_assert_control(5, TOP, false);
    ck_assert_mem_eq(block_last(), &kept, sizeof(kept));
    ck_assert_uint_eq(atomic_load(&state->samples), 1);
    ck_assert_uint_eq(atomic_load(&state->load_ppm), 600000);
}

/* Starts `count` responses at `now`. Returns how many brought the next sample forward. */
static unsigned arrive(unsigned count, uint64_t now)
{
    unsigned forward = 0;

    while (count-- > 0) {
        forward += el_state_arrival(state, now);
    }
    return forward;
}

#define TENTH UINT64_C(100000)

/* Counts `encoded` encoded responses, as many from the cache, and as many HEADs. */
static void serve(unsigned encoded)
{
    el_tally_body_t page = {.in = 1000, .out = 300};

    el_counters_add(&block->counters, 0, EL_COUNT_COMPRESSED, 2 * encoded);
    el_counters_add(&block->counters, 0, EL_COUNT_CACHE_HITS, 3 * encoded);
    while (encoded-- > 0) {
        el_tally_add(&block->tally, 0, EL_TALLY_BROTLI, &page);
        el_tally_add(&block->tally, 1, EL_TALLY_CACHED_BR, &page);
    }
}

TEST(claims, a_surge_brings_samples_forward)
{
    el_control_config_t priced = block_config;
    uint64_t generation = block_adopt(&priced), now = START + 2 * INTERVAL;
    unsigned surge;

    priced.goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = 5e6};
    block_tick(generation, 1, &priced, 0);
    ck_assert_uint_eq(arrive(1000, START + INTERVAL), 0); /* no sample yet */
    serve(100);
    block_tick(generation, 2, &priced, 20); /* a second with ten arrivals in each slot */
    surge = atomic_load(&state->surge);
    ck_assert_uint_eq(surge, 25);
    /* Less than a surge in each of two slots. */
    ck_assert_uint_eq(arrive(surge - 1, now) + arrive(surge - 1, now + TENTH), 0);
    now += 2 * TENTH;
    ck_assert_uint_eq(arrive(3 * surge, now), 1);
    ck_assert_uint_eq(atomic_load(&state->next_sample), now);
    ck_assert(!claims(generation, now - 1) && claims(generation, now));
    /* A second surge extends the series, but brings no sample forward. */
    now += TENTH;
    ck_assert_uint_eq(arrive(3 * surge, now - 1) + arrive(3 * surge, now), 0);
    for (unsigned sample = 0; sample < 4; sample++, now += TENTH) {
        ck_assert_uint_eq(atomic_load(&state->next_sample), now);
        ck_assert(claims(generation, now));
    }
    ck_assert(claims(generation, now));
    ck_assert_uint_eq(atomic_load(&state->next_sample), now + INTERVAL);
}

/* Also after a reload: a surge under a price is forgotten. */
static const struct {
    const char *label;
    bool follows;
} unpriced[] = {
    {"thresholds", false},
    {"elasticd", true},
};
EACH(claims, a_surge_is_nothing_where_there_is_no_price, unpriced)
{
    el_control_config_t priced = block_config;
    el_position_t position = {.load_ppm = EL_PPM / 5, .interval_msec = 500};
    uint64_t generation = block_adopt(&priced);

    priced.goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = 5e6};
    block_tick(generation, 1, &priced, 0);
    block_tick(generation, 2, &priced, 20);
    ck_assert_uint_gt(atomic_load(&state->surge), 0);
    generation = block_adopt(&block_config);
    if (row->follows) {
        el_state_follow(state, block_claim(generation, 3), &block_config, &position);
    } else {
        block_tick(generation, 3, &block_config, 20);
    }
    ck_assert_uint_eq(arrive(10000, START + 3 * INTERVAL + TENTH), 0);
}

TEST(claims, a_reload_ends_the_claims_before_it)
{
    el_control_config_t narrow = block_config;
    uint64_t generation = block_adopt(&block_config), claim;

    narrow.top = 3;
    block_tick(generation, 1, &block_config, 0);
    claim = block_claim(generation, 2);
    el_state_adopt(state, &narrow, START + 2 * INTERVAL, INTERVAL);
    block_assert_control(3, 3, false);
    ck_assert(!block_commit(claim, &block_config, NULL, block_sample(0)));
    block_assert_control(3, 3, false);
}

/* The time is one less if it could stay, so that earlier claims become invalid. */
static const struct {
    const char *label;
    uint64_t due, next;
} adoptions[] = {
    {"a sample far off comes nearer", START + 60000000, START + INTERVAL},
    {"one that is due soon stays so", START + 1000, START + 999},
    {"one that is exactly an interval off", START + INTERVAL, START + INTERVAL - 1},
    {"one that is overdue stays so", START - 1000, START - 1001},
    {"one at the beginning of time", 0, START + INTERVAL},
};
EACH(claims, a_reload_samples_within_an_interval, adoptions)
{
    atomic_store(&state->next_sample, row->due);
    block_adopt(&block_config);
    row_eq(atomic_load(&state->next_sample), row->next);
}

/* Otherwise a sample could mistake a later position for the one it has read. */
TEST(claims, each_setting_of_the_position_makes_another_word)
{
    uint64_t generation = block_adopt(&block_config), word[4] = {atomic_load(&state->position)};

    block_tick(generation, 1, &block_config, 60);
    block_tick(generation, 2, &block_config, 60);
    word[1] = atomic_load(&state->position);
    block_adopt(&block_config);
    word[2] = atomic_load(&state->position);
    el_block_reset(block, el_state_control(state), START);
    word[3] = atomic_load(&state->position);
    ck_assert(word[0] != word[1] && word[1] != word[2] && word[2] != word[3] && word[3] != word[0]);
    block_assert_control(5, TOP, false);
}

TEST(claims, a_sample_written_in_half_is_none)
{
    uint64_t generation = block_adopt(&block_config);

    block_tick(generation, 1, &block_config, 0);
    atomic_fetch_add(&state->last[2], 1);
    ck_assert(!block_tick(generation, 2, &block_config, 100));
    block_assert_control(5, TOP, false);
    ck_assert(block_tick(generation, 3, &block_config, 100));
    block_assert_control(4, TOP, false);
}

CASE(claims_threads, .set_up = block_setup, .tear_down = block_teardown, .threads = true);

#define THREADS 8

static uint64_t race_generation;
static _Atomic unsigned wins;

static void *race_once(void *barrier)
{
    uint64_t now = atomic_load(&state->next_sample);

    pthread_barrier_wait(barrier);
    wins += claims(race_generation, now);
    el_counters_add(&block->counters, wins, EL_COUNT_COMPRESSED, 1);
    return NULL;
}

TEST(claims_threads, of_threads_at_the_same_time_exactly_one_wins)
{
    pthread_barrier_t barrier;

    wins = 0;
    race_generation = block_adopt(&block_config);
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (unsigned round = 1; round <= 100; round++) {
        threads_run(THREADS, race_once, &barrier);
        ck_assert_uint_eq(wins, round);
    }
    ck_assert_uint_eq(el_counters_total(&block->counters, EL_COUNT_COMPRESSED), THREADS * 100);
    pthread_barrier_destroy(&barrier);
}

/* Every number is `ticks`, so that a mixture of two writers shows. */
static void fill(el_reading_t *reading, uint64_t ticks)
{
    memset(reading, 0, sizeof(*reading));
    reading->has_stat = true;
    reading->at_usec = ticks;
    reading->stat.count = EL_LOAD_CPUS;
    memset(&reading->stat.present, 0xff, sizeof(reading->stat.present));
    for (unsigned cpu = 0; cpu < EL_LOAD_CPUS; cpu++) {
        reading->stat.cpu[cpu] = (el_cpu_ticks_t){.busy = ticks, .idle = ticks};
    }
}

#define SAMPLES 400

static _Atomic uint64_t race_clock, race_newest;

/*
 * Claims and commits by a clock that advances while others hold claims, so that holders are
 * overtaken at every point. Some follow elasticd instead, and some adopt new bounds.
 */
static void *race_samples(void *unused)
{
    static const el_position_t elsewhere = {.control = {3, 6, false, 0}, .load_ppm = 500000};
    static _Thread_local el_reading_t reading;
    uint64_t claim;

    for (unsigned n = 0; n < SAMPLES; n++) {
        uint64_t now = atomic_fetch_add(&race_clock, INTERVAL) + INTERVAL;

        if (n % 50 == 49) {
            atomic_store(&race_newest, el_state_adopt(state, &block_config, now, INTERVAL));
        }
        if (!el_state_claim(state, atomic_load(&race_newest), now, INTERVAL, &claim)) {
            continue;
        }
        if (n % 20 == 19) {
            el_state_follow(state, claim, &block_config, &elsewhere);
            continue;
        }
        fill(&reading, now);
        if (block_commit(claim, &block_config, NULL, &reading)) {
            ck_assert_uint_eq(atomic_load(&state->load_ppm), 500000);
        }
    }
    return unused;
}

TEST(claims_threads, holders_that_are_overtaken_leave_nothing_in_half)
{
    static el_reading_t whole;
    threads_t threads;
    el_control_state_t control;

    atomic_store(&race_clock, START);
    atomic_store(&race_newest, block_adopt(&block_config));
    threads = threads_start(THREADS, race_samples, NULL, 0);
    for (unsigned n = 0; n < SAMPLES; n++) {
        el_reading_t last = block_last()->reading;

        if (last.has_stat) {
            fill(&whole, last.at_usec);
            ck_assert_mem_eq(&last, &whole, sizeof(last));
        }
    }
    threads_join(&threads);
    control = el_state_control(state);
    ck_assert_uint_le(control.position, TOP);
    ck_assert_uint_eq(control.top, TOP);
}
