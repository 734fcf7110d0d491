#include "elastic/control.h"
#include "suites.h"

#define TOP 8

/* Thresholds without rounding, so that tests at the edges are exact. */
#define LOW 0.5
#define HIGH 0.75
#define MIDDLE 0.625
#define BYPASS 0.875
#define NEVER 2.0

static const el_control_config_t step = {EL_CONTROL_STEP, LOW, HIGH, NEVER, TOP, {0}};
static const el_control_config_t shedding = {EL_CONTROL_STEP, LOW, HIGH, BYPASS, TOP, {0}};
static const el_control_config_t to_the_full = {EL_CONTROL_STEP, LOW, HIGH, 1.0, TOP, {0}};
static const el_control_config_t eager = {EL_CONTROL_STEP, LOW, HIGH, 0.25, TOP, {0}};
static const el_control_config_t pinned = {EL_CONTROL_STEP, LOW, HIGH, BYPASS, 0, {0}};
static const el_control_config_t off = {EL_CONTROL_OFF, LOW, HIGH, BYPASS, TOP, {0}};
static const el_control_config_t mix = {EL_CONTROL_MIX, LOW, HIGH, NEVER, TOP, {0}};

static el_control_memory_t memory;

static el_control_state_t next(const el_control_config_t *config, el_control_state_t state,
                               double busy)
{
    el_observation_t observed = {.busy = busy};

    return el_control_next(config, &observed, &memory, state);
}

static const struct {
    const char *label;
    const el_control_config_t *config;
    unsigned position, top;
    bool bypass;
    double busy;
    unsigned next;
    bool next_bypass;
} moves[] = {
    {"above high: one down", &step, 5, TOP, false, 0.76, 4, false},
    {"below low: one up", &step, 5, TOP, false, 0.49, 6, false},
    {"at high: nothing", &step, 5, TOP, false, HIGH, 5, false},
    {"at low: nothing", &step, 5, TOP, false, LOW, 5, false},
    {"in the dead band: nothing", &step, 5, TOP, false, MIDDLE, 5, false},
    {"at the floor: no further", &step, 0, TOP, false, 1.0, 0, false},

    {"a lower top clamps, in the dead band", &step, 12, 12, false, MIDDLE, TOP, false},
    {"a lower top clamps, then a step", &step, 12, 12, false, 1.0, TOP - 1, false},
    {"a higher top is there to be climbed", &step, 4, 4, false, 0.0, 5, false},

    {"bypass begins at the floor", &shedding, 0, TOP, false, 0.88, 0, true},
    {"not at its threshold", &shedding, 0, TOP, false, BYPASS, 0, false},
    {"not above the floor", &shedding, 1, TOP, false, 1.0, 0, false},
    {"it lasts above the middle", &shedding, 0, TOP, true, 0.7, 0, true},
    {"it ends below the middle", &shedding, 0, TOP, true, 0.62, 0, false},
    {"it ends far below, and the position stays", &shedding, 0, TOP, true, 0.0, 0, false},
    {"while it lasts the position stays", &shedding, 3, TOP, true, 1.0, 3, true},
    {"it ends where it is off now", &step, 3, TOP, true, MIDDLE, 3, false},
    {"a threshold below the middle: it begins", &eager, 0, TOP, false, 0.26, 0, true},
    {"a threshold below the middle: it lasts above it", &eager, 0, TOP, true, 0.26, 0, true},
    {"a threshold below the middle: it ends at it", &eager, 0, TOP, true, 0.25, 0, false},
    {"a single setup is the floor too", &pinned, 0, 0, false, 1.0, 0, true},

    {"off: the ceiling", &off, 3, TOP, false, 1.0, TOP, false},
};

CASE(control, ZEROED(memory));

EACH(control, a_sample_moves_the_state, moves)
{
    el_control_state_t state = {row->position, row->top, row->bypass, 0};

    state = next(row->config, state, row->busy);
    row_eq(state.position, row->next);
    row_eq(state.bypass, row->next_bypass);
    row_eq(state.top, row->config->top);
}

