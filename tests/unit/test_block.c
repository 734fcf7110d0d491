#define _GNU_SOURCE /* for MAP_ANONYMOUS and pthread_barrier_t */
/* The shared block: layout, claims of samples and their effects, and once-only notes. */
#include "elastic/block.h"
#include "elastic/control.h"
#include "suites.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define START UINT64_C(5000000)
#define INTERVAL UINT64_C(500000)
#define TOP 8

/* Thresholds of 50 and 75 %. */
static const el_control_config_t block_config = {EL_CONTROL_STEP, 0.5, 0.75, 2.0, TOP, {0}};
static el_block_t *block; /* starts at position 5 of TOP, at START */
static el_state_t *state; /* block->state */
static el_reading_t block_reading; /* the last of block_sample() */
static uint64_t ticks_busy, ticks_idle;

/* A test's child processes share `block`. */
static void block_setup(void)
{
    block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(block != MAP_FAILED);
    state = &block->state;
    el_block_init(block, (el_control_state_t){5, TOP, false, 0}, START);
    ticks_busy = ticks_idle = 1000;
}

static void block_teardown(void)
{
    munmap(block, sizeof(*block));
}

/* The next reading: 100 more ticks, a second of one CPU, of which `busy` were busy. */
static const el_reading_t *block_sample(unsigned busy)
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

/* el_state_commit() of a reading, by the CPUs of `mask`; NULL: all. */
static bool block_commit(uint64_t claim, const el_control_config_t *c, const el_cpuset_t *mask,
                         const el_reading_t *reading)
{
    static const el_load_signals_t signals = {.cpus = 1}; /* /proc/stat, one CPU */
    el_state_inputs_t inputs = {.signals = &signals, .mask = mask, .reading = reading,
                                .counters = &block->counters, .tally = &block->tally};

    return el_state_commit(state, claim, c, &inputs);
}

/* The block's last sample; zeros if there is none. */
static const el_sample_t *block_last(void)
{
    static el_sample_t sample;

    el_snapshot_read(state->last, &state->last_checksum, &sample, sizeof(sample));
    return &sample;
}

/* el_state_adopt() at START; el_state_claim() at START + n intervals, which must succeed. */
static uint64_t block_adopt(const el_control_config_t *c)
{
    return el_state_adopt(state, c, START, INTERVAL);
}

static uint64_t block_claim(uint64_t generation, unsigned n)
{
    uint64_t claim;

    ck_assert(el_state_claim(state, generation, START + n * INTERVAL, INTERVAL, &claim));
    return claim;
}

/* Claims and commits at START + n intervals; returns whether the load was determined. */
static bool block_tick(uint64_t generation, unsigned n, const el_control_config_t *c, unsigned busy)
{
    return block_commit(block_claim(generation, n), c, NULL, block_sample(busy));
}

static void block_assert_control(unsigned position, unsigned top, bool bypass)
{
    el_control_state_t c = el_state_control(state);

    ck_assert_uint_eq(c.position, position);
    ck_assert_uint_eq(c.top, top);
    ck_assert(c.bypass == bypass);
}

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

TEST(block, a_stored_name_has_its_own_count_of_changes)
{
    el_name_t name = {.kind = EL_NAME_BODY, .hash = {1}}, other = name;
    _Atomic uint32_t *changes = el_cache_state_changes(&block->cache, &name);

    other.coding = EL_BR;
    ck_assert_ptr_eq(el_cache_state_changes(&block->cache, &name), changes);
    ck_assert_ptr_ne(el_cache_state_changes(&block->cache, &other), changes);
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

/* Claims of samples on the shared block, by threads, processes and generations. */

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

CASE(claims_threads, .set_up = block_setup, .tear_down = block_teardown, .tags = "threads");

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

/* Effects of samples on the position in the shared block. */

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
