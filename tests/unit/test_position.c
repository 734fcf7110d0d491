#include "elastic/control.h"
#include "suites.h"

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