static const struct {
    const char *label;
    const el_control_config_t *config;
    el_control_state_t state;
    el_control_state_t fits;
} clamps[] = {
    {"what fits stays", &shedding, {3, TOP, true, 0}, {3, TOP, true, 0}},
    {"a lower top", &shedding, {12, 12, false, 0}, {TOP, TOP, false, 0}},
    {"a higher top", &shedding, {4, 4, false, 0}, {4, TOP, false, 0}},
    {"a bypass that is off now", &step, {0, TOP, true, 0}, {0, TOP, false, 0}},
    {"a bypass at 100 %", &to_the_full, {0, TOP, true, 0}, {0, TOP, true, 0}},
    {"a fraction", &mix, {3, TOP, false, 99}, {3, TOP, false, 99}},
    {"a fraction of whole positions", &step, {3, TOP, false, 99}, {3, TOP, false, 0}},
    {"a fraction with the controller off", &off, {3, TOP, false, 99}, {TOP, TOP, false, 0}},
    {"a fraction beyond the top", &mix, {TOP, TOP, false, 99}, {TOP, TOP, false, 0}},
    {"the controller off", &off, {3, TOP, true, 0}, {TOP, TOP, false, 0}},
};
EACH(control, a_state_is_made_to_fit, clamps)
{
    el_control_state_t got = el_control_clamp(row->config, row->state);

    row_eq(got.position, row->fits.position);
    row_eq(got.top, row->fits.top);
    row_eq(got.bypass, row->fits.bypass);
    row_eq(got.fraction, row->fits.fraction);
}

TEST(control, a_position_is_what_it_was_set_to)
{
    el_control_state_t state = {0, TOP, false, 0};

    for (unsigned parts = 0; parts <= TOP * EL_CONTROL_ONE; parts += 4099) {
        el_control_state_t at = el_control_at(state, (double)parts / EL_CONTROL_ONE);

        ck_assert_uint_eq(at.position * EL_CONTROL_ONE + at.fraction, parts);
        ck_assert_double_eq(el_control_position(at), (double)parts / EL_CONTROL_ONE);
    }
    ck_assert_double_eq(el_control_position(el_control_at(state, -1)), 0);
    ck_assert_double_eq(el_control_position(el_control_at(state, TOP + 1)), TOP);
    ck_assert_double_eq(el_control_position(el_control_at(state, 5 - 1e-9)), 5);
    ck_assert_uint_eq(el_control_at(state, 5 - 1e-9).fraction, 0);
}

/* Shares of the requests, in 1/65536. */
static const uint16_t fractions[] = {0, 1, 655, 13107, 21845, 32768, 43691, 60000, 65535};

/* Each prefix of the requests (every `stride`th) has its share of upper setups, within 4. */
static void assert_even(uint16_t fraction, uint32_t first, uint32_t stride)
{
    el_control_state_t state = {3, TOP, false, fraction};
    double share = (double)fraction / EL_CONTROL_ONE, upper = 0;

    for (uint32_t n = 0; n < 2000; n++) {
        upper += el_control_upper(state, first + n * stride);
        ck_assert(fraction > 0 || upper == 0);
        ck_assert_msg(upper > share * (n + 1) - 4 && upper < share * (n + 1) + 4,
                      "fraction %u, from %u by %u: %.0f of %u", fraction, first, stride, upper,
                      n + 1);
    }
}

EACH(control, the_fraction_is_the_share_of_requests, fractions)
{
    assert_even(*row, 0, 1);
    assert_even(*row, 123456789, 1);
    /* Across the counter's overflow. */
    assert_even(*row, UINT32_MAX - 1000, 1);
    /* Pages alternate with their data; both are mixed alike. */
    assert_even(*row, 7, 2);
    assert_even(*row, 7, 3);
}

/* An update due at 1000, every 500; next 0: not due. From 1500 on one was missed. */
static const struct {
    uint64_t now, next;
} schedules[] = {{999, 0}, {1000, 1500}, {1100, 1500}, {1499, 1500}, {1500, 2000}, {9000, 9500}};
EACH(control, the_next_update_is_scheduled, schedules)
{
    ck_assert((row->now >= 1000) == (row->next > 0));
    ck_assert(row->next == 0 || el_control_schedule(1000, row->now, 500) == row->next);
}

CASE(control_mix, ZEROED(memory));

static const el_control_config_t mixed = {EL_CONTROL_MIX, 0.5, 0.8, 2.0, TOP, {0}};
static const el_control_config_t mixed_shedding = {EL_CONTROL_MIX, 0.5, 0.8, 0.9, TOP, {0}};

/* The next state from `position`, without memory. */
static el_control_state_t mix_first(unsigned position, double busy)
{
    memory = (el_control_memory_t){0};
    return next(&mixed, (el_control_state_t){position, TOP, false, 0}, busy);
}

static double moved(double busy)
{
    return el_control_position(mix_first(4, busy)) - 4;
}

TEST(control_mix, the_move_grows_with_the_error)
{
    ck_assert(moved(0.65) == 0 && moved(0.601) == 0 && moved(0.699) == 0);
    ck_assert(moved(0.71) < 0 && moved(0.59) > 0);
    ck_assert(moved(1.0) < moved(0.9) && moved(0.9) < moved(0.75) && moved(0.0) > moved(0.3));
    ck_assert_double_gt(moved(0.75), -1);
    ck_assert_double_eq_tol(moved(0.9), -moved(0.4), 1e-4);
}

