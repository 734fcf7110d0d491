/* Encoded bodies that are encoded anew. */
#include "engines/engines.h"
#include "engines/pool.h"

#include "bodies.h"
#include "decode.h"
#include "suites.h"

#define LENGTH 50000
#define ROOM (2 * LENGTH)

static uint8_t body[LENGTH], encoded[ROOM], back[LENGTH + 1];

static void set_up(void)
{
    body_fill(BODY_TEXT, body, LENGTH);
}

/* The body in `coding` at a low level. */
static el_encoded_t encode(el_coding_t coding, size_t length)
{
    el_setup_t low = {.level = 1, .size_hint = length};
    el_plan_t plan = el_engine_plan(coding, &low, true);
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, length, encoded, ROOM};

    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(el_engine_encode(context, &span), EL_STEP_OK);
    el_pool_release(context);
    return (el_encoded_t){coding, encoded, ROOM - span.out_nbytes_avail, length};
}

static el_plan_t best(el_coding_t coding, size_t length)
{
    el_setup_t high = {.level = el_engine_top(coding), .size_hint = length};

    return el_engine_plan(coding, &high, true);
}

static const el_coding_t codings[] = {EL_GZIP, EL_BR, EL_ZSTD};

CASE(recode, .set_up = set_up);

TEST(recode, a_body_becomes_smaller_in_its_coding_and_in_others)
{
    for (int i = 0; i < ROWS(codings) * ROWS(codings); i++) {
        el_coding_t from = codings[i / ROWS(codings)], to = codings[i % ROWS(codings)];
        el_plan_t plan;
        el_encoded_t some;
        uint8_t *made;
        size_t nbytes;
        decoded_t decoded;

        if (!el_engine_for(from) || !el_engine_for(to)) {
            continue;
        }
        plan = best(to, LENGTH);
        some = encode(from, LENGTH);
        made = el_recode(&some, &plan, &nbytes);
        ck_assert_ptr_nonnull(made);
        ck_assert_uint_lt(nbytes, some.nbytes);
        decoded = decode(to, made, nbytes, back, sizeof(back));
        ck_assert(decoded.ended && !decoded.failed && decoded.nbytes == LENGTH);
        ck_assert_mem_eq(back, body, LENGTH);
        el_pool_buffer_release(made);
    }
}

static const struct {
    const char *label;
    int length, cut, more;
    uint8_t flip;
} rows[] = {
    {"the body is longer than it says", -1, 0, 0, 0},
    {"shorter", 1, 0, 0, 0},
    {"bytes are missing", 0, 1, 0, 0},
    {"all bytes are", 0, LENGTH, 0, 0},
    {"bytes follow", 0, 0, 1, 0},
    {"a byte is wrong", 0, 0, 0, 0x55},
};

EACH(recode, what_is_not_what_it_says_is_not_encoded, rows)
{
    el_plan_t plan = best(EL_GZIP, LENGTH);
    el_encoded_t some = encode(EL_GZIP, LENGTH);
    size_t nbytes;

    some.length += (size_t)row->length;
    some.nbytes -= (size_t)row->cut < some.nbytes ? (size_t)row->cut : some.nbytes;
    encoded[some.nbytes] = 1;
    some.nbytes += (size_t)row->more;
    encoded[some.nbytes / 2] ^= row->flip;
    row_assert(!el_recode(&some, &plan, &nbytes));
}

TEST(recode, a_body_of_one_byte)
{
    el_plan_t plan = best(EL_GZIP, 1);
    el_encoded_t some = encode(EL_GZIP, 1);
    size_t nbytes;
    uint8_t *made = el_recode(&some, &plan, &nbytes);

    ck_assert_ptr_nonnull(made);
    ck_assert_uint_eq(decode(EL_GZIP, made, nbytes, back, sizeof(back)).nbytes, 1);
    el_pool_buffer_release(made);
}