TEST(control_mix, a_full_machine_is_at_the_floor_in_seven_intervals)
{
    el_control_state_t state = mix_first(TOP, 1.0);
    unsigned intervals = 1;

    while (el_control_position(state) > 0) {
        state = next(&mixed, state, 1.0);
        ck_assert_uint_le(++intervals, 7);
    }
    ck_assert_uint_ge(intervals, 4);
}

/* The way back begins with the first interval, however long the bound was held. */
TEST(control_mix, nothing_winds_up_at_a_bound)
{
    el_control_state_t state = mix_first(0, 1.0);

    for (unsigned i = 0; i < 1000; i++) {
        state = next(&mixed, state, 1.0);
        ck_assert_double_eq(el_control_position(state), 0);
    }
    ck_assert_double_gt(el_control_position(next(&mixed, state, 0.3)), 0);
    state = mix_first(TOP, 0.0);
    for (unsigned i = 0; i < 1000; i++) {
        state = next(&mixed, state, 0.0);
        ck_assert_double_eq(el_control_position(state), TOP);
    }
    ck_assert_double_lt(el_control_position(next(&mixed, state, 0.9)), TOP);
}

/* A falling load that is still too high must not raise the effort. */
TEST(control_mix, the_brake_never_turns_a_move_around)
{
    el_control_state_t state = mix_first(4, 1.0);

    ck_assert_double_le(el_control_position(next(&mixed, state, 0.71)),
                        el_control_position(state));
    state = mix_first(4, 0.0);
    ck_assert_double_ge(el_control_position(next(&mixed, state, 0.59)),
                        el_control_position(state));
}

static double moved_again(double busy)
{
    return el_control_position(next(&mixed, (el_control_state_t){4, TOP, false, 0}, busy)) - 4;
}

TEST(control_mix, a_spike_is_answered_at_once_and_overshooting_makes_moves_small)
{
    double first = moved(0.9), again = moved_again(0.9), last = 0;

    ck_assert(again < 0 && again > 0.7 * first);
    for (int i = 0; i < 20; i++) {
        last = moved_again(i % 2 ? 0.9 : 0.4);
    }
    ck_assert(last < 0 && last > first / 8);
    /* They grow again while the load stays. */
    again = moved_again(0.9);
    ck_assert(moved_again(0.9) < 1.2 * again);
}

TEST(control_mix, bypass_begins_at_the_very_floor)
{
    static const struct {
        double busy;
        bool bypass;
    } samples[] = {{1.0, false}, {1.0, true}, {0.7, true}, {0.6, false}};
    el_control_state_t state = {0, TOP, false, 1};

    for (int i = 0; i < ROWS(samples); i++) {
        state = next(&mixed_shedding, state, samples[i].busy);
        ck_assert(state.bypass == samples[i].bypass);
        ck_assert_double_eq(el_control_position(state), 0);
    }
}

#define NOW UINT64_C(5000000000)

static const el_position_t some = {
    .control = {3, 8, false, 0x1234}, .updated_usec = NOW, .samples = 70000,
    .interval_msec = 500, .load_ppm = 650000, .pid = 4711,
};

CASE(position);

static uint8_t bytes[EL_POSITION_SIZE];
static el_position_t got;

static el_position_verdict_t decode(uint64_t now)
{
    memset(&got, 0, sizeof(got));
    return el_position_decode(bytes, sizeof(bytes), now, &got);
}

/* Programs in other languages rely on the layout. */
TEST(position, the_layout_is_fixed)
{
    static const uint8_t expected[EL_POSITION_SIZE] = {
        'e', 'l', 'a', 's', 't', 'i', 'c', 0,             /* magic */
        1, 0, 0, 0, 0xf4, 0x01, 0, 0,                     /* version, interval */
        0x00, 0xf2, 0x05, 0x2a, 0x01, 0, 0, 0,            /* updated */
        0x34, 0x12, 3, 0, 8, 0, 0, 0,                     /* fraction, position, top, bypass */
        0x10, 0xeb, 0x09, 0, 0, 0, 0, 0,                  /* load, flags */
        0x70, 0x11, 0x01, 0, 0, 0, 0, 0,                  /* samples */
        0x67, 0x12, 0, 0, 0, 0, 0, 0,                     /* pid */
        0, 0, 0, 0, 0xba, 0x1f, 0x64, 0xf7,               /* checksum */
    };

    el_position_encode(&some, bytes);
    ck_assert_mem_eq(bytes, expected, sizeof(expected));
    el_position_encode(&(el_position_t){.stopped = true, .locked = true}, bytes);
    ck_assert_uint_eq(bytes[36], 3);
}

TEST(position, what_was_written_is_read)
{
    el_position_t full = {.control = {65535, 65535, true, 0}, .updated_usec = NOW, .locked = true,
                          .samples = UINT64_MAX, .interval_msec = 60000,
                          .load_ppm = EL_POSITION_NO_LOAD, .pid = UINT32_MAX};

    el_position_encode(&some, bytes);
    ck_assert_int_eq(decode(NOW), EL_POSITION_GOOD);
    ck_assert(got.control.top == 8 && got.control.fraction == 0x1234 && !got.control.bypass);
    el_position_encode(&full, bytes);
    ck_assert_int_eq(decode(NOW), EL_POSITION_GOOD);
    ck_assert(got.control.position == 65535 && got.control.top == 65535 && got.control.bypass);
    ck_assert(got.updated_usec == NOW && got.samples == UINT64_MAX && got.pid == UINT32_MAX);
    ck_assert(got.interval_msec == 60000 && got.load_ppm == EL_POSITION_NO_LOAD);
    ck_assert(got.locked && !got.stopped);
}

TEST(position, every_flipped_bit_is_noticed)
{
    for (unsigned bit = 0; bit < 8 * EL_POSITION_SIZE; bit++) {
        el_position_verdict_t verdict;

        el_position_encode(&some, bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        verdict = decode(NOW);
        ck_assert_msg(verdict == (bit < 64   ? EL_POSITION_FOREIGN
                                  : bit < 96 ? EL_POSITION_VERSION_OTHER
                                             : EL_POSITION_DAMAGED),
                      "bit %u: %d", bit, (int)verdict);
        ck_assert_uint_eq(got.updated_usec, 0);
    }
    for (size_t len = 0; len < EL_POSITION_SIZE; len++) {
        ck_assert_int_eq(el_position_decode(bytes, len, NOW, &got), EL_POSITION_SHORT);
    }
}

static const struct {
    const char *label;
    uint64_t now;
    bool stopped;
    el_position_verdict_t verdict;
} ages[] = {
    {"new", NOW, false, EL_POSITION_GOOD},
    {"ten intervals old", NOW + 5000000, false, EL_POSITION_GOOD},
    {"older", NOW + 5000001, false, EL_POSITION_STALE},
    {"a little ahead", NOW - 500000, false, EL_POSITION_GOOD},
    {"of another boot", NOW - 500001, false, EL_POSITION_STALE},
    {"at the beginning of time", 0, false, EL_POSITION_STALE},
    {"stopped", NOW, true, EL_POSITION_STOPPED},
};
EACH(position, a_position_ages, ages)
{
    el_position_t position = some;

    position.stopped = row->stopped;
    el_position_encode(&position, bytes);
    row_eq(decode(row->now), row->verdict);
    row_assert(strlen(el_position_texts[row->verdict]) > 2);
    ck_assert_uint_eq(got.control.position, 3);
}

static const struct {
    const char *label;
    el_control_state_t control;
    uint64_t updated;
    uint32_t interval;
} nonsense[] = {
    {"a position beyond the top", {9, 8, false, 0}, NOW, 500},
    {"a fraction beyond the top", {8, 8, false, 1}, NOW, 500},
    {"no interval", {3, 8, false, 0}, NOW, 0},
    {"no time", {3, 8, false, 0}, 0, 500},
};
EACH(position, nonsense_with_a_checksum_is_damaged, nonsense)
{
    el_position_t position = some;

    position.control = row->control;
    position.updated_usec = row->updated;
    position.interval_msec = row->interval;
    el_position_encode(&position, bytes);
    row_eq(decode(NOW), EL_POSITION_DAMAGED);
}

static const struct {
    el_control_state_t from;
    unsigned top;
    double position;
} scales[] = {
    {{4, 8, false, 0}, 6, 3}, {{0, 8, true, 0}, 6, 0}, {{8, 8, false, 0}, 18, 18},
    {{2, 8, false, 32768}, 16, 5}, {{3, 8, false, 0}, 0, 0}, {{0, 0, false, 0}, 8, 8},
    {{1, 8, false, 0}, 4, 0.5},
};
EACH(position, a_position_is_scaled_to_another_ladder, scales)
{
    el_control_state_t scaled = el_position_scale(row->from, row->top);

    ck_assert_uint_eq(scaled.top, row->top);
    ck_assert_double_eq(el_control_position(scaled), row->position);
    ck_assert(scaled.bypass == row->from.bypass);
}
